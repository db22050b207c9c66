// SPDX-License-Identifier: Apache-2.0

package act

import (
	"context"
	"fmt"
	"slices"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/settings"
)

// Resume ends a pause.
type Resume struct {
	Verb
	// Steps are the numbers that people call the steps by; none for all.
	Steps []int
}

// Do resumes.
func (r *Resume) Do(ctx context.Context, name types.NamespacedName) error {
	set, made, err := r.annotate(ctx, name, r.decide)
	if err != nil {
		return err
	}
	known := argocd.NewApplicationSet(set)
	left := pausedSteps(known)
	text := shown(name) + ": nothing is paused"
	switch {
	case len(left) > 0 && len(made) == 0:
		text = shown(name) + ": only " + named(known, left) + " paused"
	case len(left) > 0:
		text = shown(name) + ": " + named(known, left) + " still paused"
	}
	if len(made) == 0 {
		return r.show(name, made, text+"; there is nothing to resume.")
	}
	if s := r.settings(set); s.NoGate != "" {
		return r.show(name, made, append([]string{text + "."}, r.caveats(set, s, settings.PauseAnnotation)...)...)
	}
	return r.show(name, made, text+". The syncs that wait start by themselves, in their order.")
}

// decide takes from the pause that there is.
func (r *Resume) decide(set *argo.ApplicationSet) (edits, error) {
	known := argocd.NewApplicationSet(set)
	if len(r.Steps) > 0 {
		if err := stepsOf(known, r.Steps); err != nil {
			return nil, err
		}
	}
	if _, paused := set.Annotations[settings.PauseAnnotation]; !paused {
		return nil, nil
	}
	if known.Waves && len(r.Steps) > 0 && conditionsOf(known).Paused.All {
		return nil, fmt.Errorf("every wave of %s is paused: resume without --step, and pause those that are to "+
			"stay paused", policy.Called(known.Namespace+"/"+known.Name))
	}
	before := pausedSteps(known)
	left := slices.DeleteFunc(slices.Clone(before), func(n int) bool { return slices.Contains(r.Steps, n) })
	switch {
	case len(r.Steps) > 0 && len(left) == len(before):
		return nil, nil
	case len(r.Steps) > 0 && len(left) > 0:
		return edits{settings.PauseAnnotation: pauseText(numbers(left), pauseReason(known))}, nil
	}
	made := edits{settings.PauseAnnotation: nil}
	if _, there := set.Annotations[settings.PausedByAnnotation]; there {
		made[settings.PausedByAnnotation] = nil
	}
	return made, nil
}
