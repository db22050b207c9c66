// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"time"

	"github.com/stepgate/stepgate/test/report"
)

// sizeHeader heads the rows of fleetOutcome.
const sizeHeader = "| refreshed | gate | starts | early | took | refused | overtaken | held | refreshes | " +
	"overlooked | writes/min | of the ApplicationSet controller | CPU s: API server | etcd | repo-server | application controller | ApplicationSet controller | stepgate |\n" +
	"|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|"

// row is a rollout as a row of a table.
func (o *fleetOutcome) row(m mode, order string) string {
	perMinute := func(n int) string { return fmt.Sprintf("%.0f", float64(n)/o.took.Minutes()) }
	cells := []string{
		order, string(m), fmt.Sprint(o.starts), fmt.Sprint(o.early), inSeconds(o.took),
		fmt.Sprint(o.writes.refused), fmt.Sprint(o.writes.overtaken), fmt.Sprint(o.writes.held),
		fmt.Sprint(o.writes.refreshes), fmt.Sprint(o.overlooked),
		perMinute(o.writes.all), perMinute(o.writes.controller),
	}
	for _, name := range sizeProcesses {
		cells = append(cells, fmt.Sprintf("%.1f", o.cpu[name].Seconds()))
	}
	return "| " + strings.Join(cells, " | ") + " |"
}

func inSeconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// print prints the last line.
func (t *sizeTotals) print(out *report.Printer, o sizeOptions, took time.Duration, load string) {
	var rollouts, offEarly, onEarly, refused, overtaken, starts int
	worst := 0.0
	for _, r := range t.rollouts {
		if r.mode == off {
			rollouts, offEarly = rollouts+1, offEarly+r.early
			continue
		}
		onEarly, starts = onEarly+r.early, starts+r.starts
		refused, overtaken = refused+r.writes.refused, overtaken+r.writes.overtaken
		if ratio := t.ratio(shape{key: r.shape}, r.order); ratio > worst {
			worst = ratio
		}
	}
	text := fmt.Sprintf("e2e-size: applications=%d rollouts=%d off_early=%d on_starts=%d on_early=%d on_refused=%d "+
		"on_overtaken=%d worst_ratio=%.2f",
		o.applications, rollouts, offEarly, starts, onEarly, refused, overtaken, worst)
	for _, m := range t.monorepo {
		text += fmt.Sprintf(" %s=%.1fs/%d", m.key, m.opened.Seconds(), m.refreshes)
		if m.foundAfter > 0 {
			text += fmt.Sprintf(" %s_found=%.1fs/%d", m.key, m.foundAfter.Seconds(), m.foundRefreshes)
		}
	}
	out.Line("\n%s took=%.0fs load=%q", text, took.Seconds(), load)
}
