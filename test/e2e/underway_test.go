// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"maps"
	"strconv"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"

	"github.com/stepgate/stepgate/test/argocd"
	"github.com/stepgate/stepgate/test/e2e/observer"
	"github.com/stepgate/stepgate/test/script"
)

// overtaking are the scenarios in which a commit lands after a sync was admitted and before it is done.
func overtaking() []scenario {
	return []scenario{
		{
			key: "under-way", title: "commits that land when an operation of a later step appears", each: 3, world: true, quick: true,
			rounds: 30, quickRounds: 3, play: underWay,
		},
		{
			key: "retry", title: "a sync of step 3 fails and is retried; a commit lands before it succeeds", each: 1, world: true, quick: true,
			template: retried, twice: true, play: retry,
		},
		{
			key: "window", title: "a sync of step 3 waits for its sync window; a commit lands before it opens", each: 1, world: true, quick: true,
			layout: ownProject, template: inOwnProject, twice: true, play: window,
		},
		{
			key: "train", title: "a commit every second, for a minute", each: 1, world: true, beside: []mode{starting}, rounds: 60, play: trainEvery(time.Second),
		},
		{
			key: "train-3s", title: "a commit every three seconds, for a minute", each: 1, world: true, beside: []mode{starting}, rounds: 20,
			play: trainEvery(3 * time.Second),
		},
		{
			key: "train-soak", title: "a commit every six seconds for 90 s, and 8 s of soak before every step", each: 1, world: true,
			beside: []mode{starting}, rounds: 15, play: soakingTrain,
		},
		{
			key: "monorepo", title: "a commit of others every second, for two minutes, and one in the middle that touches all", each: 1, world: true,
			rounds: 120, play: busyMonorepo,
		},
	}
}

// underWay lands the next commit at the moment in which an operation of a later step appears, again and again. The
// operation was admitted for the commit before.
func underWay(r *rollout) {
	r.begin()
	later := r.in("qa", "prod")
	r.version("2", r.members)
	for round := range r.scenario.rounds {
		next := r.prepareVersion(strconv.Itoa(round + 3))
		m := later[round%len(later)]
		started := r.recorder.nextStart(string(r.mode), m.name)
		r.refreshAtOnce(r.in(backwards()...)...)
		r.untilStarted(started)
		r.land(next)
	}
	r.refreshAll(r.in(backwards()...))
}

// prepared is a commit that no branch has yet, with a new version of every member.
type prepared struct{ version, revision string }

// prepareVersion prepares a commit of all members, which share a repository.
func (r *rollout) prepareVersion(version string) prepared {
	changed := files{}
	for _, m := range r.members {
		next := *m
		next.version = version
		maps.Copy(changed, next.file("Healthy"))
	}
	return prepared{version, script.Get(r.members[0].repo.Prepare(argocd.Main, changed))}
}

func (r *rollout) land(p prepared) {
	repo := r.members[0].repo
	script.Must(repo.Land(argocd.Main, p.revision))
	for _, m := range r.members {
		m.version = p.version
	}
	r.landed(branch{repo, argocd.Main}, p.revision)
	r.changed()
}

// untilStarted waits until an operation appears, or there is nothing more to start. It looks again as soon as the
// operation appears, because the application controller takes it up within milliseconds.
func (r *rollout) untilStarted(started <-chan struct{}) {
	ticker, limit := time.NewTicker(pollEvery), time.NewTimer(r.scenario.within())
	defer ticker.Stop()
	defer limit.Stop()
	asked := time.Now()
	for {
		select {
		case <-started:
			return
		case <-r.ctx.Done():
			script.Must(r.ctx.Err())
		case <-limit.C:
			script.Fail("no operation appeared: %s", r.summary())
		case <-ticker.C:
			if r.isComplete() {
				return
			}
			asked = r.refreshBehind(r.members, asked)
		}
	}
}

// refreshAll asks Argo CD to compare members until each has been compared with the newest change.
func (r *rollout) refreshAll(members []*member) {
	var asked time.Time
	r.until("a comparison with the newest change", func() bool {
		r.refreshOverlooked()
		asked = r.refreshBehind(members, asked)
		return len(r.behind(members)) == 0
	})
}

// refreshBehind asks again for the members that were not compared with the newest change, when it is time to. It
// returns when it last asked: Argo CD v3.5.7 may drop a refresh that is asked for while it compares.
func (r *rollout) refreshBehind(members []*member, asked time.Time) time.Time {
	if time.Since(asked) < refreshWithin {
		return asked
	}
	r.refreshAtOnce(r.behind(members)...)
	return time.Now()
}

// behind are the members that were not compared with the newest change.
func (r *rollout) behind(members []*member) []*member {
	var behind []*member
	for _, m := range members {
		if app := r.live(m); app == nil || comparedWith(app) != m.newest() {
			behind = append(behind, m)
		}
	}
	return behind
}

// comparedWith is the state that an Application was last compared with.
func comparedWith(app *argo.Application) observer.State {
	seen, _ := observer.Observe(app, false, time.Time{})
	return seen.Compared
}
