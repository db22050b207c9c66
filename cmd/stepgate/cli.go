// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/stepgate/stepgate/cmd/command"
	"github.com/stepgate/stepgate/cmd/kube"
	"github.com/stepgate/stepgate/cmd/live"
	"github.com/stepgate/stepgate/cmd/screen"
)

// cli is what the commands have in common that answer questions: whom they ask, and where they print.
type cli struct {
	genericiooptions.IOStreams
	kube   *genericclioptions.ConfigFlags
	getenv func(string) string
	// output is the value of --output, one of outputs; the empty one is text.
	output  string
	outputs []string
	// allowEmpty is --allow-empty.
	allowEmpty bool
}

func newCLI(streams genericiooptions.IOStreams) *cli {
	kube := genericclioptions.NewConfigFlags(true)
	kube.CacheDir = nil // the commands need no discovery
	return &cli{IOStreams: streams, kube: kube, getenv: os.Getenv}
}

// shownFlags are the flags of the kubeconfig that the help shows. The help hides the other flags of kubectl, which
// work, too.
var shownFlags = []string{"as", "context", "kubeconfig", "namespace", "request-timeout"}

// bindCluster adds the flags of a command that asks a cluster.
func (c *cli) bindCluster(cmd *cobra.Command) {
	kube := pflag.NewFlagSet("", pflag.ContinueOnError)
	c.kube.AddFlags(kube)
	kube.VisitAll(func(f *pflag.Flag) { f.Hidden = !slices.Contains(shownFlags, f.Name) })
	cmd.Flags().AddFlagSet(kube)
}

// bindOutput adds --output with these formats, beside text.
func (c *cli) bindOutput(cmd *cobra.Command, outputs ...string) {
	c.outputs = outputs
	cmd.Flags().StringVarP(&c.output, "output", "o", "",
		"one of "+strings.Join(outputs, ", ")+"; without it, text for people")
}

// validate looks at the flags that all commands have.
func (c *cli) validate() error {
	if c.output != "" && !slices.Contains(c.outputs, c.output) {
		return command.Usage("--output: %q is not one of %s", c.output, strings.Join(c.outputs, ", "))
	}
	return nil
}

var errNoCluster = errors.New("no cluster is configured: name a kubeconfig with --kubeconfig or KUBECONFIG")

// cluster makes the clients. It calls the API server only when they are used.
func (c *cli) cluster() (*kube.Cluster, error) {
	if *c.kube.APIServer == "" {
		if err := kube.MissingConfig(*c.kube.KubeConfig, c.getenv("KUBECONFIG")); err != nil {
			return nil, err
		}
	}
	if !c.configured() {
		return nil, errNoCluster
	}
	config, err := c.kube.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("%w, and a context of it with --context", kube.ConfigError(err))
	}
	config.QPS = -1
	config.UserAgent = "stepgate-cli"
	config.WarningHandler = rest.NoWarnings{}
	kube.RefusePages(config)
	return kube.New(config)
}

// configured reports whether a kubeconfig, a flag or the service account of a Pod names a cluster. Without this,
// client-go tries localhost:8080.
func (c *cli) configured() bool {
	raw, err := c.kube.ToRawKubeConfigLoader().RawConfig()
	if err != nil || len(raw.Clusters) > 0 || *c.kube.APIServer != "" {
		return true // an error is reported with the configuration
	}
	_, err = rest.InClusterConfig()
	return err == nil
}

// namespace returns the namespace of the command line, or else of the kubeconfig's context.
func (c *cli) namespace() (string, error) {
	namespace, _, err := c.kube.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return "", fmt.Errorf("kubeconfig: %w", err)
	}
	return namespace, nil
}

// screen is where the command prints.
func (c *cli) screen() screen.Screen { return screen.Of(c.Out, c.getenv) }

// print writes lines to standard output.
func (c *cli) print(lines ...string) error {
	if len(lines) == 0 {
		return nil
	}
	_, err := fmt.Fprintln(c.Out, strings.Join(lines, "\n"))
	return err
}

// printObject writes an object as JSON or YAML, as --output says.
func (c *cli) printObject(object runtime.Object) error {
	printer, err := genericclioptions.NewJSONYamlPrintFlags().ToPrinter(c.output)
	if err != nil {
		return err
	}
	return printer.PrintObj(object, c.Out)
}

// command is a command that answers questions. Its error says what could not be answered; command.ErrFound is an
// answer.
func (c *cli) command(
	use, short string, args cobra.PositionalArgs, run func(ctx context.Context, args []string) error,
) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: args}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := c.validate(); err != nil {
			return err
		}
		klog.SetLogger(logr.Discard()) // the command reports errors itself
		return c.explained(cmd, run(cmd.Context(), args))
	}
	return cmd
}

// explained says what to do about an error of the API server.
func (c *cli) explained(cmd *cobra.Command, err error) error {
	var missing *live.NotFoundError
	var empty *nothingError
	var unanswered *url.Error
	var page *kube.PageError
	switch {
	case err == nil || errors.Is(err, command.ErrFound), errors.As(err, &page):
		return err
	case errors.As(err, &empty):
		return c.nothing(cmd, empty)
	case errors.Is(err, errNoCluster):
		return fmt.Errorf("%w%s", err, fileMeant(cmd))
	case errors.As(err, &missing):
		return fmt.Errorf("%w%s", err, cmp.Or(fileMeant(cmd), c.otherKind(cmd.Context(), missing),
			c.elsewhere(cmd, missing.Kind, missing.Namespace, missing.Names)))
	case errors.As(err, &unanswered):
		return fmt.Errorf("%w; the API server does not answer: is it the right one (context %s), and can you reach it?", err,
			cmp.Or(c.context(), "of this Pod"))
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "admission webhook"):
		return err // it says itself what to do
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "cannot patch"):
		return fmt.Errorf("%w; ask for the right to patch applicationsets of argoproj.io", err)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%w; ask for the right to get and list applications and applicationsets of argoproj.io", err)
	case apierrors.IsNotFound(err) && strings.Contains(err.Error(), "could not find the requested resource"):
		return fmt.Errorf(
			"%w; Argo CD's resources are not installed in this cluster, so look at the context of your kubeconfig", err,
		)
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("%w; log in to the cluster again", err)
	}
	return err
}

// atMost refuses more arguments than that.
func atMost(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > n {
			return command.Usage("unexpected argument %q; see %s --help", args[n], cmd.CommandPath())
		}
		return nil
	}
}

// exactly wants one argument, which is called name.
func exactly(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return command.Usage("%s is missing; see %s --help", name, cmd.CommandPath())
		}
		return atMost(1)(cmd, args)
	}
}
