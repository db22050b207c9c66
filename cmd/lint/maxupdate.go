// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/stepgate/stepgate/policy"
)

// maxUpdates looks at the limits of the steps.
//
// UpdateApplicationSetApplicationStatusProgress of argo-cd v3.5.7, applicationset/progressivesync/progressive_sync.go,
// rounds percentages down, and counts every text but "0%" as 1 when that gives less, also texts that are no percentage.
// It counts the Applications of no step in step 1.
func (c *checker) maxUpdates(groups []group) {
	sizes := c.sizes(groups)
	for i, step := range c.Set.Spec.Strategy.RollingSync.Steps {
		if step.MaxUpdate != nil {
			c.maxUpdate(i, *step.MaxUpdate, sizes)
		}
	}
}

// maxUpdate looks at one limit. sizes is nil where the Applications are not known.
func (c *checker) maxUpdate(step int, limit intstr.IntOrString, sizes []int) {
	path := stepPath(step, "maxUpdate")
	percentage, isPercentage := percentageOf(limit)
	switch {
	case limit.Type == intstr.Int && limit.IntVal < 0:
		c.found("invalid-max-update", path,
			fmt.Sprintf("maxUpdate %d of step %d is negative: the ApplicationSet controller starts no sync in this step.",
				limit.IntVal, step+1))
	case limit.Type == intstr.Int && limit.IntVal == 0, limit.Type == intstr.String && limit.StrVal == "0%":
		c.found("manual-step", path, fmt.Sprintf(
			"Step %d is a manual step: with maxUpdate %s the ApplicationSet controller starts no sync in it.", step+1,
			limit.String(),
		))
	case limit.Type == intstr.Int:
	case !isPercentage || percentage <= 0:
		f := c.found("invalid-max-update", path,
			fmt.Sprintf("maxUpdate %q of step %d is no number and no valid percentage: Argo CD counts it as 1.",
				short(limit.StrVal), step+1))
		if number, err := strconv.Atoi(limit.StrVal); err == nil && number > 0 {
			f.Remedy = fmt.Sprintf("Write %d without quotes.", number)
		}
	case percentage >= 100:
		c.found("max-update-no-limit", path,
			fmt.Sprintf("maxUpdate %s of step %d limits nothing.", short(limit.StrVal), step+1))
	case sizes != nil && sizes[step] > 0:
		if total := sizes[step] + outside(sizes, step); total > 1 && percentage*total < 100 {
			c.found("max-update-below-one", path,
				fmt.Sprintf("maxUpdate %s of the %s of step %d is less than one: Argo CD takes 1.", short(limit.StrVal),
					count(total, "Application"), step+1))
		}
	}
}

// percentageOf reads a percentage as GetScaledValueFromIntOrPercent of k8s.io/apimachinery v0.36.2, pkg/util/intstr,
// does.
func percentageOf(limit intstr.IntOrString) (percentage int, ok bool) {
	text, hasSign := strings.CutSuffix(limit.StrVal, "%")
	percentage, err := strconv.Atoi(text)
	return percentage, limit.Type == intstr.String && hasSign && err == nil
}

// outside is the number of Applications of no step, where they count in the step.
func outside(sizes []int, step int) int {
	if step == 0 {
		return sizes[len(sizes)-1]
	}
	return 0
}

// sizes are the numbers of Applications of the steps, and then of no step; nil if they are not known.
func (c *checker) sizes(groups []group) []int {
	sizes := make([]int, len(c.steps)+1)
	for _, g := range groups {
		labels, exact := g.exact(c.steps)
		if !exact {
			return nil
		}
		step := policy.StepOf(c.steps, labels)
		if step < 0 {
			step = len(c.steps)
		}
		sizes[step]++
	}
	return sizes
}
