package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/stepgate/stepgate/test/report"
)

// writtenPlay is a rollout in which something hides what dev has deployed, or how that ended.
type writtenPlay struct {
	scenario
	// gates are the modes in which it is played, beside off.
	gates []mode
	// ordered says that it is in order without stepgate, too.
	ordered bool
	// stands says that it is a control, which has to stand still with stepgate.
	stands bool
}

// writtenPlays are all of them. A person syncs the next step in each, as early as he can: without stepgate, that works.
func writtenPlays() []writtenPlay {
	all := []writtenPlay{
		{
			scenario: scenario{
				key: "hidden-dry", title: "a PostSync hook of step 1 fails, and a dry run replaces the result", noRetry: true,
				play: hiddenBy((*rollout).syncDry),
			},
			gates: []mode{on, starting},
		},
		{
			scenario: scenario{
				key: "hidden-one", title: "a PostSync hook of step 1 fails, and a sync of one resource replaces the result", noRetry: true,
				play: hiddenBy((*rollout).syncOne),
			},
			gates: []mode{on, starting},
		},
		{
			scenario: scenario{
				key: "local", title: "somebody syncs manifests of his own to step 1 (`argocd app sync --local`)",
				byHand: "dev", play: localFirst(),
			},
			gates: []mode{on, starting},
		},
		{
			scenario: scenario{
				key: "local-dry", title: "the same, and then a dry run", byHand: "dev", play: localFirst((*rollout).syncDry),
			},
			gates: []mode{on},
		},
		{
			scenario: scenario{
				key: "returned", title: "somebody syncs step 1 back to the commit before while the new one soaks before step 3", play: returned,
			},
			gates: []mode{on, qualified, starting},
		},
		{
			scenario: scenario{
				key: "restarted", title: "stepgate starts anew during a sync of step 1 that leaves something to prune", byHand: "dev",
				play: restarted(),
			},
			gates: []mode{on, starting}, ordered: true,
		},
		{
			scenario: scenario{
				key: "restarted-without", title: "the same, and somebody takes the stamp out of that sync meanwhile", limit: 40 * time.Second,
				byHand: "dev", play: restarted((*rollout).unstamp),
			},
			gates: []mode{on}, ordered: true, stands: true,
		},
	}
	for i := range all {
		all[i].each, all[i].world, all[i].manual = 1, true, true
	}
	return all
}

// TestWrittenDown plays rollouts in which something hides what was deployed.
func TestWrittenDown(t *testing.T) {
	var plays []writtenPlay
	for _, p := range writtenPlays() {
		if len(choose([]scenario{p.scenario}, chosen.scenarios, false)) > 0 {
			plays = append(plays, p)
		}
	}
	if len(plays) == 0 {
		t.Fatalf("no scenario is named %q", chosen.scenarios)
	}
	about := report.Suite{
		Name: "e2e-written", Title: "something hides what step 1 has deployed, or how that ended, without stepgate and with it",
	}
	chosen.run(t, about, []mode{off, on, qualified, starting},
		func(ctx context.Context, _ *testing.T, _ options, s *suite) (string, error) {
			return s.measureWritten(ctx, plays)
		})
}

// measureWritten returns a line with the totals.
func (s *suite) measureWritten(ctx context.Context, plays []writtenPlay) (line string, err error) {
	all := table{}
	for _, p := range plays {
		if all[p.key], err = (player{s, append([]mode{off}, p.gates...), 2}).playOnce(ctx, p.scenario); err != nil {
			return "", err
		}
	}
	s.out.Line("| rollout | gate | starts | out of order | complete after |\n|---|---|---|---|---|")
	var problems []error
	without, with, complete := 0, 0, 0
	for _, p := range plays {
		for _, m := range append([]mode{off}, p.gates...) {
			o := all[p.key][m]
			s.out.Line("| %s (`%s`) | %s | %d | %d | %s |", p.title, p.key, m, len(o.starts), o.outOfOrder(), o.ends(p))
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
	return fmt.Sprintf("e2e-written: argocd=%s rollouts=%d off_out_of_order=%d on_out_of_order=%d on_completed=%d",
		s.argo.Version, len(plays), without, with, complete), errors.Join(problems...)
}

// ends says when a rollout was complete.
func (o *outcome) ends(p writtenPlay) string {
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
func (p writtenPlay) judge(o *outcome) error {
	gated := o.rollout.mode != off
	switch n := o.outOfOrder(); {
	case o.problem != nil:
		return o.problem
	case gated && n > 0:
		return fmt.Errorf("%d starts out of order", n)
	case !gated && !p.ordered && o.outOfOrderAt(hiddenChange) == 0:
		return errors.New("nobody deployed what dev hides without stepgate, so this tests nothing")
	case p.stands && gated == o.completed():
		return fmt.Errorf("complete: %t, so the suite would not notice", o.completed())
	case !p.stands && !o.completed():
		return fmt.Errorf("it did not complete: %s", o.rollout.summary())
	}
	return nil
}

// hiddenChange is the commit that dev has not completed. The installation is change 0.
const hiddenChange = 1

// outOfOrderAt counts the starts of a change before its turn.
func (o *outcome) outOfOrderAt(change int) (n int) {
	for _, s := range o.starts {
		if s.OutOfOrder() && s.Change == change {
			n++
		}
	}
	return n
}

// versionWith gives all members, who share a repository, a new version, in one commit with other files.
func (r *rollout) versionWith(version string, others files) {
	changed := maps.Clone(others)
	for _, m := range r.members {
		m.version = version
		maps.Copy(changed, m.file("Healthy"))
	}
	r.commit(r.members[0].repo, changed)
}
