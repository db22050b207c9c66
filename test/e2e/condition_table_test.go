// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/stepgate/stepgate/test/report"
)

// print says in a line what became of a condition in one mode, and lists the early starts that the gate had to prevent.
func (o *conditionOutcome) print() {
	early := o.early()
	fmt.Printf("%-18s %-12s starts %2d, early %2d, ", o.name, o.mode, len(o.starts), len(early))
	if o.problem != nil {
		fmt.Printf("not played to its end: %v\n", o.problem)
	} else {
		fmt.Printf("complete after %.1fs\n", o.finished.Sub(o.began).Seconds())
	}
	if o.overlooked > 0 {
		fmt.Printf("  Argo CD overlooked %d operations or refreshes\n", o.overlooked)
	}
	if o.tries > 0 {
		fmt.Printf("  users tried %d writes that the gate has to refuse, and %d were refused\n", o.tries, o.refusals)
	}
	for _, s := range early {
		if o.mode != off {
			fmt.Printf("  early at +%.1fs: %s, change %d\n", s.At.Sub(o.began).Seconds(), s.Application, s.Change)
		}
	}
}

// printConditions prints the table, and returns an error unless the gate kept every condition and nothing else did.
func printConditions(out *report.Printer, all []*conditionOutcome) error {
	out.Line("\nA step waits for a condition:")
	out.Line("| condition | kind | held for | released after it was due: p50, p99 | early starts | without stepgate " +
		"|\n|---|---|---|---|---|---|")
	var problems []error
	var released []time.Duration
	played, early, without := 0, 0, 0
	controls := map[string][]*conditionOutcome{}
	for _, o := range all {
		if o.problem != nil {
			problems = append(problems, fmt.Errorf("%s, %s: %w", o.name, o.mode, o.problem))
		}
		if o.mode == off {
			continue
		}
		played++
		n := len(o.early())
		early += n
		if n > 0 {
			problems = append(problems, fmt.Errorf("%s: %d starts before they were due", o.name, n))
		}
		cell := "-"
		if control := find(all, o.name, off); control != nil {
			starts := len(control.early())
			without += starts
			cell = fmt.Sprint(starts)
			controls[o.condition.name] = append(controls[o.condition.name], control)
		}
		held, after := o.times()
		released = append(released, after...)
		out.Line("| %s | %s | %s | %s | %d | %s |", o.condition.name, o.kind, span(held), percentiles(after), n, cell)
	}
	for _, name := range slices.Sorted(maps.Keys(controls)) {
		problems = append(problems, tells(controls[name]))
	}
	out.Line("conditions: rollouts=%d early=%d early_without=%d released=%d p50=%.2fs p99=%.2fs", played, early, without,
		len(released),
		percentile(released, 50).Seconds(), percentile(released, 99).Seconds())
	return errors.Join(problems...)
}

func find(all []*conditionOutcome, name string, m mode) *conditionOutcome {
	i := slices.IndexFunc(all, func(o *conditionOutcome) bool { return o.name == name && o.mode == m })
	if i < 0 {
		return nil
	}
	return all[i]
}

// tells returns an error if nothing started early without the gate in any rollout of a condition: those with the gate
// would prove nothing then. With progressive syncs, a rollout may be in order by chance.
func tells(controls []*conditionOutcome) error {
	for _, o := range controls {
		if o.problem != nil || len(o.early()) > 0 {
			return nil
		}
	}
	return fmt.Errorf("%s: nothing started early without the gate, so this tests nothing", controls[0].condition.name)
}

// span is the shortest and the longest of some durations.
func span(all []time.Duration) string {
	if len(all) == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f s to %.1f s", slices.Min(all).Seconds(), slices.Max(all).Seconds())
}

func percentiles(all []time.Duration) string {
	if len(all) == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f s, %.2f s", percentile(all, 50).Seconds(), percentile(all, 99).Seconds())
}
