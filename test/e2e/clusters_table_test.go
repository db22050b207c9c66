// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"time"

	"github.com/stepgate/stepgate/test/report"
)

// clusterResult is a clusterPlay that was played without the gate and with it.
type clusterResult struct {
	clusterPlay
	outcomes map[mode]*outcome
}

// printClusters prints a table and a line, and says what may not be. barrier says that Argo CD alone may start nothing
// out of order.
func printClusters(out *report.Printer, results []*clusterResult, writes []write, barrier bool) error {
	if len(results) == 0 {
		return nil
	}
	out.Line("| rollout | clocks | starts off / on | out of order off / on | seconds off / on | held | refreshes |")
	out.Line("|---|---|---|---|---|---|---|")
	var problems []error
	early, offEarly, completed, skewed := 0, 0, 0, 0
	for _, r := range results {
		without, with := r.outcomes[off], r.outcomes[on]
		a, b := without.row(writes), with.row(writes)
		out.Line("| %s (`%s`) | %s | %d / %d | %s / %s | %s / %s | %s | %s |", r.title, r.key, r.clocks(),
			len(without.starts), len(with.starts), a.outOfOrder, b.outOfOrder, a.took, b.took, b.held, b.refreshes)
		offEarly, early = offEarly+without.outOfOrder(), early+with.outOfOrder()
		if with.completed() {
			completed++
		} else {
			problems = append(problems, fmt.Errorf("%s did not complete with the gate: %s", r.key, with.rollout.summary()),
				with.problem)
		}
		if r.skewed() {
			skewed++
		}
		problems = append(problems, r.checkClocks())
	}
	out.Line("\ne2e-clusters: rollouts=%d skewed=%d off_out_of_order=%d on_out_of_order=%d on_completed=%d", len(results),
		skewed, offEarly, early, completed)
	if early > 0 {
		problems = append(problems, fmt.Errorf("two clusters: %d starts out of order with the gate", early))
	}
	// One rollout alone may go in order by chance.
	if offEarly == 0 && len(results) > 1 && !barrier {
		problems = append(
			problems, errors.New("two clusters: nothing went out of order without the gate, so this run tests nothing"),
		)
	}
	return errors.Join(problems...)
}

func (p clusterPlay) skewed() bool {
	for _, s := range p.shards {
		if s.Ahead != 0 {
			return true
		}
	}
	return false
}

// clocks are the shards and their clocks, as text.
func (p clusterPlay) clocks() string {
	switch {
	case len(p.shards) == 0:
		return "one process"
	case !p.skewed():
		return "two shards, the same time"
	}
	text := ""
	for i, s := range p.shards {
		if s.Ahead != 0 {
			text += fmt.Sprintf("shard %d %+d s", i, int(s.Ahead.Seconds()))
		}
	}
	return text
}

// clockError bounds the error of a clock that is read from the times of Applications: they have whole seconds, and on a
// busy machine they are seen late.
const clockError = 3 * time.Second

// checkClocks asks that the last comparison of an Application has its time from the clock that its shard should have.
// If it had not, the play would say nothing about clocks.
func (r *clusterResult) checkClocks() error {
	var problems []error
	for _, o := range r.outcomes {
		for i, s := range r.shards {
			most, read := time.Duration(-1<<62), map[string][]time.Duration{}
			for _, m := range o.rollout.members {
				if m.remote != (i == remoteShard) {
					continue
				}
				if all := o.rollout.recorder.clock(string(o.rollout.mode), m.name, o.ended); len(all) > 0 {
					most, read[m.name] = max(most, all[len(all)-1]), all
				}
			}
			if most > s.Ahead || most < s.Ahead-clockError {
				problems = append(problems, fmt.Errorf("%s, %s: the clock of shard %d should be %s ahead; its Applications say %v",
					r.key, o.rollout.mode, i, s.Ahead, read))
			}
		}
	}
	return errors.Join(problems...)
}
