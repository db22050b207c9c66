package main

import (
	"context"
	"slices"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/stepgate/stepgate/cmd/kube"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/settings"
)

// resume ends a pause.
type resume struct {
	verb
	steps []int
}

func newResume(streams genericiooptions.IOStreams) *cobra.Command {
	r := &resume{verb: verb{cli: newCLI(streams)}}
	cmd := r.command("resume APPSET", "End the pause of a rollout, or of some of its steps",
		exactly("the name of an ApplicationSet"), r.run)
	cmd.Long = `End the pause of an ApplicationSet, or with --step the pause of one step. The syncs that
wait then start by themselves, in their order.

It changes an annotation of the ApplicationSet, as this does:

  kubectl -n argocd annotate applicationset guestbook stepgate.io/pause-`
	cmd.Example = `  stepgate resume guestbook -n argocd
  stepgate resume guestbook -n argocd --step 3`
	cmd.Flags().IntSliceVar(&r.steps, "step", nil, "the number of a step; can be repeated")
	r.bind(cmd)
	return cmd
}

func (r *resume) run(ctx context.Context, args []string) error {
	name, err := r.name(args[0])
	if err != nil {
		return err
	}
	clients, err := r.cluster()
	if err != nil {
		return err
	}
	return r.resume(ctx, clients, name)
}

func (r *resume) resume(ctx context.Context, clients *kube.Cluster, name types.NamespacedName) error {
	set, made, err := annotate(ctx, clients.Objects, name, r.dryRun, r.decide)
	if err != nil {
		return err
	}
	known := argocd.NewApplicationSet(set)
	left := pausedSteps(known)
	text := name.String() + ": nothing is paused"
	switch {
	case len(left) > 0 && len(made) == 0:
		text = name.String() + ": only " + named(left, len(known.Steps)) + " paused"
	case len(left) > 0:
		text = name.String() + ": " + named(left, len(known.Steps)) + " still paused"
	}
	if len(made) == 0 {
		return r.show(name, made, text+"; there is nothing to resume.")
	}
	return r.show(name, made, text+". The syncs that wait start by themselves, in their order.")
}

// decide takes from the pause that there is.
func (r *resume) decide(set *argo.ApplicationSet) (edits, error) {
	known := argocd.NewApplicationSet(set)
	if len(r.steps) > 0 {
		if err := stepsOf(known, r.steps); err != nil {
			return nil, err
		}
	}
	if _, paused := set.Annotations[settings.PauseAnnotation]; !paused {
		return nil, nil
	}
	before := pausedSteps(known)
	left := slices.DeleteFunc(slices.Clone(before), func(n int) bool { return slices.Contains(r.steps, n) })
	switch {
	case len(r.steps) > 0 && len(left) == len(before):
		return nil, nil
	case len(r.steps) > 0 && len(left) > 0:
		return edits{settings.PauseAnnotation: pauseText(numbers(left), pauseReason(known))}, nil
	}
	made := edits{settings.PauseAnnotation: nil}
	if _, there := set.Annotations[settings.PausedByAnnotation]; there {
		made[settings.PausedByAnnotation] = nil
	}
	return made, nil
}
