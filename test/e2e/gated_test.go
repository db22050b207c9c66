// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stepgate/stepgate/test/report"
)

// gatedPlay is a rollout that is played without a gate and with several.
type gatedPlay struct {
	scenario
	// gates are the modes in which it is played, beside off, and nightly those that are left out of the subset that CI
	// runs.
	gates, nightly []mode
	// ordered says that it is in order without stepgate, too.
	ordered bool
	// stands says that it is a control, which has to stand still with stepgate.
	stands bool
	// hangs says that Argo CD itself may stand still in it without stepgate: judge.Write says how, at remnant.
	hangs bool
}

// playGated plays those that the flags choose, as a suite of its own.
func playGated(t *testing.T, about report.Suite, all []gatedPlay) {
	var plays []gatedPlay
	gates := map[mode]bool{}
	for _, p := range all {
		if len(choose([]scenario{p.scenario}, chosen.scenarios, chosen.quick)) == 0 {
			continue
		}
		if !chosen.quick {
			p.gates = slices.Concat(p.gates, p.nightly)
		}
		plays = append(plays, p)
		for _, m := range p.gates {
			gates[m] = true
		}
	}
	if len(plays) == 0 {
		t.Fatalf("no scenario is named %q", chosen.scenarios)
	}
	modes := append([]mode{off}, slices.Sorted(maps.Keys(gates))...)
	chosen.run(t, about, modes, func(ctx context.Context, _ *testing.T, _ options, s *suite) (string, error) {
		return s.measureGated(ctx, about.Name, plays)
	})
}

// measureGated returns a line with the totals.
func (s *suite) measureGated(ctx context.Context, name string, plays []gatedPlay) (line string, err error) {
	all, unordered := table{}, false
	for _, p := range plays {
		if p.automated != unordered {
			if err := s.ordering(ctx, !p.automated); err != nil {
				return "", err
			}
			unordered = p.automated
		}
		if all[p.key], err = (player{s, append([]mode{off}, p.gates...), 2}).playOnce(ctx, p.scenario); err != nil {
			return "", err
		}
	}
	writes, err := s.audit.writes()
	if err != nil {
		return "", err
	}
	s.out.Line("| rollout | gate | starts | out of order | complete after | held | refused | refreshes by stepgate " +
		"| writes of its Applications | |\n" +
		"|---|---|---|---|---|---|---|---|---|---|")
	var problems []error
	without, with, complete := 0, 0, 0
	for _, p := range plays {
		for _, m := range append([]mode{off}, p.gates...) {
			o := all[p.key][m]
			c := o.counts(writes)
			s.out.Line("| %s (`%s`) | %s | %d | %d | %s | %d | %d | %d | %d | %s |", p.title, p.key, m, len(o.starts), o.outOfOrder(),
				o.ends(p), c.held, c.refusals+c.denials, c.refreshes, c.written, o.rollout.note)
			if problem := p.judge(o); problem != nil {
				problems = append(problems, fmt.Errorf("%s, %s: %w", p.key, m, problem))
			}
			if m == off {
				without += o.outOfOrder()
				continue
			}
			if with += o.outOfOrder(); o.problem == nil && o.completed() {
				complete++
			}
		}
	}
	return fmt.Sprintf("%s: argocd=%s rollouts=%d off_out_of_order=%d on_out_of_order=%d on_completed=%d",
		name, s.argo.Version, len(plays), without, with, complete), errors.Join(problems...)
}

// ends says when a rollout was complete.
func (o *outcome) ends(p gatedPlay) string {
	switch {
	case o.problem != nil:
		return "not played"
	case o.completed():
		return fmt.Sprintf("%.1f s", o.took.Seconds())
	case p.stands && o.rollout.mode != off:
		return "never, as it has to be"
	}
	return "never"
}

// judge wants that everything is in order and complete with stepgate, and that the observer sees the opposite of order
// without. A control has to stand still.
func (p gatedPlay) judge(o *outcome) error {
	gated := o.rollout.mode != off
	switch n := o.outOfOrder(); {
	case !gated && p.hangs && !o.completed():
		return nil
	case o.problem != nil:
		return o.problem
	case gated && n > 0:
		return fmt.Errorf("%d starts out of order", n)
	case !gated && !p.ordered && o.outOfOrderAt(firstChange) == 0:
		return errors.New("nobody deployed the first commit early without stepgate, so this tests nothing")
	case p.stands && gated == o.completed():
		return fmt.Errorf("complete: %t, so the suite would not notice", o.completed())
	case !p.stands && !o.completed():
		return fmt.Errorf("it did not complete: %s", o.rollout.summary())
	}
	return nil
}

// firstChange is the first commit. The installation is change 0.
const firstChange = 1

// outOfOrderAt counts the starts of a change before its turn.
func (o *outcome) outOfOrderAt(change int) (n int) {
	for _, s := range o.starts {
		if s.OutOfOrder() && s.Change == change {
			n++
		}
	}
	return n
}

// ordering restarts Argo CD with progressive syncs or without.
func (s *suite) ordering(ctx context.Context, progressive bool) error {
	if progressive {
		return s.argo.Restart(ctx, quietSettings())
	}
	return s.unordered(ctx)
}
