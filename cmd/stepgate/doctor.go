// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/cmd/command"
	"github.com/stepgate/stepgate/cmd/doctor"
	"github.com/stepgate/stepgate/cmd/kube"
	"github.com/stepgate/stepgate/cmd/selftest"
)

// doctorCommand asks whether the gate really works.
type doctorCommand struct {
	*cli
	selfTest         string
	emergency, apply bool
	way              string
	yes              bool
	// patience is how long an emergency waits for an API server that may be down.
	patience time.Duration
	// terminal reports whether somebody can be asked.
	terminal func(io.Reader) bool
}

func newDoctor(streams genericiooptions.IOStreams) *cobra.Command {
	d := &doctorCommand{cli: newCLI(streams), patience: 10 * time.Second, terminal: isTerminal}
	cmd := d.command("doctor", "Check that the gate works here, and say what to do if not", command.NoArgs,
		d.run)
	cmd.Long = `Is the gate really working here?

doctor looks at both webhook configurations, the certificate that is served, the replicas, Argo CD's
accounts and settings, and at everything that is switched off now. It sends two syncs as server
dry-runs: one that must be refused, and one that must be pinned. It changes nothing. A right that
you lack costs the checks that need it, and no others.

--selftest creates an ApplicationSet without generators in a namespace, sees that a sync of it is
refused, and deletes it.

--emergency prints the ways to let syncs through, whatever it can read, after 10 seconds at most.
--emergency --apply takes one, after asking. With -n NAMESPACE it labels this namespace, whatever
it can read.

Exit code: 0 nothing is wrong (read what could not be checked), 1 a warning or a problem was found,
2 it could not look: no cluster, no answer, or no right to read the webhook configurations.`
	cmd.Example = `  stepgate doctor
  stepgate doctor --selftest argocd
  stepgate doctor --emergency
  stepgate doctor --emergency --apply -n argocd`
	f := cmd.Flags()
	f.SortFlags = false
	d.bindOutput(cmd, "json", "yaml")
	f.StringVar(&d.selfTest, "selftest", "",
		"namespace in which to create and delete an ApplicationSet, to see a sync of it refused; stepgate must gate it")
	f.BoolVar(&d.emergency, "emergency", false, "print the commands that take the gate out of the way")
	f.BoolVar(&d.apply, "apply", false, "with --emergency: run those of --way, after asking")
	f.StringVar(&d.way, "way", doctor.WayNamespace,
		"with --apply: namespace (label the gated namespaces, or the one of --namespace) or webhooks (delete both webhook "+
			"configurations)")
	f.BoolVarP(&d.yes, "yes", "y", false, "do not ask")
	d.bindCluster(cmd)
	return cmd
}

func (d *doctorCommand) run(ctx context.Context, _ []string) error {
	if err := d.check(); err != nil {
		return err
	}
	c, err := d.cluster()
	if d.emergency {
		return d.open(ctx, c, err)
	}
	if err != nil {
		return err
	}
	sources := sourcesOf(c)
	var tested *doctor.SelfTest
	if d.selfTest != "" {
		if err := d.agree(fmt.Sprintf("This creates ApplicationSet stepgate-selftest in namespace %s and deletes it again.",
			d.selfTest)); err != nil {
			return err
		}
	}
	if err := d.answers(ctx, c.Clientset); err != nil {
		return fmt.Errorf("nothing was checked: %w", err)
	}
	facts := sources.Gather(ctx)
	if d.selfTest != "" {
		tested = d.test(ctx, c)
	}
	facts.SelfTest = tested
	return d.answer(facts)
}

// check looks at flags that go together.
func (d *doctorCommand) check() error {
	switch {
	case d.apply && !d.emergency:
		return command.Usage("--apply goes with --emergency only")
	case d.emergency && d.selfTest != "":
		return command.Usage("--selftest and --emergency exclude each other")
	case d.way != doctor.WayNamespace && d.way != doctor.WayWebhooks:
		return command.Usage("--way: %q is not one of %s, %s", d.way, doctor.WayNamespace, doctor.WayWebhooks)
	}
	return nil
}

// answer prints a report.
func (d *doctorCommand) answer(facts *doctor.Facts) error {
	report := facts.Examine()
	show := func() error { return d.print(report.Lines(d.screen())...) }
	if d.output != "" {
		show = func() error { return d.printObject(report) }
	}
	if err := show(); err != nil {
		return err
	}
	if err := facts.Blind(); err != nil {
		// Its own checks say which right to ask for.
		return errors.New("the webhook configurations could not be read, and so this is no answer: " + err.Error())
	}
	if report.Found() {
		return command.ErrFound
	}
	return nil
}

// test runs the selftest, as `stepgate selftest` does.
func (d *doctorCommand) test(ctx context.Context, c *kube.Cluster) *doctor.SelfTest {
	var out strings.Builder
	t := &selftest.SelfTest{
		Namespace: d.selfTest, Name: selftest.DefaultName, Timeout: doctorSelfTest,
		Out: &out,
	}
	err := t.Run(ctx, rest.CopyConfig(c.Config))
	return &doctor.SelfTest{
		Namespace: d.selfTest, Passed: strings.TrimPrefix(strings.TrimSpace(out.String()), "passed: "), Err: err,
	}
}

// doctorSelfTest is shorter than the time of `helm test`, which may have to wait for an installation.
const doctorSelfTest = 10 * time.Second

// answers says why the API server gives no answer at all.
func (d *doctorCommand) answers(ctx context.Context, clientset kubernetes.Interface) error {
	ctx, cancel := context.WithTimeout(ctx, d.patience)
	defer cancel()
	text, err := clientset.Discovery().RESTClient().Get().AbsPath("/version").Do(ctx).Raw()
	var refusal apierrors.APIStatus
	if errors.As(err, &refusal) {
		return nil // it is there; the checks say what it refuses
	}
	if err != nil {
		return err
	}
	var said version.Info
	if err := json.Unmarshal(text, &said); err != nil || said.GitVersion == "" {
		return errors.New("what answers is not an API server of Kubernetes: it says no version; look at the server of the " +
			"kubeconfig's context")
	}
	return nil
}

// open prints the ways, or applies one. Neither needs a cluster that answers: what cannot be read within d.patience has
// its usual name. c is nil if unusable says why there is no cluster to ask.
func (d *doctorCommand) open(ctx context.Context, c *kube.Cluster, unusable error) error {
	facts := doctor.NotRead(time.Now(), unusable)
	if unusable == nil {
		limited, cancel := context.WithTimeout(ctx, d.patience)
		defer cancel()
		facts = sourcesOf(c).GatherInstalled(limited)
	}
	var namespaces []string
	if n := *d.kube.Namespace; n != "" {
		namespaces = []string{n}
	}
	ways := facts.Ways(namespaces)
	if d.apply {
		if unusable != nil {
			return unusable
		}
		i := slices.IndexFunc(ways, func(w doctor.Way) bool { return w.Name == d.way })
		return d.applyWay(ctx, c, ways[i])
	}
	show := func() error { return d.print(facts.EmergencyLines(d.screen(), ways)...) }
	if d.output != "" {
		show = func() error { return d.printObject(facts.Emergency(ways)) }
	}
	if err := show(); err != nil {
		return err
	}
	if err := facts.Blind(); err != nil {
		return fmt.Errorf("these are the ways, but it is not known whether stepgate is in the way here: %w", err)
	}
	return nil
}

func (d *doctorCommand) applyWay(ctx context.Context, c *kube.Cluster, way doctor.Way) error {
	if err := way.Applicable(); err != nil {
		return fmt.Errorf("--way %s: %w", way.Name, err)
	}
	if err := d.agree("This does the same as:\n    " + strings.Join(way.Commands, "\n    ") + "\n" +
		way.Effect); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, d.patience)
	defer cancel()
	err := way.Apply(limited, c.Clientset, func(text string) { _ = d.print(text) })
	if err != nil {
		return fmt.Errorf("not all of it was done: %w", err)
	}
	return d.print(append([]string{"", "To take it back:"}, way.BackLines(d.screen())...)...)
}

// agree asks before something is changed. Without a terminal, only --yes agrees.
func (d *doctorCommand) agree(what string) error {
	if d.yes {
		return nil
	}
	if !d.terminal(d.In) {
		return command.Usage("this changes the cluster, and there is no terminal to ask at; --yes does it without asking")
	}
	_, _ = fmt.Fprintf(d.ErrOut, "%s\nGo on? [y/N] ", what)
	text, _ := bufio.NewReader(d.In).ReadString('\n')
	if answer := strings.ToLower(strings.TrimSpace(text)); answer != "y" && answer != "yes" {
		return errors.New("nothing was changed")
	}
	return nil
}

func isTerminal(in io.Reader) bool {
	file, ok := in.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// sourcesOf are what the doctor asks.
func sourcesOf(c *kube.Cluster) *doctor.Sources {
	return &doctor.Sources{
		Kube: c.Clientset, Objects: c.Objects, Version: command.ThisBuild().Version, Now: time.Now, Parse: settingsOf,
		OfURL: doctor.OfURL, OfPod: doctor.OfPod(c.Config, c.Clientset),
		Warned: func(handler rest.WarningHandler) (client.Client, error) {
			return kube.Warned(c.Config, handler)
		},
	}
}

// settingsOf understands the arguments of a Deployment as `stepgate-webhook serve` does.
func settingsOf(d *appsv1.Deployment) (*doctor.Flags, error) {
	o, found := flagsOf(d)
	if !found {
		return nil, fmt.Errorf("the arguments of Deployment %s/%s are not those of stepgate-webhook serve", d.Namespace,
			d.Name)
	}
	config, err := o.Config()
	if err != nil {
		return nil, err
	}
	s := &doctor.Flags{
		Gate: config, Namespaces: o.Gate.Namespaces, Gated: o.Gate.Namespaces.Gated,
		NamesOnly: o.Gate.Namespaces.Watched()[0] != metav1.NamespaceAll, Projects: o.Gate.Projects(),
		Starts: o.Starts, OwnCA: o.Certificates.Dir == "", ClientCA: o.Client.CAFile != "",
		Installation: o.Installation.Name(), Lease: o.Installation.Start(), CASecret: o.Installation.CA(),
	}
	if o.Ledger {
		s.Ledger, s.LedgerLease = true, o.Installation.Ledger()
	}
	if o.Barrier {
		s.Barrier = o.Installation.Barrier()
	}
	return s, nil
}
