// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/argoproj/argo-cd/v3/common"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/cmd/command"
	"github.com/stepgate/stepgate/cmd/live"
	"github.com/stepgate/stepgate/cmd/render"
	"github.com/stepgate/stepgate/cmd/screen"
	"github.com/stepgate/stepgate/cmd/simulate"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/cluster"
	"github.com/stepgate/stepgate/webhook/settings"
)

// simulate plays a rollout offline.
type simulator struct {
	*cli
	files       []string
	failures    []string
	mode        string
	commits     string
	withoutGate bool
	options     simulate.Options
}

func newSimulate(streams genericiooptions.IOStreams) *cobra.Command {
	s := &simulator{cli: newCLI(streams)}
	cmd := s.command("simulate [APPSET]", "Play a rollout offline: who starts when, and who waits for whom", atMost(1),
		s.run)
	cmd.Long = `Plays a rollout offline, step by step: who starts when, who waits for whom and why, and what people
would read.

It plays a model of Argo CD, with Argo CD's own code for progressive syncs and stepgate's own code.
It writes nothing. The ApplicationSet and its Applications come from files, or, without -f, from the
cluster. The Applications of list, matrix and merge generators are rendered; those of generators that
need a cluster or a network have to be in the files.

With stepgate.io/waves, it plays the sync waves of an ApplicationSet, or of the children of a parent
Application: those that Argo CD tracks, or, where files have one parent only, all that say nothing else.

The conditions of the ApplicationSet are played: pause, soak, approve (somebody approves within 20 s),
max-failures, track and, with waves, max-update.

With --commits it plays many commits instead of one, and shows how often each step is deployed.

Exit code 0: the rollout completes in order. 1: something waits in the end, an Application starts too
early, or, with --commits, a step is never deployed. 2: an error, or the ApplicationSet has an annotation
that is not played, such as stepgate.io/verify.`
	cmd.Example = `  stepgate simulate -f appset.yaml
  argocd appset generate appset.yaml -o yaml | stepgate simulate -f appset.yaml -f -
  stepgate simulate guestbook -n argocd --fail guestbook-qa
  stepgate simulate platform -f apps/
  stepgate simulate -f appset.yaml --without-gate --seed 7
  stepgate simulate -f appset.yaml --commits "every 10m for 6h" --pin candidate --start`
	f := cmd.Flags()
	f.StringArrayVarP(&s.files, "filename", "f", nil,
		"file with the ApplicationSet, or with Applications, or a directory of them; - is standard input; may be repeated")
	f.StringArrayVar(&s.failures, "fail", nil,
		"APP becomes Degraded after its sync, or APP=sync: its sync fails; may be repeated")
	f.StringArrayVar(&s.options.ByHand, "by-hand", nil,
		"APP that somebody syncs as soon as the earlier steps are done, such as one of a step with maxUpdate 0; may be "+
			"repeated")
	f.StringVar(&s.mode, "mode", "enforce", "mode of stepgate: enforce or audit")
	f.BoolVar(&s.withoutGate, "without-gate", false, "play Argo CD alone, to see who would start too early")
	f.StringVar(&s.options.Version, "argocd", "3.5", "version of Argo CD: 3.2, 3.4, 3.5 or 3.6")
	f.Uint32Var(&s.options.Seed, "seed", 1,
		"draws when Argo CD polls each Application and how long everything takes; 0 is without delays that vary")
	f.DurationVar(&s.options.Healthy, "healthy-after", 20*time.Second,
		"how long an Application takes to become Healthy after a sync")
	f.DurationVar(&s.options.Poll, "poll", 3*time.Minute, "timeout.reconciliation of Argo CD")
	f.BoolVar(&s.options.GitWebhook, "git-webhook", false, "a git webhook tells Argo CD of the commit at once")
	f.StringVar(&s.commits, "commits", "",
		"let commits land one after the other, such as \"every 10m for 6h\", with the conditions of the ApplicationSet, and "+
			"show how each step keeps up; in mode enforce")
	f.StringVar(&s.options.Pin, "pin", settings.PinCompared.String(),
		"pin.mode of stepgate, for --commits: compared or candidate; the annotation "+settings.PinAnnotation+
			" overrides it")
	f.BoolVar(&s.options.Start, "start", false, "for --commits: stepgate starts what is due")
	s.bindOutput(cmd, "json", "yaml")
	s.bindCluster(cmd)
	cmd.ValidArgsFunction = s.completeSets
	return cmd
}

func (s *simulator) run(ctx context.Context, args []string) error {
	render.Silence()
	if err := s.flags(); err != nil {
		return command.Usage("%s", err.Error())
	}
	rollout, err := s.rollout(ctx, args)
	if err != nil {
		return err
	}
	progress := screen.NewProgress(s.ErrOut, s.getenv, "playing", s.all(rollout))
	s.options.Progress = progress.At
	report, err := simulate.Play(ctx, rollout, s.options)
	progress.End()
	if err != nil {
		return err
	}
	if s.output != "" {
		err = s.printObject(report)
	} else {
		err = s.print(report.Text(s.screen())...)
	}
	if unknown := report.Unknown(); err == nil && unknown != "" {
		return errors.New(unknown)
	}
	if err == nil && !report.Fine() {
		err = command.ErrFound
	}
	return err
}

// all is how many Applications are going to be done; 0 if that is not known, as where many commits land.
func (s *simulator) all(rollout *simulate.Rollout) int {
	if s.options.Commits != nil {
		return 0
	}
	return len(rollout.Applications)
}

// flags reads the flags that have a form of their own.
func (s *simulator) flags() (err error) {
	if s.options.Mode, err = settings.ParseMode(s.mode); err != nil || s.options.Mode == settings.Off {
		return fmt.Errorf("--mode: %q is not one of enforce, audit", s.mode)
	}
	if s.withoutGate {
		s.options.Mode = settings.Off
	}
	if s.options.Failures, err = simulate.ParseFailures(s.failures); err != nil {
		return fmt.Errorf("--fail: %w", err)
	}
	if s.options.Commits, err = simulate.ParseCommits(s.commits); err != nil {
		return fmt.Errorf("--commits: %w", err)
	}
	if _, err = settings.ParsePin(s.options.Pin); err != nil {
		return fmt.Errorf("--pin: %w", err)
	}
	return s.options.Validate()
}

// rollout reads what is played, from files or from the cluster.
func (s *simulator) rollout(ctx context.Context, args []string) (*simulate.Rollout, error) {
	name := ""
	if len(args) > 0 {
		name = args[0]
	}
	var objects simulate.Objects
	switch {
	case len(s.files) > 0:
		for _, file := range s.files {
			objects.File(file, s.In)
		}
		if err := objects.Take(); err != nil {
			return nil, err
		}
	case name == "":
		return nil, command.Usage("simulate needs a file, -f FILE, or the name of an ApplicationSet in the cluster, or of " +
			"a parent with waves")
	default:
		if err := s.fetch(ctx, &objects, name); err != nil {
			return nil, err
		}
	}
	return objects.Rollout(name)
}

// fetch reads an ApplicationSet and its Applications from the cluster, or, where there is none, a parent and its children.
func (s *simulator) fetch(ctx context.Context, objects *simulate.Objects, name string) error {
	c, err := s.cluster()
	if err != nil {
		return err
	}
	namespace, err := s.namespace()
	if err != nil {
		return err
	}
	set := &argo.ApplicationSet{}
	key := types.NamespacedName{Namespace: namespace, Name: name}
	if err := c.Objects.Get(ctx, key, set); cluster.IsMissing(err) {
		return fetchChildren(ctx, c.Objects, objects, key)
	} else if err != nil {
		return fmt.Errorf("get ApplicationSet %s in namespace %s: %w", name, namespace, err)
	}
	objects.Sets = append(objects.Sets, set)
	err = live.Applications(ctx, c.Objects, namespace, func(app *argo.Application) {
		if metav1.IsControlledBy(app, set) {
			objects.Applications = append(objects.Applications, app.DeepCopy())
		}
	})
	return err
}

// fetchChildren reads a parent and its children from the cluster. A child that is an ApplicationSet comes with its
// Applications.
func fetchChildren(ctx context.Context, c client.Reader, objects *simulate.Objects, name types.NamespacedName) error {
	parent := &argo.Application{}
	if err := c.Get(ctx, name, parent); cluster.IsMissing(err) {
		return noSet(name)
	} else if err != nil {
		return fmt.Errorf("get Application %s in namespace %s: %w", name.Name, name.Namespace, err)
	}
	objects.Applications = append(objects.Applications, parent)
	if argocd.NewProjection(parent).Waves == nil {
		return nil // Rollout says what is missing
	}
	owners := map[types.UID]bool{argocd.UIDOfParent(name.Namespace, name.Name): true}
	err := live.ApplicationSets(ctx, c, name.Namespace, func(set *argo.ApplicationSet) {
		if child := argocd.NewApplicationSet(set).Child; child != nil && owners[child.Owner] {
			objects.Sets, owners[set.UID] = append(objects.Sets, set.DeepCopy()), true
		}
	})
	if err != nil {
		return err
	}
	err = live.Applications(ctx, c, name.Namespace, func(app *argo.Application) {
		if owner, _ := (argocd.Tracking{}).OwnerOf(app); owners[owner] {
			objects.Applications = append(objects.Applications, app.DeepCopy())
		}
	})
	if err == nil && len(objects.Applications) == 1 && len(objects.Sets) == 0 {
		err = fmt.Errorf("no Application in namespace %s is tracked by Argo CD as a child of %s, by the annotation %s or "+
			"the label %s: sync it first, or play its files: stepgate simulate -f DIRECTORY", name.Namespace, name.Name,
			common.AnnotationKeyAppInstance, common.LabelKeyAppInstance)
	}
	return err
}
