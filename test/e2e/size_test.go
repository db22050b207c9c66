// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stepgate/stepgate/test/process"
	"github.com/stepgate/stepgate/test/report"
	"github.com/stepgate/stepgate/test/script"
)

// sizeOptions are the flags of the rollouts with many Applications.
type sizeOptions struct {
	parts        string
	applications int
	limit        time.Duration
}

func (o *sizeOptions) register(f *flag.FlagSet) {
	f.StringVar(&o.parts, "size-parts", "one,many,monorepo",
		"what TestSize plays: one large ApplicationSet, many small ones, and a commit to a monorepo")
	f.IntVar(&o.applications, "size-applications", 300, "how many Applications each part of TestSize has, at least 12")
	f.DurationVar(&o.limit, "size-limit", 10*time.Minute, "how long a rollout of TestSize may take")
}

const (
	// mostSlower is by how much a rollout at size may take longer with the gate than without.
	mostSlower = 1.1
	// sizeSlack is a difference that is no slowness where rollouts are short.
	sizeSlack = 5 * time.Second
	// mostOvertaken is the part of the starts, in percent, that may be refused after the mutating webhook has let them
	// through. Where both webhooks see the same, none is.
	mostOvertaken = 1
)

// measureSize plays the parts of TestSize. Its last line has the figures.
func (s *suite) measureSize(ctx context.Context, o sizeOptions) error {
	began := time.Now()
	t := &sizeTotals{out: s.out}
	var problems []error
	for part := range strings.SplitSeq(o.parts, ",") {
		var err error
		switch part {
		case "one":
			err = script.Run(func() { s.playFleets(ctx, o, one(o.applications), t) })
		case "many":
			err = script.Run(func() { s.playFleets(ctx, o, many(o.applications), t) })
		case "monorepo":
			err = script.Run(func() { s.playMonorepo(ctx, o, t) })
		default:
			err = fmt.Errorf("-size-parts: %q is not one of one, many, monorepo", part)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", part, err))
		}
	}
	load, err := process.LoadAverage()
	problems = append(problems, err)
	t.print(s.out, o, time.Since(began), load)
	return errors.Join(append(problems, t.problems...)...)
}

// The orders of the refreshes, as the git server may tell Argo CD about the Applications.
const (
	inNameOrder = "by name"
	lastFirst   = "last step first"
	stepByStep  = "step by step"
)

// refreshOrders are those that are compared with the gate and without.
var refreshOrders = []string{inNameOrder, lastFirst}

// playFleets rolls a commit out through the ApplicationSets of a shape, without the gate and with it in turn.
func (s *suite) playFleets(ctx context.Context, o sizeOptions, sh shape, t *sizeTotals) {
	fleets := map[mode]*fleet{}
	for _, m := range []mode{off, on} {
		fleets[m] = newFleet(ctx, s, sh, m, o.limit)
		fleets[m].prepare()
		defer fleets[m].uninstall()
	}
	s.out.Line("\n%s\n%s", sh.title, sizeHeader)
	// Without the gate, nothing but the order of the refreshes keeps the steps apart: this is how fast it is in order.
	t.add(sh, stepByStep, off, fleets[off].rollOut(stepByStep))
	for _, order := range refreshOrders {
		for _, m := range []mode{off, on} {
			t.add(sh, order, m, fleets[m].rollOut(order))
		}
		if t.isSlow(sh, order) {
			// The machine may have been busy with something else. Twice in a row is not chance.
			for _, m := range []mode{off, on} {
				t.add(sh, order, m, fleets[m].rollOut(order))
			}
		}
	}
	t.judge(sh)
}

// sizeTotals are the results of all parts.
type sizeTotals struct {
	out      *report.Printer
	rollouts []sizeResult
	monorepo []monorepoResult
	problems []error
}

// sizeResult is a rollout of a fleet.
type sizeResult struct {
	shape, order string
	mode         mode
	*fleetOutcome
}

func (t *sizeTotals) add(sh shape, order string, m mode, o *fleetOutcome) {
	t.out.Line("%s", o.row(m, order))
	t.rollouts = append(t.rollouts, sizeResult{sh.key, order, m, o})
}

// took is how long the last rollout of a shape took in a mode.
func (t *sizeTotals) took(sh shape, order string, m mode) time.Duration {
	for _, r := range slices.Backward(t.rollouts) {
		if r.shape == sh.key && r.order == order && r.mode == m {
			return r.took
		}
	}
	return 0
}

// ratio is the time of a rollout with the gate over the time of the same rollout without it.
func (t *sizeTotals) ratio(sh shape, order string) float64 {
	return t.took(sh, order, on).Seconds() / max(t.took(sh, order, off).Seconds(), 0.001)
}

func (t *sizeTotals) isSlow(sh shape, order string) bool {
	return t.ratio(sh, order) > mostSlower && t.took(sh, order, on) > t.took(sh, order, off)+sizeSlack
}

// judge compares the rollouts of a shape. Without the gate, a rollout that starts later steps early may be faster; it
// is compared all the same.
func (t *sizeTotals) judge(sh shape) {
	for _, order := range refreshOrders {
		ordered := t.took(sh, order, on).Seconds() / max(t.took(sh, stepByStep, off).Seconds(), 0.001)
		t.out.Line("%s, refreshed %s: %.2fx of the time without the gate, and %.2fx of that refreshed step by step", sh.key,
			order, t.ratio(sh, order), ordered)
		if t.isSlow(sh, order) {
			t.problems = append(t.problems, fmt.Errorf("%s, refreshed %s: the gate makes it %.2fx as long, twice in a row",
				sh.key, order, t.ratio(sh, order)))
		}
	}
	for _, r := range t.rollouts {
		switch {
		case r.shape != sh.key || r.mode == off:
		case r.early > 0:
			t.problems = append(t.problems, fmt.Errorf("%s, refreshed %s: %d early starts with the gate", r.shape, r.order,
				r.early))
		case r.writes.refused > 0:
			t.problems = append(t.problems, fmt.Errorf("%s, refreshed %s: %d refused writes", r.shape, r.order,
				r.writes.refused))
		case r.writes.overtaken > max(1, r.starts*mostOvertaken/100):
			t.problems = append(t.problems, fmt.Errorf("%s, refreshed %s: the two webhooks differed in %d of %d starts",
				r.shape, r.order, r.writes.overtaken, r.starts))
		}
	}
}
