// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"slices"
	"strconv"

	"k8s.io/utils/ptr"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/outlook"
)

// waves are the 0-based steps of the rule that the Applications of a rollout by waves are in, lowest first. It is empty
// where RollingSync gives the steps.
type waves []int

// wavesOf lists the waves of an Outlook, also of Applications that are yet to be created.
func wavesOf(o *outlook.Outlook) waves {
	if !o.Set.Waves {
		return nil
	}
	var all waves
	for _, p := range o.Applications {
		all = append(all, o.Set.StepOf(p.Application.Labels))
	}
	for _, b := range policy.Missing(o.Input) {
		all = append(all, b.Step)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// number is the place of a 0-based step of the rule among all, from 1 on; 0 for no step, and for a wave that is not known.
func (w waves) number(step int) int {
	if !policy.IsWave(step) {
		return step + 1
	}
	return slices.Index(w, step) + 1
}

// waveOf is the sync wave that a 0-based step of the rule is; nil for a step of RollingSync.
func waveOf(step int) *int {
	if !policy.IsWave(step) {
		return nil
	}
	return ptr.To(policy.StepNumber(step))
}

// stepsOf are the steps of an ApplicationSet, without their Applications.
func stepsOf(set *argocd.ApplicationSet, by waves) (all []Step) {
	add := func(rule int, selector string) {
		step := Step{Number: len(all) + 1, Wave: waveOf(rule), rule: rule, Selector: selector}
		if most := set.MaxUpdateOf(rule); most != nil {
			step.MaxUpdate = most.String()
		}
		all = append(all, step)
	}
	for i, step := range set.Steps {
		add(i, selector(step))
	}
	for _, rule := range by {
		add(rule, "")
	}
	return all
}

// Called is the number that people call the step by: its own, or the sync wave.
func (step *Step) Called() int {
	if step.Wave != nil {
		return *step.Wave
	}
	return step.Number
}

// Name is what people call the step: step 3 or wave 20.
func (step *Step) Name() string { return nameOf(step.Number, step.Wave) }

func nameOf(number int, wave *int) string {
	if wave != nil {
		return "wave " + strconv.Itoa(*wave)
	}
	return "step " + strconv.Itoa(number)
}

// place is its name with its place among so many: step 2 of 3 or wave 20 (2 of 3).
func (step *Step) place(of int) string { return placeOf(step.Number, step.Wave, of) }

func placeOf(number int, wave *int, of int) string {
	name := nameOf(number, wave)
	if wave != nil {
		return fmt.Sprintf("%s (%d of %d)", name, number, of)
	}
	return fmt.Sprintf("%s of %d", name, of)
}

// aside is place after the name of an Application.
func (step *Step) aside(of int) string {
	if step.Wave != nil {
		return ", " + step.place(of)
	}
	return " (" + step.place(of) + ")"
}

// kind is what people call one of the steps without its number.
func (r *Rollout) kind() string {
	if r.Waves {
		return "wave"
	}
	return "step"
}

// StepCount says how many steps there are: 3 steps or 3 waves.
func (r *Rollout) StepCount() string { return fmt.Sprintf("%d %ss", len(r.Steps), r.kind()) }
