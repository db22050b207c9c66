// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"cmp"
	"slices"
)

// AtOnce are, by step, the most Applications of the step that had an operation at the same moment, requested or
// running. It counts from a resourceVersion on; operations that were there before count as long as they last.
func AtOnce(applications []Application, observations []Observation, since uint64) map[int]int {
	history := slices.Clone(observations)
	slices.SortStableFunc(history, func(a, b Observation) int { return cmp.Compare(a.ResourceVersion, b.ResourceVersion) })
	steps, now, most := map[string]int{}, map[int]map[string]bool{}, map[int]int{}
	for _, app := range applications {
		steps[app.Name] = app.Step
		now[app.Step] = map[string]bool{}
	}
	for _, o := range history {
		step, known := steps[o.Name]
		if !known {
			continue
		}
		if o.OperationSet && !o.Gone {
			now[step][o.Name] = true
		} else {
			delete(now[step], o.Name)
		}
		if o.ResourceVersion > since {
			most[step] = max(most[step], len(now[step]))
		}
	}
	return most
}
