// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"slices"
	"time"

	"github.com/stepgate/stepgate/test/report"
)

// waits are how long after nothing stood in their way the operations of later steps were written: one for each
// Application and change, the one of its first start. What users start tells nothing about Argo CD or the gate, and is
// left out.
func (o *outcome) waits() []time.Duration {
	type started struct {
		application string
		change      int
	}
	var all []time.Duration
	seen := map[started]bool{}
	for _, s := range o.starts {
		key := started{s.Application, s.Change}
		if s.Step == 0 || seen[key] || o.rollout.scenario.startedByUsers() {
			continue
		}
		seen[key] = true
		if !s.OutOfOrder() && !s.Open.IsZero() {
			all = append(all, max(0, s.At.Sub(s.Open)))
		}
	}
	return all
}

// printWaits prints how long it takes from the moment at which the last Application of an earlier step is done until
// the operation is written, over all starts of later steps.
func printWaits(out *report.Printer, chosen []scenario, all table) {
	for _, m := range []mode{off, on} {
		var waits []time.Duration
		longest, where := time.Duration(0), ""
		for _, sc := range chosen {
			if o := all[sc.key][m]; o != nil {
				own := o.waits()
				if most := percentile(own, 100); most > longest {
					longest, where = most, sc.key
				}
				waits = append(waits, own...)
			}
		}
		if len(waits) > 0 {
			out.Line("from the last blocker done to the operation written, %s: starts=%d p50=%.2fs p99=%.2fs max=%.2fs (%s)",
				m, len(waits), percentile(waits, 50).Seconds(), percentile(waits, 99).Seconds(), longest.Seconds(), where)
		}
	}
}

// percentile is the smallest duration that so many percent of all do not exceed.
func percentile(all []time.Duration, percent int) time.Duration {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	return sorted[max(0, (len(sorted)*percent+99)/100-1)]
}
