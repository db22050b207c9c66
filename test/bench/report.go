// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"text/tabwriter"
	"time"
)

// row is a case of part 1 and its result.
type row struct {
	sampled
	cost
	// counted is the same on the way through the meter. readsSoFar counts the reads, fixed are known without counting.
	counted    func(context.Context) error
	readsSoFar func(context.Context) float64
	fixed      float64
	// like names the case whose reads and bytes are the same, because it is the same decision.
	like string
}

func (r *row) p50() time.Duration { return quantile(r.took, 0.5) }

func (e *experiment) row(siblings int, name string) *row {
	i := slices.IndexFunc(e.rows, func(r *row) bool { return r.siblings == siblings && r.name == name })
	if i < 0 {
		return nil
	}
	return e.rows[i]
}

// worst is the largest ratio of two cases of one size, over all sizes.
func (e *experiment) worst(name, over string) float64 {
	most := 0.0
	for _, r := range e.rows {
		most = max(most, e.ratio(r.siblings, name, over))
	}
	return most
}

// ratio is the p50 of one case of a size over the p50 of another; zero when one was not measured.
func (e *experiment) ratio(siblings int, name, over string) float64 {
	a, b := e.row(siblings, name), e.row(siblings, over)
	if a == nil || b == nil {
		return 0
	}
	return float64(a.p50()) / float64(b.p50())
}

// baselines are the cases that a case is compared with, besides the floor: the slow reader and the write with no
// webhook.
func baselines(r *row) (plain, none string) {
	switch r.name {
	case "write-no-webhook", "write-always-allow", "write-plain", "write-allow", "write-allow-barrier", "write-named",
		"write-pinned":
		return "write-plain", "write-no-webhook"
	case "write-deny", "write-always-deny", "write-held", "write-no-webhook-again":
		return "write-plain", "write-no-webhook-again"
	}
	return "plain", ""
}

// print writes a table for people and a line per case for programs.
func (e *experiment) print() {
	slices.SortStableFunc(e.rows, func(a, b *row) int { return a.siblings - b.siblings })
	for _, r := range e.rows {
		if same := e.row(r.siblings, r.like); same != nil {
			r.reads, r.bytes = same.reads, same.bytes
		}
	}
	e.out.Line("\nfloor, plain, allow and deny are decisions, as the webhook's client sees them; write-* are server " +
		"dry-run merge PATCHes")
	e.out.Line("through the API server. write-named and write-pinned are by the ApplicationSet controller: one names " +
		"its revision and meets the")
	e.out.Line("validating webhook only, the other meets both webhooks and is pinned. write-held is by the controller, " +
		"too. Reads, bytes on the")
	e.out.Line("wire (both ways, with TLS) and CPU time of the API server are per decision.")
	e.out.Line("")
	table := tabwriter.NewWriter(e.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(
		table, "siblings\tcase\tsamples\tp50\tp99\treads\tbytes\tAPI server CPU\tfaster than plain\tover floor\tover no "+
			"webhook\t",
	)
	for _, r := range e.rows {
		plain, none := baselines(r)
		_, _ = fmt.Fprintf(table, "%d\t%s\t%d\t%s\t%s\t%.1f\t%.0f\t%s\t%s\t%s\t%s\t\n", r.siblings, r.name, len(r.took),
			ms(r.p50()), ms(quantile(r.took, 0.99)), r.reads, r.bytes, ms(r.cpu),
			times(e.ratio(r.siblings, plain, r.name)), times(e.ratio(r.siblings, r.name, "floor")),
			times(e.ratio(r.siblings, r.name, none)))
	}
	_ = table.Flush()
	e.out.Line("")
	for _, r := range e.rows {
		plain, _ := baselines(r)
		e.out.Line("bench: siblings=%d case=%s p50=%s p99=%s reads=%.1f bytes=%.0f vs_plain=%.2fx vs_floor=%.2fx",
			r.siblings, r.name,
			ms(r.p50()), ms(quantile(r.took, 0.99)), r.reads, r.bytes, e.ratio(r.siblings, plain, r.name),
			e.ratio(r.siblings, r.name, "floor"))
	}
	for _, siblings := range e.options.siblings {
		e.out.Line("bench: siblings=%d pinned_over_named=%.2fx held_over_denied=%.2fx", siblings,
			e.ratio(siblings, "write-pinned", "write-named"), e.ratio(siblings, "write-held", "write-deny"))
	}
}

// ms rounds to the tenth of a millisecond.
func ms(d time.Duration) string { return fmt.Sprintf("%.1fms", float64(d)/float64(time.Millisecond)) }

func times(ratio float64) string {
	if ratio == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2fx", ratio)
}

// goals compares part 1 with its goals.
func (e *experiment) goals() []goal {
	var growth float64
	if most, least := e.row(5000, "deny"), e.row(10, "deny"); most != nil && least != nil {
		growth = float64(most.p50()) / float64(least.p50())
	}
	var barrier float64
	if most, least := e.row(5000, "write-allow-barrier"), e.row(10, "write-allow-barrier"); most != nil && least != nil {
		barrier = float64(most.p50()) / float64(least.p50())
	}
	return []goal{
		{
			what: "write allowed at 5,000 siblings with the write barrier, p50 over one at 10", measured: barrier, most: 2,
			unit: "x",
		},
		{
			what:     "write allowed at 1,000 siblings with the write barrier, p50 over no webhook",
			measured: e.ratio(1000, "write-allow-barrier", "write-no-webhook"), most: 3.6, unit: "x",
		},
		{
			what: "allow at 1,000 siblings, p50 over the floor", measured: e.ratio(1000, "allow", "floor"), most: 1.5, unit: "x",
		},
		{
			what: "allow at 1,000 siblings, times faster than the plain reader", measured: e.ratio(1000, "plain", "allow"),
			least: 15, unit: "x",
		},
		{
			what:     "write allowed at 1,000 siblings, p50 over no webhook",
			measured: e.ratio(1000, "write-allow", "write-no-webhook"), most: 3.5, unit: "x",
		},
		{
			what:     "write denied, p50 over no webhook, the worst of all sizes",
			measured: e.worst("write-deny", "write-no-webhook-again"), most: 2, unit: "x",
		},
		{what: "deny at 5,000 siblings, p50 over deny at 10", measured: growth, most: 1.5, unit: "x"},
		{
			what:     "write allowed with the pin, p50 over one that needs none, the worst of all sizes",
			measured: e.worst("write-pinned", "write-named"), most: 1.25, unit: "x",
		},
		{
			what: "write held, p50 over one denied, the worst of all sizes", measured: e.worst("write-held", "write-deny"),
			most: 1.1, unit: "x",
		},
	}
}

// goal is a figure to reach: at most, or at least. A measured zero was not measured.
type goal struct {
	what        string
	measured    float64
	most, least float64
	unit        string
}

// String says whether it is reached.
func (g goal) String() string {
	limit, verdict := fmt.Sprintf("at most %g%s", g.most, g.unit), "missed"
	if g.least > 0 {
		limit = fmt.Sprintf("at least %g%s", g.least, g.unit)
	}
	switch {
	case g.measured == 0:
		return fmt.Sprintf("goal: %s: %s: not measured", g.what, limit)
	case g.least > 0 && g.measured >= g.least, g.least == 0 && g.measured <= g.most:
		verdict = "reached"
	}
	return fmt.Sprintf("goal: %s: %s: %.2f%s %s", g.what, limit, g.measured, g.unit, verdict)
}
