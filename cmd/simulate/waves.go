// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"strconv"
	"strings"

	"github.com/stepgate/stepgate/policy"
)

// ruleStep is the 0-based step of the rule that a 1-based step is, or a sync wave.
func ruleStep(step int, wave *int) int {
	if wave != nil {
		return policy.WaveStep(*wave)
	}
	return step - 1
}

// nameOf is what people call a step: step 3 or wave 20.
func nameOf(step int, wave *int) string { return policy.StepName(ruleStep(step, wave)) }

// kindOf is that without the number.
func kindOf(wave *int) string { return policy.StepKind(ruleStep(1, wave)) }

// numberOf is the number alone.
func numberOf(step int, wave *int) string {
	return strconv.Itoa(policy.StepNumber(ruleStep(step, wave)))
}

func (step *Step) name() string { return nameOf(step.Step, step.Wave) }

// name is what people call a 1-based step of the report; empty for 0.
func (r *Report) name(step int) string {
	if step == 0 {
		return ""
	}
	return r.Steps[step-1].name()
}

// waves reports whether the steps are sync waves.
func (r *Report) waves() bool { return r.Steps[0].Wave != nil }

func capitalized(text string) string { return strings.ToUpper(text[:1]) + text[1:] }
