// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"

	"github.com/stepgate/stepgate/test/report"
)

func printTable(out *report.Printer, chosen []scenario, all table, writes []write) {
	if len(chosen) == 0 {
		return
	}
	out.Line("| rollout | out of order off / on | seconds off / on | at once off / on | held | controller refused | " +
		"others denied | refreshes | controller writes per minute off / on |")
	out.Line("|---|---|---|---|---|---|---|---|---|")
	for _, sc := range chosen {
		without, with := all[sc.key][off].row(writes), all[sc.key][on].row(writes)
		out.Line("| %s (`%s`) | %s / %s | %s / %s | %s / %s | %s | %s | %s | %s | %s / %s |", sc.title, sc.key,
			without.outOfOrder, with.outOfOrder,
			without.took, with.took, without.atOnce, with.atOnce, with.held, with.refusals, with.denials, with.refreshes,
			without.perMinute, with.perMinute)
	}
	out.Line("")
}

// printBeside prints the rollouts in other modes than off, on and audit, with those beside them.
func printBeside(out *report.Printer, chosen []scenario, all table, writes []write) {
	header := "| rollout | mode | starts | out of order | seconds | held | note |\n|---|---|---|---|---|---|---|\n"
	for _, sc := range chosen {
		if len(sc.beside) == 0 {
			continue
		}
		for _, m := range append([]mode{off}, append(sc.beside, on)...) {
			o := all[sc.key][m]
			if o == nil {
				continue
			}
			r := o.row(writes)
			out.Line("%s| `%s` | %s | %d | %s | %s | %s | %s |", header, sc.key, m, len(o.starts), r.outOfOrder, r.took, r.held,
				o.rollout.note)
			header = ""
		}
	}
	out.Line("")
}

type row struct{ outOfOrder, took, atOnce, held, refusals, denials, refreshes, perMinute string }

func (o *outcome) row(writes []write) row {
	if o == nil {
		return row{"-", "-", "-", "-", "-", "-", "-", "-"}
	}
	t, took := o.counts(writes), "never"
	if o.completed() {
		took = fmt.Sprintf("%.1f", o.took.Seconds())
	}
	return row{
		outOfOrder: fmt.Sprint(o.outOfOrder()), took: took, atOnce: fmt.Sprint(o.atOnce.top()), held: fmt.Sprint(t.held), refusals: fmt.Sprint(t.refusals),
		denials: fmt.Sprint(t.denials), refreshes: fmt.Sprint(t.refreshes),
		perMinute: fmt.Sprintf("%.0f", t.perMinute(o.ended.Sub(o.rollout.began))),
	}
}

// printOutcome is a line as soon as a rollout has ended.
func printOutcome(o *outcome) {
	r := o.rollout
	fmt.Printf("%-24s %-8s  starts %2d, out of order %2d, ", r.scenario.key, r.mode, len(o.starts), o.outOfOrder())
	switch {
	case o.problem != nil:
		fmt.Printf("not played: %v\n", o.problem)
	case o.completed():
		fmt.Printf("complete after %.1fs\n", o.took.Seconds())
	default:
		fmt.Printf("not complete: %s\n", r.summary())
	}
	if r.overlooked > 0 {
		fmt.Printf("  Argo CD overlooked %d operations or refreshes\n", r.overlooked)
	}
	if r.note != "" {
		fmt.Printf("  %s\n", r.note)
	}
	for _, s := range o.starts {
		if s.OutOfOrder() && r.mode.keepsOrder() {
			fmt.Printf("  out of order at +%.1fs: %s, change %d, before %v\n", s.At.Sub(r.began).Seconds(), s.Application,
				s.Change, s.Behind)
		}
	}
}
