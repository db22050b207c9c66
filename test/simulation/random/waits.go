// SPDX-License-Identifier: Apache-2.0

package random

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/stepgate/stepgate/cmd/simulation"
)

// Waits are what came of conditions.
type Waits struct {
	// Histories counts those that had a condition, by its name.
	Histories map[string]int
	// Completed counts the histories with a condition in which all was rolled out in the end.
	Completed int
	// StartedBySelf counts the syncs that stepgate has started.
	StartedBySelf int
	// late are by how much syncs were admitted after they were due, by what they had waited for last.
	late map[string][]time.Duration
}

func newWaits() Waits {
	return Waits{Histories: map[string]int{}, late: map[string][]time.Duration{}}
}

func (x *Waits) note(r simulation.Result) {
	for _, name := range r.Conditions {
		x.Histories[name]++
	}
	if len(r.Conditions) > 0 && len(r.Incomplete) == 0 {
		x.Completed++
	}
	x.StartedBySelf += r.StartedBySelf
	x.late["a train, due"] = append(x.late["a train, due"], r.Waited...)
	for _, s := range r.Starts {
		of := []string{s.Condition, "all"}
		if s.Restarted {
			of = append(of, "after a restart")
		}
		for _, name := range of {
			x.late[name] = append(x.late[name], s.Late())
		}
	}
}

func (x *Waits) report(out io.Writer) {
	if len(x.Histories) == 0 {
		return
	}
	_, _ = fmt.Fprintf(out, "\n%-28s %10s\n", "condition", "histories")
	for _, name := range slices.Sorted(maps.Keys(x.Histories)) {
		_, _ = fmt.Fprintf(out, "%-28s %10d\n", name, x.Histories[name])
	}
	_, _ = fmt.Fprintf(out, "%-28s %10d\n", "(completed)", x.Completed)
	_, _ = fmt.Fprintf(out, "%-28s %10d\n", "(syncs that stepgate started)", x.StartedBySelf)
	_, _ = fmt.Fprintf(out, "\n%-28s %10s %9s %9s %9s\n", "started after the end of", "syncs", "p50", "p99", "most")
	for _, name := range slices.Sorted(maps.Keys(x.late)) {
		all := slices.Sorted(slices.Values(x.late[name]))
		if len(all) == 0 {
			continue
		}
		_, _ = fmt.Fprintf(out, "%-28s %10d %8.2fs %8.2fs %8.2fs\n", name, len(all), quantile(all, 0.5).Seconds(),
			quantile(all, 0.99).Seconds(), all[len(all)-1].Seconds())
	}
}

// quantile is of a sorted list, which is not empty.
func quantile(all []time.Duration, q float64) time.Duration {
	return all[int(q*float64(len(all)-1))]
}
