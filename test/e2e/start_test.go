// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/stepgate/stepgate/test/argocd"
	"github.com/stepgate/stepgate/test/e2e/observer"
	"github.com/stepgate/stepgate/test/report"
	"github.com/stepgate/stepgate/test/script"
)

// startPlay is a rollout of which Argo CD may leave something undone.
type startPlay struct {
	scenario
	// shards are how the application controller runs, and unordered leaves the syncs to it.
	shards    []argocd.Shard
	unordered bool
	// from is the oldest version of Argo CD with which it completes; empty if that is any.
	from string
	// train says that commits land while it goes on, and steady that every step has to go on then.
	train, steady bool
}

// startPlays are all of them. They are played with the gate, and with one that starts what is due.
func startPlays() []startPlay {
	short := 40 * time.Second
	all := []startPlay{
		{scenario: scenario{key: "start-train", title: "a commit every 6 s for 3 minutes, 8 s of soak before every step", rounds: 30, play: steadyTrain}, train: true, steady: true},
		{scenario: scenario{key: "start-bad", title: "the same for a minute, and the fourth commit is bad in step 1", rounds: 10, play: badInTheTrain}, train: true},
		{scenario: scenario{key: "start-approved", title: "an approval of a commit that three others have overtaken", play: approvedAndOvertaken}, train: true},
		{scenario: scenario{key: "start-commit", title: "a commit; all refreshed at once", each: 3, play: commitRefreshedAtOnce}},
		{scenario: scenario{key: "start-template", title: "a change of the template that finds everything Synced (argo-cd 27949)", limit: short, play: respecified}},
		{scenario: scenario{key: "start-prune", title: "a commit that removes what nobody prunes in step 1", limit: short, play: pruneOnly}, from: "v3.3.0"},
		{scenario: scenario{key: "start-failed", title: "the sync of step 1 fails, and a new commit mends it", noRetry: true, play: failed}},
		{scenario: scenario{key: "start-sixty", title: "60 Applications, maxUpdate 5, a commit", each: 20, maxUpdate: 5, limit: 5 * time.Minute, setup: 10 * time.Minute, play: commitRefreshedAtOnce}},
		{scenario: scenario{key: "start-skew-3", title: "two commits, one right after the other; the shard of step 2 is 3 s ahead", limit: short, layout: alternate, template: byName, play: oneAfterTheOther}, shards: ahead(0, 3)},
		{scenario: scenario{key: "start-skew-30", title: "the same, 30 s ahead", limit: short, layout: alternate, template: byName, play: oneAfterTheOther}, shards: ahead(0, 30)},
		{scenario: scenario{key: "start-auto", title: "automated sync: a commit every 6 s for a minute, 8 s of soak", automated: true, template: both(inProject, selfHealing), rounds: 10, play: steadyTrain}, unordered: true, train: true},
		{scenario: scenario{key: "start-unended", title: "automated sync: the last sync has no end, and a commit lands (argo-cd 29636)", automated: true, limit: short, template: both(inProject, automatic), play: unended}, unordered: true},
		{scenario: scenario{key: "start-paths", title: "automated sync: a commit that touches nobody overtakes one that waits (argo-cd 27875)", automated: true, limit: short, template: both(inProject, automatic), set: ownPaths, play: overtakenElsewhere}, unordered: true},
	}
	for i := range all {
		all[i].each, all[i].world = max(all[i].each, 1), true
	}
	return all
}

// TestStart plays what Argo CD may leave undone, with a gate that starts what is due and with one that does not.
func TestStart(t *testing.T) {
	var plays []startPlay
	for _, p := range startPlays() {
		if len(choose([]scenario{p.scenario}, chosen.scenarios, false)) > 0 {
			plays = append(plays, p)
		}
	}
	if len(plays) == 0 {
		t.Fatalf("no scenario is named %q", chosen.scenarios)
	}
	about := report.Suite{
		Name: "e2e-start", Title: "what Argo CD leaves undone, with a gate that starts what is due and with one that does not",
	}
	chosen.run(t, about, []mode{on, candidate, starting},
		func(ctx context.Context, _ *testing.T, _ options, s *suite) (string, error) {
			return s.measureStarts(ctx, plays)
		})
}

// modes are those that a play is played in, beside starting.
func (p startPlay) modes() []mode {
	if p.unordered {
		return []mode{on, candidate, starting} // with automated sync, older ones are deployed without start, too
	}
	return []mode{on, starting}
}

// measureStarts returns a line with the totals.
func (s *suite) measureStarts(ctx context.Context, plays []startPlay) (line string, err error) {
	if slices.ContainsFunc(plays, func(p startPlay) bool { return p.shards != nil }) {
		if err := s.startRemote(ctx, []mode{on, starting}); err != nil {
			return "", fmt.Errorf("the second cluster: %w", err)
		}
	}
	all, usual := table{}, true
	for _, p := range plays {
		settings := quietSettings()
		settings.Shards, settings.Unordered = p.shards, p.unordered
		if special := p.shards != nil || p.unordered; special || !usual {
			if err := s.argo.Restart(ctx, settings); err != nil {
				return "", err
			}
			usual = !special
		}
		outcomes, err := player{s, p.modes(), 2}.playOnce(ctx, p.scenario)
		if err != nil {
			return "", err
		}
		all[p.key] = outcomes
	}
	writes, err := s.audit.writes()
	if err != nil {
		return "", err
	}
	s.printStarts(plays, all, writes)
	return startTotals(s.argo.Version, plays, all), judgeStarts(s.argo.Version, plays, all)
}

// startTotals is a line with the rollouts, those that completed without start and with it, and the starts out of order.
func startTotals(version string, plays []startPlay, all table) string {
	complete, outOfOrder := map[mode]int{}, 0
	for _, p := range plays {
		for m, o := range all[p.key] {
			outOfOrder += o.outOfOrder()
			if o.problem == nil && o.completed() {
				complete[m]++
			}
		}
	}
	return fmt.Sprintf("e2e-start: argocd=%s rollouts=%d on_completed=%d starting_completed=%d out_of_order=%d", version,
		len(plays), complete[on], complete[starting], outOfOrder)
}

// printStarts prints two tables: of the trains, and of the others.
func (s *suite) printStarts(plays []startPlay, all table, writes []write) {
	s.out.Line("| train | gate | commits | deployed in dev / qa / prod | first in qa / prod | then longest without, in " +
		"qa / prod | oldest in prod | out of order | complete after |\n|---|---|---|---|---|---|---|---|---|")
	for _, p := range plays {
		for _, m := range p.modes() {
			if o := all[p.key][m]; p.train && o.problem == nil {
				t := o.onTheTrain()
				s.out.Line("| %s (`%s`) | %s | %d | %d / %d / %d | %s / %s | %s / %s | %s | %d | %s s |", p.title, p.key, m,
					len(o.rollout.changedAt)-1, t["dev"].deployed, t["qa"].deployed, t["prod"].deployed, whole(t["qa"].first),
					whole(t["prod"].first), whole(t["qa"].longest), whole(t["prod"].longest), whole(t["prod"].oldest),
					o.outOfOrder(), o.row(writes).took)
			}
		}
	}
	s.out.Line("\n| rollout | gate | complete after | out of order | syncs that stepgate started | refreshes by " +
		"stepgate, of each Application | at once | from the last blocker done to the start: starts, p50, p99 |\n|---|---|---|---|---|---|---|---|")
	for _, p := range plays {
		for _, m := range p.modes() {
			o := all[p.key][m]
			switch {
			case p.train:
				continue
			case o.problem != nil:
				s.out.Line("| %s (`%s`) | %s | stands still | | | | | |", p.title, p.key, m)
				continue
			}
			c, waits := o.counts(writes), o.waits()
			s.out.Line("| %s (`%s`) | %s | %s s | %d | %d | %.1f | %d | %d, %.2f s, %.2f s |", p.title, p.key, m,
				o.row(writes).took, o.outOfOrder(), c.starts, float64(c.refreshes)/float64(len(o.rollout.members)),
				o.atOnce.top(), len(waits),
				percentile(waits, 50).Seconds(), percentile(waits, 99).Seconds())
		}
	}
}

// judgeStarts wants that nothing starts early with a gate, that everything completes with one that starts, and no more
// at a time than maxUpdate says.
func judgeStarts(argoCD string, plays []startPlay, all table) error {
	var problems []error
	for _, p := range plays {
		for m, o := range all[p.key] {
			if o.problem != nil && m == starting {
				problems = append(problems, fmt.Errorf("%s, %s: %w", p.key, m, o.problem))
			}
			if n := o.outOfOrder(); n > 0 {
				problems = append(problems, fmt.Errorf("%s, %s: %d starts out of order", p.key, m, n))
			}
		}
		switch o := all[p.key][starting]; {
		case o.problem != nil:
		case !o.completed() && p.from != "" && version.MustParse(argoCD).LessThan(version.MustParse(p.from)):
		case !o.completed():
			problems = append(problems, fmt.Errorf("%s did not complete: %s", p.key, o.rollout.summary()))
		case o.atOnce.over() > 0:
			problems = append(problems, fmt.Errorf("%s: %d at once, and maxUpdate is %d", p.key, o.atOnce.top(), p.maxUpdate))
		case p.steady:
			problems = append(problems, o.keepsUp())
		}
	}
	return errors.Join(problems...)
}

// whole is a time in whole seconds.
func whole(d time.Duration) string { return fmt.Sprintf("%.0f s", d.Seconds()) }

// deployment is the end of a sync of a member, at a revision.
type deployment struct {
	at       time.Time
	revision string
}

// deployments are those of a member since the rollout began, each revision once.
func (r *rollout) deployments(m *member) []deployment {
	var all []deployment
	for _, o := range script.Get(r.recorder.seen(string(r.mode), map[string]bool{m.name: true})) {
		if !o.Finished() || o.ResourceVersion <= r.since || len(all) > 0 && all[len(all)-1].revision == o.Operated.Revision {
			continue
		}
		if revision := o.Operated.Revision; r.landedAt(m, revision) > 0 {
			all = append(all, deployment{o.At, revision})
		}
	}
	return all
}

// landedAt is the number of the change that brought a revision of a member; 0 is the installation.
func (r *rollout) landedAt(m *member, revision string) int {
	return max(0, slices.IndexFunc(m.changes, func(s observer.State) bool { return s.Revision == revision }))
}

// ride is what a step did while commits landed.
type ride struct {
	deployed int
	// first is when it deployed something for the first time, and longest the longest time without a deployment after
	// that. oldest is how old the commit was that it ran, at the most: since the next one had landed.
	first, longest, oldest time.Duration
}

// onTheTrain is what each step did, by its environment.
func (o *outcome) onTheTrain() map[string]ride {
	r, rides := o.rollout, map[string]ride{}
	began, last := r.changedAt[1], r.changedAt[len(r.changedAt)-1]
	for _, env := range environments {
		m, x, before, running := r.one(env), ride{}, time.Time{}, 0
		old := func(at time.Time) {
			if running+1 < len(r.changedAt) {
				x.oldest = max(x.oldest, at.Sub(r.changedAt[running+1]))
			}
		}
		for _, d := range r.deployments(m) {
			if d.at.After(last) {
				break
			}
			old(d.at)
			if x.deployed++; x.deployed == 1 {
				x.first = d.at.Sub(began)
			} else {
				x.longest = max(x.longest, d.at.Sub(before))
			}
			before, running = d.at, r.landedAt(m, d.revision)
		}
		old(last)
		if x.deployed > 0 {
			x.longest = max(x.longest, last.Sub(before))
		}
		rides[env] = x
	}
	return rides
}

// trainGap is how long a step may be without a deployment while commits land, where what is due is started, and
// trainStart how long it may take to the first one, for every step before.
const (
	trainGap   = 20 * time.Second
	trainStart = 16 * time.Second
)

// keepsUp says how a step fell behind that was started; nil if none did.
func (o *outcome) keepsUp() error {
	var problems []error
	rides := o.onTheTrain()
	for i, env := range []string{"qa", "prod"} {
		if x := rides[env]; x.deployed == 0 || x.longest > trainGap || x.first > time.Duration(i+1)*trainStart {
			problems = append(problems, fmt.Errorf("%s deployed %d commits, the first one after %s, and then nothing for %s",
				env, x.deployed, x.first, x.longest))
		}
	}
	return errors.Join(problems...)
}

// steadyTrain commits more often than the steps soak. With start, the later steps go on all the time.
func steadyTrain(r *rollout) {
	set := &argo.ApplicationSet{}
	set.Namespace, set.Name = string(r.mode), r.name
	r.annotateObject(set, prefix+"soak", trainSoak.String())
	train(r, 6*time.Second)
	r.haveSoaked(trainSoak)
}

// badInTheTrain lets one of the commits make dev Degraded. Nobody else may ever run it, and the train goes on.
func badInTheTrain(r *rollout) {
	set := &argo.ApplicationSet{}
	set.Namespace, set.Name = string(r.mode), r.name
	r.annotateObject(set, prefix+"soak", trainSoak.String())
	r.begin()
	ticker := time.NewTicker(6 * time.Second)
	defer ticker.Stop()
	bad := ""
	for commit := range r.scenario.rounds {
		version := strconv.Itoa(commit + 2)
		if commit == 3 {
			r.versionAs(version, r.members, "Degraded", r.one("dev"))
			bad = r.one("dev").revision
		} else {
			r.version(version, r.members)
		}
		r.refreshAtOnce(r.in(backwards()...)...)
		r.refreshOverlooked()
		select {
		case <-r.ctx.Done():
			script.Must(r.ctx.Err())
		case <-ticker.C:
		}
	}
	r.refreshAll(r.in(backwards()...))
	r.complete()
	for _, env := range []string{"qa", "prod"} {
		for _, d := range r.deployments(r.one(env)) {
			if d.revision == bad {
				script.Fail("%s deployed the bad commit", env)
			}
		}
	}
}

// approvedAndOvertaken approves a commit for the last step after three others have landed. With start it is deployed
// all the same, before the approval of the newest one.
func approvedAndOvertaken(r *rollout) {
	set := &argo.ApplicationSet{}
	set.Namespace, set.Name = string(r.mode), r.name
	r.annotateObject(set, prefix+"approve", "3")
	r.begin()
	qa, prod := r.one("qa"), r.one("prod")
	first := ""
	for commit := range 4 {
		r.version(strconv.Itoa(commit+2), r.members)
		if first == "" {
			first = prod.revision
		}
		r.refresh(r.in(backwards()...)...)
		r.untilNewest(qa)
		r.pause(8 * time.Second) // until qa was found Healthy with it
	}
	r.annotateObject(set, prefix+"approved", "3@"+first)
	err := r.wait(20*time.Second, func() bool { return r.deployed(prod) == "2" })
	if err != nil && r.mode == starting {
		script.Fail("what was approved was not deployed: %s", r.summary())
	}
	r.note = fmt.Sprintf("the approved commit was deployed: %t", err == nil)
	r.annotateObject(set, prefix+"approved", "3@"+prod.revision)
}

// respecified changes every spec, to deploy a folder that is there already: no revision changes.
func respecified(r *rollout) {
	ahead := files{}
	for _, m := range r.members {
		next := *m
		next.path, next.version = m.name+"/two", "2"
		maps.Copy(ahead, next.file("Healthy"))
	}
	r.commit(r.members[0].repo, ahead)
	r.refreshAll(r.members)
	r.untilEach("the commit", r.members, (*member).atNewest)
	r.begin()
	for _, m := range r.members {
		m.path, m.version = m.name+"/two", "2"
	}
	r.edit(nil)
	r.changed()
}

// oneAfterTheOther rolls a commit out, and the next one as soon as that is complete.
func oneAfterTheOther(r *rollout) {
	r.begin()
	r.version("2", r.members)
	r.refresh(r.in(backwards()...)...)
	r.until("the first commit everywhere", r.isComplete)
	r.version("3", r.members)
	r.refreshAtOnce(r.in(backwards()...)...)
}
