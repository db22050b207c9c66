// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"maps"
	"slices"

	"github.com/stepgate/stepgate/policy"
)

// selection finds the steps that can never get an Application: for all combinations of labels that they select, an
// earlier step comes first.
func (c *checker) selection() {
	n := len(c.steps)
	selects, first := make([]int, n), make([]int, n)
	with := make([][]int, n) // with[i][j] counts the combinations that both select
	for i := range with {
		with[i] = make([]int, n)
	}
	complete := newUniverse(c.steps).each(nil, func(labels map[string]string) {
		if step := policy.StepOf(c.steps, labels); step >= 0 {
			first[step]++
		}
		all := selecting(c.steps, labels)
		for _, i := range all {
			selects[i]++
			for _, j := range all {
				with[i][j]++
			}
		}
	})
	if !complete {
		c.gap("shadowed steps", "whether a step can never get an Application because of earlier ones: the steps tell too "+
			"many combinations of labels apart")
		return
	}
	for i := range c.steps {
		if selects[i] == 0 || first[i] > 0 || c.broken[i] {
			continue
		}
		if slices.ContainsFunc(slices.Collect(maps.Keys(c.all)), func(j int) bool { return j < i }) {
			c.broken[i] = true
			continue
		}
		c.broken[i] = true
		var earlier []int
		for j := range i {
			if with[i][j] == selects[i] {
				earlier = []int{j}
				break
			}
			if with[i][j] > 0 {
				earlier = append(earlier, j)
			}
		}
		verb := "selects"
		if len(earlier) > 1 {
			verb = "together select"
		}
		c.found("shadowed-step", stepPath(i),
			fmt.Sprintf("Step %d can never get an Application: %s %s every Application that it selects.", i+1,
				stepNames(earlier), verb))
	}
}
