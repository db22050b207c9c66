// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/stepgate/stepgate/test/script"
)

// trainEvery commits at an interval, and lets Argo CD compare everything each time. It notes how many of the commits
// the last step deployed while that went on. With a commit every second that may be none, whatever the gate does: a
// comparison takes longer.
func trainEvery(interval time.Duration) func(*rollout) {
	return func(r *rollout) {
		if _, last := train(r, interval); r.mode == starting && interval > time.Second && last == 0 {
			script.Fail("the last step deployed nothing while commits landed")
		}
	}
}

// soakingTrain commits more often than the steps soak.
func soakingTrain(r *rollout) {
	set := &argo.ApplicationSet{}
	set.Namespace, set.Name = string(r.mode), r.name
	r.annotateObject(set, prefix+"soak", trainSoak.String())
	second, _ := train(r, 6*time.Second)
	if r.mode.keepsOrder() {
		r.haveSoaked(trainSoak)
	}
	if r.mode == starting && second < 2 {
		script.Fail("the second step deployed %d commits while they landed", second)
	}
}

const trainSoak = 8 * time.Second

// haveSoaked fails unless every revision that a later step has begun to deploy had been deployed and Healthy in the
// earlier ones for that long, by what the API server showed. Argo CD's times are cut to seconds.
func (r *rollout) haveSoaked(soak time.Duration) {
	began, healthy := map[string]map[string]time.Time{}, map[string]map[string]time.Time{}
	installed := sets.New[string]() // before the conditions were set
	for _, env := range []string{"dev", "qa", "prod"} {
		began[env], healthy[env] = map[string]time.Time{}, map[string]time.Time{}
		for _, o := range script.Get(r.recorder.seen(string(r.mode), map[string]bool{r.one(env).name: true})) {
			at := o.Operated.Revision
			if _, known := began[env][at]; !known && at != "" {
				began[env][at] = o.At
			}
			if o.ResourceVersion <= r.since {
				installed.Insert(at)
			}
			if _, known := healthy[env][at]; !known && o.Finished() && o.Health == "Healthy" {
				healthy[env][at] = o.At
			}
		}
	}
	for _, pair := range [][2]string{{"dev", "qa"}, {"qa", "prod"}} {
		for revision, start := range began[pair[1]] {
			proved, known := healthy[pair[0]][revision]
			if installed.Has(revision) {
				continue
			}
			if !known || start.Sub(proved) < soak-time.Second {
				script.Fail("%s began %.7s %s after %s was Healthy with it (%t)", pair[1], revision, start.Sub(proved), pair[0],
					known)
			}
		}
	}
}

// train returns how many commits the last two steps have deployed while they landed.
func train(r *rollout, interval time.Duration) (second, last int) {
	return trainBeside(r, interval, nil, nil)
}

// trainBeside does something else as well, each time that something comes from a channel.
func trainBeside(r *rollout, interval time.Duration, times <-chan time.Time, do func()) (second, last int) {
	r.begin()
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for commit := range r.scenario.rounds {
		r.version(strconv.Itoa(commit+2), r.members)
		r.refreshAtOnce(r.in(backwards()...)...)
		r.refreshOverlooked()
		for landed := true; landed; {
			select {
			case <-r.ctx.Done():
				script.Must(r.ctx.Err())
			case <-times:
				do()
			case <-ticker.C:
				landed = false
			}
		}
	}
	second, last = r.deployedChanges(r.one("qa")), r.deployedChanges(r.one("prod"))
	r.note = fmt.Sprintf("the last step deployed %d of %d commits while they landed, and the one before %d", last,
		r.scenario.rounds, second)
	r.refreshAll(r.in(backwards()...))
	return second, last
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
