// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"slices"

	"github.com/stepgate/stepgate/test/e2e/observer"
	"github.com/stepgate/stepgate/test/report"
	"github.com/stepgate/stepgate/test/script"
)

// atOnce is how many Applications of each step had an operation at the same moment, at the most, against the step's
// maxUpdate.
type atOnce struct {
	most map[int]int
	// limits are the maxUpdate of the steps that have one. A maxUpdate of 0 is not among them: users start such a step.
	limits map[int]int
}

// countAtOnce counts the operations of the measured rollout.
func (r *rollout) countAtOnce() atOnce {
	plan, observations := r.observed()
	counted := atOnce{most: observer.AtOnce(plan.Applications, observations, r.since), limits: map[int]int{}}
	if limit := r.scenario.maxUpdate; limit > 0 {
		for step := range r.scenario.environments() {
			counted.limits[step] = limit
		}
	}
	return counted
}

// top is the number in the step that had most.
func (a atOnce) top() int {
	top := 0
	for _, n := range a.most {
		top = max(top, n)
	}
	return top
}

// over is by how much the step that went furthest above its maxUpdate did so, or 0.
func (a atOnce) over() int {
	over := 0
	for step, limit := range a.limits {
		over = max(over, a.most[step]-limit)
	}
	return over
}

// overMaxUpdate is the same over all rollouts of some modes.
func overMaxUpdate(chosen []scenario, all table, modes ...mode) int {
	over := 0
	for _, sc := range chosen {
		for m, o := range all[sc.key] {
			if slices.Contains(modes, m) {
				over = max(over, o.atOnce.over())
			}
		}
	}
	return over
}

// printAtOnce prints the rollouts whose steps have a maxUpdate, step by step. Nothing keeps it: it is counted and
// shown.
func printAtOnce(out *report.Printer, chosen []scenario, all table, version string) {
	header := "| Argo CD | rollout | maxUpdate | mode | operations of a step at once, by step | over maxUpdate " +
		"|\n|---|---|---|---|---|---|\n"
	for _, sc := range chosen {
		for _, m := range []mode{off, on} {
			o := all[sc.key][m]
			if sc.maxUpdate == 0 || o == nil {
				continue
			}
			text := ""
			for step := range sc.environments() {
				text += fmt.Sprintf(", %d", o.atOnce.most[step])
			}
			out.Line("%s| %s | `%s` | %d | %s | %s | %d |", header, version, sc.key, sc.maxUpdate, m, text[2:], o.atOnce.over())
			header = ""
		}
	}
	if header == "" {
		out.Line("")
	}
}

// observed are the plan of the rollout, and what was seen of its Applications.
func (r *rollout) observed() (observer.Rollout, []observer.Observation) {
	plan := observer.Rollout{
		ChangedAt: r.changedAt, Healthy: r.scenario.needHealthy, KeepsResult: r.argo.Traits.KeepsResult,
	}
	names, namespace := map[string]bool{}, string(r.mode)
	for _, m := range r.members {
		at := r.runs(m)
		names[at.Name], namespace = true, at.Namespace
		plan.Applications = append(plan.Applications, observer.Application{
			Name: at.Name, Step: m.step, Changes: m.changes, Trees: m.trees(),
		})
	}
	return plan, script.Get(r.recorder.seen(namespace, names))
}
