package main

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/stepgate/stepgate/cmd/command"
	"github.com/stepgate/stepgate/cmd/kube"
	"github.com/stepgate/stepgate/cmd/screen"
	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/settings"
)

// pause stops the steps of a rollout.
type pause struct {
	verb
	steps  []int
	reason string
}

func newPause(streams genericiooptions.IOStreams) *cobra.Command {
	p := &pause{verb: verb{cli: newCLI(streams)}}
	cmd := p.command("pause APPSET", "Let nothing new start in a rollout, or in some of its steps",
		exactly("the name of an ApplicationSet"), p.run)
	cmd.Long = `Let nothing new start in the steps of an ApplicationSet. Syncs that run go on. Without --step, every
step is paused; with --step, this one beside those that are paused already. The exit code is 1 where
stepgate's webhook does not answer: then nobody keeps the pause.

It sets an annotation of the ApplicationSet, as this does:

  kubectl -n argocd annotate applicationset guestbook --overwrite 'stepgate.io/pause=all: INC-1234'`
	cmd.Example = `  stepgate pause guestbook -n argocd --reason INC-1234
  stepgate pause guestbook -n argocd --step 3 --step 4`
	f := cmd.Flags()
	f.IntSliceVar(&p.steps, "step", nil, "the number of a step; can be repeated")
	f.StringVar(&p.reason, "reason", "", "why, for everybody who meets the pause")
	p.bind(cmd)
	return cmd
}

func (p *pause) run(ctx context.Context, args []string) error {
	name, err := p.name(args[0])
	if err != nil {
		return err
	}
	clients, err := p.cluster()
	if err != nil {
		return err
	}
	return p.pause(ctx, clients, name, installation(ctx, clients.Clientset, name.Namespace))
}

func (p *pause) pause(ctx context.Context, clients *kube.Cluster, name types.NamespacedName, gate installed) error {
	set, made, err := annotate(ctx, clients.Objects, name, p.dryRun, p.decide)
	if err != nil {
		return err
	}
	known := argocd.NewApplicationSet(set)
	what := name.String() + ": every step is paused"
	if of := pausedSteps(known); !conditionsOf(known).Paused.All {
		what = name.String() + ": " + named(of, len(known.Steps)) + " paused"
	}
	if len(made) == 0 {
		return p.show(name, made, append([]string{what + " already" + byWhom(known) + "."},
			p.caveats(gate, set, settings.PauseAnnotation)...)...)
	}
	end := "To end it: stepgate resume " + name.Name + " -n " + name.Namespace
	by := byWhom(known)
	if by == "" {
		lines := append([]string{p.screen().Paint(screen.Bad, screen.SignBad) + " " + name.String() +
			": the annotation is written, and nobody keeps it: stepgate's webhook has not answered, or it would have recorded " +
			"who pauses. See stepgate doctor. " + end}, p.caveats(gate, set, settings.PauseAnnotation)...)
		return errors.Join(p.show(name, made, lines...), command.ErrFound)
	}
	lines := []string{
		what + ". Syncs that run go on, and no new one starts.", "Paused" + strings.TrimPrefix(by, ",") + ". " + end,
	}
	return p.show(name, made, append(p.caveats(gate, set, settings.PauseAnnotation), lines...)...)
}

// decide adds to the pause that there is.
func (p *pause) decide(set *argo.ApplicationSet) (edits, error) {
	known := argocd.NewApplicationSet(set)
	if err := stepsOf(known, p.steps); err != nil {
		return nil, err
	}
	_, paused := set.Annotations[settings.PauseAnnotation]
	was, is := "all", "all"
	if !conditionsOf(known).Paused.All {
		was = numbers(pausedSteps(known))
		if len(p.steps) > 0 {
			is = numbers(slices.Compact(slices.Sorted(slices.Values(append(pausedSteps(known), p.steps...)))))
		}
	}
	reason := pauseReason(known)
	if paused && is == was && (p.reason == "" || p.reason == reason) {
		return nil, nil
	}
	return edits{settings.PauseAnnotation: pauseText(is, cmp.Or(p.reason, reason))}, nil
}

// pauseReason is why an ApplicationSet is paused; empty if nobody says so.
func pauseReason(set *argocd.ApplicationSet) string {
	_, why, _ := settings.ParsePause(set.Annotations.Text(settings.PauseAnnotation), len(set.Steps))
	return why
}

// pauseText is the annotation that settings.ParsePause reads.
func pauseText(steps, reason string) *string {
	return text(strings.TrimSuffix(steps+": "+reason, ": "))
}

// pausedSteps are the 1-based numbers of the steps that are paused, in their order. An annotation that cannot be read
// pauses all.
func pausedSteps(set *argocd.ApplicationSet) []int { return stepNumbers(set, conditionsOf(set).Paused) }

// stepNumbers are the 1-based numbers of steps, in their order.
func stepNumbers(set *argocd.ApplicationSet, some policy.Steps) []int {
	var all []int
	for i := range set.Steps {
		if some.Has(i) {
			all = append(all, i+1)
		}
	}
	return all
}

// byWhom says who has paused an ApplicationSet, and why, as far as that is recorded.
func byWhom(set *argocd.ApplicationSet) string {
	by := set.Annotations.Text(settings.PausedByAnnotation)
	if by == "" {
		return ""
	}
	by = ", by " + policy.Printable(by, mostShown)
	if why := pauseReason(set); why != "" {
		by += ": " + policy.Printable(why, mostShown)
	}
	return by
}

// mostShown bounds a text that somebody has written into an annotation.
const mostShown = 160
