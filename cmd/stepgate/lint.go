// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"github.com/stepgate/stepgate/cmd/command"
	"github.com/stepgate/stepgate/cmd/lint"
	"github.com/stepgate/stepgate/cmd/live"
	"github.com/stepgate/stepgate/cmd/render"
	"github.com/stepgate/stepgate/cmd/screen"
	"github.com/stepgate/stepgate/webhook/cluster"
	"github.com/stepgate/stepgate/webhook/settings"
)

// linter is stepgate lint.
type linter struct {
	*cli
	files            []string
	allNamespaces    bool
	severity         string
	progressiveSyncs bool
	exclude          []string
	// installed is the stepgate of the cluster; nil if it is not known.
	installed *settings.Config
}

func newLint(streams genericiooptions.IOStreams) *cobra.Command {
	l := &linter{cli: newCLI(streams)}
	cmd := l.command("lint [APPSET...]", "Find mistakes in the steps of ApplicationSets", cobra.ArbitraryArgs, l.run)
	cmd.Long = `Find mistakes in the steps of ApplicationSets: in files, or, without -f, in a cluster, together with
the Applications that exist.

Generators such as git and clusters cannot be evaluated offline. lint then says what it did not
check. It does check that if it gets the Applications:

  argocd appset generate appset.yaml -o yaml | stepgate lint -f appset.yaml -f -

The exit code is 0 if nothing was found, 1 if something was, and 2 if something could not be read or
there was nothing to look at.`
	cmd.Example = "  stepgate lint -f appsets/\n  stepgate lint -f appset.yaml -o sarif > lint.sarif\n  stepgate lint " +
		"-n argocd guestbook"
	l.bindCluster(cmd)
	cmd.ValidArgsFunction = l.completeManySets
	l.bindOutput(cmd, "json", "yaml", "sarif", "github")
	f := cmd.Flags()
	f.StringArrayVarP(&l.files, "filename", "f", nil,
		"file, directory, or - for standard input, with ApplicationSets and, if wanted, their Applications; can be repeated")
	f.StringArrayVar(&l.exclude, "exclude", nil,
		"glob pattern of files or folders to leave out of a directory, such as 'charts' or '*-values.yaml'; can be repeated")
	l.bindEmpty(cmd, "no ApplicationSet to look at")
	f.BoolVarP(&l.allNamespaces, "all-namespaces", "A", false, "check the ApplicationSets of all namespaces")
	f.StringVar(&l.severity, "severity", lint.Warning.String(),
		"the least severity that makes the exit code 1: error, warning or note")
	f.BoolVar(&l.progressiveSyncs, "progressive-syncs", true,
		"whether the ApplicationSet controller runs with progressive syncs; for files, which do not show it")
	return cmd
}

func (l *linter) run(ctx context.Context, names []string) error {
	least, err := lint.ParseSeverity(l.severity)
	if err != nil {
		return command.Usage("--severity: %s", err)
	}
	render.Silence()
	progress := screen.NewProgress(l.ErrOut, l.getenv, "looking", 0)
	defer progress.End()
	in := lint.Input{Reader: render.Reader{Exclude: l.exclude}}
	switch {
	case len(l.files) > 0 && (len(names) > 0 || l.allNamespaces):
		return command.Usage("-f goes neither with names of ApplicationSets nor with -A")
	case l.allNamespaces && len(names) > 0:
		return command.Usage("-A does not go with names of ApplicationSets")
	case len(l.files) > 0:
		for _, name := range l.files {
			in.File(name, l.In)
		}
	default:
		if err := l.readLive(ctx, &in, names); err != nil {
			return err
		}
	}
	in.Link()
	report := in.Check(lint.Options{
		Clock: clock.RealClock{}, ProgressiveSyncs: l.progressiveSyncs, Installation: l.installed,
	})
	progress.End()
	if err := l.printReport(report); err != nil {
		return err
	}
	switch {
	case len(report.Failures) > 0:
		return l.notRead(report.Failures)
	case report.Summary.ApplicationSets+report.Summary.Applications == 0 && !l.allowEmpty:
		return l.nothing(&in)
	case report.Found(least):
		return command.ErrFound
	}
	return nil
}

// nothing says that no ApplicationSet was looked at, which is not fine.
func (l *linter) nothing(in *lint.Input) error {
	switch {
	case len(l.files) > 0:
		return errors.New("nothing was looked at: " + in.Nothing() + " (--" + emptyFlag + " takes that for an answer)")
	case l.allNamespaces:
		return &nothingError{what: "ApplicationSet"}
	}
	namespace, err := l.namespace()
	if err != nil {
		return err
	}
	return &nothingError{what: "ApplicationSet", namespace: namespace}
}

// notRead says that something could not be read. The text for people has the reasons already.
func (l *linter) notRead(failures []lint.Failure) error {
	switch n := len(failures); {
	case l.output != "" && n > 1:
		return fmt.Errorf("%w; and %d more documents could not be read", failures[0], n-1)
	case l.output != "":
		return failures[0]
	case n > 1:
		return fmt.Errorf("%d documents were not read: the report says why", n)
	}
	return errors.New("1 document was not read: the report says why")
}

// readLive reads ApplicationSets and their Applications.
func (l *linter) readLive(ctx context.Context, in *lint.Input, names []string) error {
	namespace := ""
	if !l.allNamespaces {
		var err error
		if namespace, err = l.namespace(); err != nil {
			return err
		}
	}
	c, err := l.cluster()
	if err != nil {
		return err
	}
	if gate := installation(ctx, c.Clientset, namespace); gate.exists {
		gate.config.Presence = nil // what lint finds is about the settings, also while nobody answers
		l.installed = &gate.config
	}
	in.Partial = len(names) > 0
	for _, name := range names {
		set := &argo.ApplicationSet{}
		key := types.NamespacedName{Namespace: namespace, Name: name}
		if err := c.Objects.Get(ctx, key, set); cluster.IsMissing(err) {
			return noSet(key)
		} else if err != nil {
			return fmt.Errorf("ApplicationSet %s: %w", key, err)
		}
		in.AddLive(set)
	}
	if len(names) == 0 {
		if err := live.ApplicationSets(ctx, c.Objects, namespace, in.AddLive); err != nil {
			return err
		}
	}
	if err := live.Applications(ctx, c.Objects, namespace, in.AddLiveApplication); apierrors.IsForbidden(err) {
		in.WithoutApplications("you have no right to list applications.argoproj.io")
	} else if err != nil {
		return err
	}
	return nil
}

func (l *linter) printReport(report *lint.Report) error {
	switch l.output {
	case "":
		return l.print(report.Lines(l.screen())...)
	case "github":
		return l.print(report.GitHub()...)
	case "sarif":
		text, err := report.SARIF(command.ThisBuild().Version)
		return errors.Join(err, l.print(strings.TrimSpace(string(text))))
	}
	return l.printObject(report)
}
