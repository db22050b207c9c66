// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// StepNumber is the number that people call a 0-based step by: from 1 on, or the sync wave.
func StepNumber(step int) int {
	if IsWave(step) {
		return step - wave0
	}
	return step + 1
}

// StepKind is what people call a 0-based step without its number: "step" or "wave".
func StepKind(step int) string {
	if IsWave(step) {
		return "wave"
	}
	return "step"
}

// StepName is what people call a 0-based step: "step 3" or "wave 20".
func StepName(step int) string { return StepKind(step) + " " + strconv.Itoa(StepNumber(step)) }

// namedSteps is how many of several steps are named.
const namedSteps = 3

// StepNames are 0-based steps, of which there is at least one: "step 1", "waves -1, 0 and 20" or
// "steps 1, 2, 3 and 4 more".
func StepNames(steps []int) string {
	steps = slices.Compact(slices.Sorted(slices.Values(steps)))
	var numbers []string
	for _, s := range steps[:min(len(steps), namedSteps)] {
		numbers = append(numbers, strconv.Itoa(StepNumber(s)))
	}
	if more := len(steps) - namedSteps; more > 0 {
		numbers = append(numbers, fmt.Sprintf("%d more", more))
	}
	kind, last := StepKind(steps[0]), len(numbers)-1
	if last == 0 {
		return kind + " " + numbers[0]
	}
	return kind + "s " + strings.Join(numbers[:last], ", ") + " and " + numbers[last]
}

// Step returns the 0-based step that people call by a number in an annotation. The error says what they may write.
func (set *ApplicationSet) Step(number int) (step int, err error) {
	switch {
	case set.Waves && max(number, -number) <= MostWave:
		return WaveStep(number), nil
	case set.Waves:
		return 0, fmt.Errorf("there is no wave %d: waves are between %d and %d", number, -MostWave, MostWave)
	case len(set.Steps) == 0:
		return 0, errors.New("the ApplicationSet has no steps: add spec.strategy.rollingSync.steps, or remove the annotation")
	case number < 1 || number > len(set.Steps):
		return 0, fmt.Errorf("there is no step %d: the ApplicationSet has the steps 1 to %d", number, len(set.Steps))
	}
	return number - 1, nil
}
