// SPDX-License-Identifier: Apache-2.0

package history

import (
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"pgregory.net/rapid"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
)

// stamped is done with a stamp, Healthy since a time.
func stamped(revision string, finished, healthy int, ran ...string) *argocd.Projection {
	p := done(revision, finished)
	p.Stamped = true
	p.Application.HealthSince, p.Application.LastSync.Since = second(healthy), second(finished)
	for _, r := range ran {
		p.Application.Ran = append(p.Application.Ran, at(r)...)
	}
	return p
}

// with changes a state.
func with(p *argocd.Projection, change func(p *argocd.Projection)) *argocd.Projection {
	change(p)
	return p
}

// TestWhatMayHaveHappenedHasHappened: of what was kept, only that counts which the Application shows to hold still.
func TestWhatMayHaveHappenedHasHappened(t *testing.T) {
	b := func() *argocd.Projection { return stamped("b", 20, 10, "a", "b") }
	next := func() *argocd.Projection { return stamped("c", 30, 10, "a", "b", "c") }
	for name, tc := range map[string]struct {
		now    *argocd.Projection
		want   []string
		broken int
	}{
		"nothing has happened":                          {b(), []string{"a", "b"}, 0},
		"it has gone on":                                {next(), []string{"a", "b", "c"}, 0},
		"it became Healthy anew":                        {stamped("b", 20, 25, "a", "b"), []string{"a", "b"}, 26},
		"it has gone on, and was not Healthy meanwhile": {stamped("c", 30, 31, "a", "b", "c"), []string{"a", "b?", "c"}, 32},
		"it is Progressing": {with(next(), func(p *argocd.Projection) {
			p.Application.Health, p.Application.HealthSince = "Progressing", second(31)
		}), []string{"a", "b?"}, 2000},
		"it is Degraded": {with(b(), func(p *argocd.Projection) {
			p.Application.Health, p.Application.HealthSince = "Degraded", second(31)
		}), []string{"a"}, 2000},
		"a sync has failed meanwhile":   {with(next(), func(p *argocd.Projection) { p.Failed = second(25) }), []string{"c"}, 2000},
		"a sync has failed before":      {with(next(), func(p *argocd.Projection) { p.Failed = second(15) }), []string{"a", "b", "c"}, 0},
		"nobody knows, without a stamp": {with(next(), func(p *argocd.Projection) { p.Stamped = false }), []string{"c"}, 2000},
		"it has gone back":              {stamped("a", 30, 10, "a", "b", "a"), []string{"a"}, 2000},
		"it has gone back, and on":      {stamped("c", 40, 10, "a", "b", "a", "c"), []string{"c"}, 2000},
		"its history is short":          {stamped("c", 40, 10, "c"), []string{"c"}, 2000},
		"its history reaches back to another time": {with(stamped("c", 50, 10, "b", "c"), func(p *argocd.Projection) {
			p.Oldest, p.Newest = 3, 4
		}), []string{"c"}, 2000},
		"other parameters": {with(b(), func(p *argocd.Projection) { p.Content.Parameters = "others" }), []string{"b"}, 0},
		"its sync is under way": {with(next(), func(p *argocd.Projection) {
			p.Application.OperationSet, p.Deploys = true, at("c")
		}), []string{"a", "b"}, 0},
		"it is going back": {with(next(), func(p *argocd.Projection) {
			p.Application.OperationSet, p.Deploys = true, at("a")
		}), []string{"a"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			kept := after(stamped("a", 10, 10, "a"), b()).Kept(second(1100))
			r, _ := (*Record)(nil).Next(tc.now, Event{Position: 1, At: second(2000), Kept: &kept})
			var all []string
			for _, c := range r.Past(0, 0).Completions {
				revision := c.Sources[0].Revision
				if c.Doubted {
					revision += "?"
				}
				all = append(all, revision)
				g.Expect(c.From).To(BeZero(), "positions are of one process")
			}
			g.Expect(all).To(Equal(tc.want))
			want := time.Time{}
			if tc.broken > 0 {
				want = second(tc.broken)
			}
			g.Expect(r.Past(0, 0).Broken).To(Equal(want))
		})
	}
}

// TestWhatWasLeftBehindIsKept: who deploys what he was compared with, and never deployed, before what he has completed, goes
// back.
func TestWhatWasLeftBehindIsKept(t *testing.T) {
	before := with(stamped("a", 10, 10, "a"), func(p *argocd.Projection) {
		p.Application.Compared, p.Application.SyncStatus = at("b"), "OutOfSync"
	})
	kept := after(before, stamped("c", 20, 10, "a", "c")).Kept(second(1100))
	now := with(stamped("b", 40, 10, "a", "c", "b"), func(p *argocd.Projection) {
		p.Application.ReconciledAt = second(39) // nothing has shown yet what came of it
	})
	r, _ := (*Record)(nil).Next(now, Event{Position: 1, At: second(2000), Kept: &kept})
	NewWithT(t).Expect(completed(r)).To(BeEmpty())
}

// TestWhatIsAroundChangesUnseen: what was completed elsewhere is Altered.
func TestWhatIsAroundChangesUnseen(t *testing.T) {
	kept := after(stamped("a", 10, 10, "a"), stamped("b", 20, 10, "a", "b")).Kept(second(1100))
	moved := with(stamped("b", 20, 10, "a", "b"), func(p *argocd.Projection) { p.Content = content("b", "there") })
	r, _ := (*Record)(nil).Next(moved, Event{Position: 1, At: second(2000), Kept: &kept})
	NewWithT(t).Expect(r.Past(0, 0).Completions[0].Altered).To(BeTrue())
}

// TestAFollowerTakesWhatItMissed: what the own watch knows stays as it is.
func TestAFollowerTakesWhatItMissed(t *testing.T) {
	g := NewWithT(t)
	now := stamped("b", 20, 10, "a", "b")
	kept := after(stamped("a", 10, 10, "a"), now).Kept(second(1100))
	own := after(now)
	g.Expect(completed(own)).To(Equal([]string{"b"}))
	followed := own.Follow(&kept, now, second(2000))
	g.Expect(completed(followed)).To(Equal([]string{"a", "b"}))
	g.Expect(followed.Past(0, 0).Completions[1]).To(Equal(own.Past(0, 0).Completions[0]))

	knows := after(stamped("z", 5, 5, "z"), now)
	g.Expect(completed(knows.Follow(&kept, now, second(2000)))).To(Equal([]string{"z", "b"}), "which the other does not")
}

// life is an Application that somebody syncs to some revisions, forward, back or without success, while its health changes.
type life struct {
	now    int
	states []*argocd.Projection
	ran    []string
	// number is that of the newest entry of a history of limit.
	number, limit int64
	failed        time.Time
}

func (l *life) see(p *argocd.Projection) {
	app := &p.Application
	p.Stamped, p.Failed = true, l.failed
	app.Ran = nil
	p.Oldest, p.Newest = max(0, l.number-l.limit+1), l.number
	for _, r := range l.ran[max(0, len(l.ran)-int(l.limit)):] {
		app.Ran = append(app.Ran, at(r)...)
	}
	l.states = append(l.states, p)
}

// act draws the next thing that happens, of which the watch sees each state.
func (l *life) act(t *rapid.T) {
	l.now += rapid.IntRange(2, 20).Draw(t, "after")
	last := *l.states[len(l.states)-1]
	app := &last.Application
	switch rapid.SampledFrom([]string{"sync", "sync", "sync", "fail", "unwell", "compare"}).Draw(t, "what") {
	case "compare":
		app.ReconciledAt = second(l.now)
		l.see(&last)
	case "unwell":
		app.Health, app.HealthSince = "Degraded", second(l.now)
		l.see(&last)
		well := last
		l.now += 2
		well.Application.Health, well.Application.HealthSince = "Healthy", second(l.now)
		l.see(&well)
	case "sync":
		l.sync(rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}).Draw(t, "to"), &last, true)
	case "fail":
		l.sync(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "to"), &last, false)
	}
}

// sync deploys a revision, which the Application is compared with from then on.
func (l *life) sync(revision string, before *argocd.Projection, succeeds bool) {
	running := *before
	running.Deploys = at(revision)
	running.Application.OperationSet = true
	running.Application.LastOperation = policy.LastOperation{Phase: "Running", StartedAt: second(l.now)}
	l.see(&running)
	started := l.now
	l.now++
	if !succeeds {
		failed := *before
		failed.Application.LastOperation = policy.LastOperation{
			Phase: "Failed", StartedAt: second(started), FinishedAt: second(l.now),
		}
		failed.Application.LastFull = policy.FullSync{
			Phase: "Failed", StartedAt: second(started), FinishedAt: second(l.now), Other: at(revision),
		}
		l.see(&failed)
		l.failed = second(started) // as the next stamp says
		return
	}
	since := before.Application.LastSync.Since // a repetition changes nothing about that
	if l.ran[len(l.ran)-1] != revision {
		l.ran, since = append(l.ran, revision), second(l.now)
	}
	l.number++
	p := done(revision, l.now)
	p.Application.LastOperation.StartedAt, p.Application.LastFull.StartedAt = second(started), second(started)
	p.Application.LastSync.Since = since
	p.Application.HealthSince = before.Application.HealthSince
	l.see(p)
}

// TestARestartNeverKnowsMore holds a replica that ends, and resumes what it had kept a while before, against one that never
// ends and one that forgets all, through histories of which it misses a part. What it takes for completed, one of the
// others does, too, and no better.
func TestARestartNeverKnowsMore(t *testing.T) {
	more := 0
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.SampledFrom([]int64{10, 10, 3, 2, 1, 0}).Draw(t, "revisionHistoryLimit")
		l := &life{now: 100, ran: []string{"a"}, limit: limit}
		l.see(stamped("a", 90, 90))
		for range rapid.IntRange(2, 8).Draw(t, "acts") {
			l.act(t)
		}
		written := rapid.IntRange(0, len(l.states)-1).Draw(t, "written after")
		started := rapid.IntRange(written, len(l.states)-1).Draw(t, "started at")
		var always, resumed, forgets *Record
		kept := Kept{}
		for i, p := range l.states {
			e := Event{Position: uint64(i + 1), At: seenAt(p)}
			if always, _ = always.Next(p, e); i == written {
				kept = always.Kept(e.At.Add(time.Second))
			}
			if i < started {
				continue
			}
			forgets, _ = forgets.Next(p, e)
			if resumed == nil {
				e.Kept = &kept
			}
			resumed, _ = resumed.Next(p, e)
			more += max(0, len(resumed.completions)-len(forgets.completions))
			if resumed.brokenAt.Before(always.brokenAt) && resumed.brokenAt.Before(forgets.brokenAt) {
				t.Fatalf("state %d: it was broken at %s, not %s", i, always.brokenAt, resumed.brokenAt)
			}
			for _, c := range resumed.completions {
				if !c.Doubted && !asGood(c, always) && !asGood(c, forgets) {
					t.Fatalf("state %d: %+v is taken for completed", i, c)
				}
			}
		}
	})
	NewWithT(t).Expect(more).To(BeNumerically(">", 0), "nothing was ever kept")
}

// asGood reports whether a record has a completion as well, and no worse.
func asGood(c policy.Completion, r *Record) bool {
	return slices.ContainsFunc(r.completions, func(o policy.Completion) bool {
		return slices.Equal(o.Sources, c.Sources) && !c.Since.Before(o.Since) && !c.Seen.After(o.Seen) &&
			!c.OperatedAt.After(o.OperatedAt) && (c.Altered || !o.Altered)
	})
}

// seenAt is when a watch without a lag sees a state: at the newest time that it tells.
func seenAt(p *argocd.Projection) time.Time {
	app := &p.Application
	at := app.ReconciledAt
	for _, other := range []time.Time{app.HealthSince, app.LastOperation.StartedAt, app.LastOperation.FinishedAt} {
		at = later(at, other)
	}
	return at
}
