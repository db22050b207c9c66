// SPDX-License-Identifier: Apache-2.0

package act

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/cmd/command"
	"github.com/stepgate/stepgate/cmd/screen"
	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/settings"
)

// Pause stops the steps of a rollout. The error is command.ErrFound where nobody keeps the pause.
type Pause struct {
	Verb
	// Steps are the numbers that people call the steps by; none for all.
	Steps  []int
	Reason string
}

// Do pauses.
func (p *Pause) Do(ctx context.Context, name types.NamespacedName) error {
	set, made, err := p.annotate(ctx, name, p.decide)
	if err != nil {
		return err
	}
	known := argocd.NewApplicationSet(set)
	what := shown(name) + ": every " + kind(known) + " is paused"
	if of := pausedSteps(known); !conditionsOf(known).Paused.All {
		what = shown(name) + ": " + named(known, of) + " paused"
	}
	s := p.settings(set)
	caveats := p.caveats(set, s, settings.PauseAnnotation)
	if len(made) == 0 {
		err := p.show(name, made, append([]string{what + " already" + byWhom(known) + "."}, caveats...)...)
		if s.NoGate != "" {
			err = errors.Join(err, command.ErrFound)
		}
		return err
	}
	end := "To end it: stepgate resume " + name.Name + " -n " + name.Namespace
	by := byWhom(known)
	if why := unkept(s, by); why != "" {
		lines := append([]string{p.Screen.Paint(screen.Bad, screen.SignBad) + " " + shown(name) +
			": the annotation is written, and nobody keeps it: " + why + " " + end}, caveats...)
		return errors.Join(p.show(name, made, lines...), command.ErrFound)
	}
	lines := []string{
		what + ". Syncs that run go on, and no new one starts.", "Paused" + strings.TrimPrefix(by, ",") + ". " + end,
	}
	return p.show(name, made, append(caveats, lines...)...)
}

// unkept says why nobody keeps the pause that by has begun; empty if somebody does.
func unkept(s settings.Settings, by string) string {
	switch {
	case s.NoGate != "":
		return "no gate answers."
	case by == "":
		return "stepgate's webhook has not answered, or it would have recorded who pauses. See stepgate doctor."
	}
	return ""
}

// decide adds to the pause that there is.
func (p *Pause) decide(set *argo.ApplicationSet) (edits, error) {
	known := argocd.NewApplicationSet(set)
	if err := stepsOf(known, p.Steps); err != nil {
		return nil, err
	}
	_, paused := set.Annotations[settings.PauseAnnotation]
	was, is := "all", "all"
	if !conditionsOf(known).Paused.All {
		was = numbers(pausedSteps(known))
		if len(p.Steps) > 0 {
			is = numbers(slices.Compact(slices.Sorted(slices.Values(append(pausedSteps(known), p.Steps...)))))
		}
	}
	reason := pauseReason(known)
	if paused && is == was && (p.Reason == "" || p.Reason == reason) {
		return nil, nil
	}
	return edits{settings.PauseAnnotation: pauseText(is, cmp.Or(p.Reason, reason))}, nil
}

// pauseReason is why an ApplicationSet is paused; empty if nobody says so.
func pauseReason(set *argocd.ApplicationSet) string {
	_, why, _ := settings.ParsePause(set.Annotations.Text(settings.PauseAnnotation), &set.ApplicationSet)
	return why
}

// pauseText is the annotation that settings.ParsePause reads.
func pauseText(steps, reason string) *string {
	return text(strings.TrimSuffix(steps+": "+reason, ": "))
}

// pausedSteps are the numbers of the steps that are paused, in their order. An annotation that cannot be read pauses all,
// and nobody knows here which waves those are.
func pausedSteps(set *argocd.ApplicationSet) (all []int) {
	some := conditionsOf(set).Paused
	if set.Waves {
		for _, step := range slices.Compact(slices.Sorted(slices.Values(some.Of))) {
			all = append(all, policy.StepNumber(step))
		}
		return all
	}
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
