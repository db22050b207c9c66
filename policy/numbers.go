// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// StepNumber is the number that people call a 0-based step by.
func StepNumber(step int) int { return step + 1 }

// StepName is what people call a 0-based step, as in "step 3".
func StepName(step int) string { return "step " + strconv.Itoa(StepNumber(step)) }

// namedSteps is how many of several steps are named.
const namedSteps = 3

// stepNames are 0-based steps, of which there is at least one, as in "step 1" or "steps 1, 2, 3 and 4 more".
func stepNames(steps []int) string {
	steps = slices.Compact(slices.Sorted(slices.Values(steps)))
	var numbers []string
	for _, s := range steps[:min(len(steps), namedSteps)] {
		numbers = append(numbers, strconv.Itoa(StepNumber(s)))
	}
	if more := len(steps) - namedSteps; more > 0 {
		numbers = append(numbers, fmt.Sprintf("%d more", more))
	}
	last := len(numbers) - 1
	if last == 0 {
		return "step " + numbers[0]
	}
	return "steps " + strings.Join(numbers[:last], ", ") + " and " + numbers[last]
}

// Step returns the 0-based step that people call by a number in an annotation. The error says what they may write.
func (set *ApplicationSet) Step(number int) (step int, err error) {
	switch {
	case len(set.Steps) == 0:
		return 0, errors.New("the ApplicationSet has no steps: add spec.strategy.rollingSync.steps, or remove the annotation")
	case number < 1 || number > len(set.Steps):
		return 0, fmt.Errorf("there is no step %d: the ApplicationSet has the steps 1 to %d", number, len(set.Steps))
	}
	return number - 1, nil
}
