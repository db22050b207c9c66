package e2e

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/stepgate/stepgate/test/script"
)

// trainEvery commits at an interval, and lets Argo CD compare everything each time. It notes how many of the commits
// the last step deployed while that went on. With a commit every second that may be none, whatever the gate does: the
// ApplicationSet controller of Argo CD v3.5.7 starts the last step only while it has all steps before recorded as
// Healthy, and a new commit ends that for all of them.
func trainEvery(interval time.Duration) func(*rollout) {
	return func(r *rollout) { train(r, interval) }
}

func train(r *rollout, interval time.Duration) {
	r.begin()
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for commit := range r.scenario.rounds {
		r.version(strconv.Itoa(commit+2), r.members)
		r.refreshAtOnce(r.in(backwards()...)...)
		r.refreshOverlooked()
		select {
		case <-r.ctx.Done():
			script.Must(r.ctx.Err())
		case <-ticker.C:
		}
	}
	deployed := r.deployedChanges(r.one("prod"))
	if r.mode == proven && interval > time.Second && deployed == 0 {
		script.Fail("the last step deployed nothing while commits landed")
	}
	r.note = fmt.Sprintf("the last step deployed %d of %d commits while they landed", deployed, r.scenario.rounds)
	r.refreshAll(r.in(backwards()...))
}

// deployedChanges counts the changes that a member has deployed since the rollout began, without the one that it had at
// that time: it still shows this as its last operation.
func (r *rollout) deployedChanges(m *member) int {
	before, since := sets.New[string](), sets.New[string]()
	for _, o := range script.Get(r.recorder.seen(string(r.mode), map[string]bool{m.name: true})) {
		switch {
		case !o.Finished():
		case o.ResourceVersion > r.since:
			since.Insert(o.Operated.Revision)
		default:
			before.Insert(o.Operated.Revision)
		}
	}
	return since.Difference(before).Len()
}

// busyMonorepo commits something every second that touches none of the Applications, and lets Argo CD compare them in
// another order each time. In the middle, one commit touches all: it has to be deployed everywhere while the others
// land.
func busyMonorepo(r *rollout) {
	r.begin()
	repo := r.members[0].repo
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	var touched time.Time
	took := time.Duration(0)
	all := orders()
	for round := range r.scenario.rounds {
		if round == r.scenario.rounds/2 {
			touched = time.Now()
			r.version("2", r.members)
		} else {
			r.commit(repo, files{"others/file": strconv.Itoa(round)})
		}
		r.refreshAtOnce(r.in(all[round%len(all)]...)...)
		if took == 0 && !touched.IsZero() && !slices.ContainsFunc(r.members, func(m *member) bool {
			return r.deployed(m) != "2"
		}) {
			took = time.Since(touched)
		}
		r.refreshOverlooked()
		select {
		case <-r.ctx.Done():
			script.Must(r.ctx.Err())
		case <-ticker.C:
		}
	}
	if took == 0 && r.mode == on {
		script.Fail("the commit that touches all was not deployed everywhere while others landed: %s", r.summary())
	}
	r.note = fmt.Sprintf(
		"the commit that touches all was deployed everywhere after %.0f s (0: not at all), while others landed", took.Seconds(),
	)
	r.refreshAll(r.in(backwards()...))
}
