// SPDX-License-Identifier: Apache-2.0

package history

import (
	"fmt"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"pgregory.net/rapid"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
)

func second(n int) time.Time { return time.Unix(int64(n), 0) }

func at(revision string) []policy.Source { return []policy.Source{{Key: "repo", Revision: revision}} }

// content is what an Application deploys at a revision, by what is around its sources.
func content(revision, around string) argocd.Content {
	return argocd.Content{Revised: revision + around, Parameters: "its", Around: around}
}

// done is an Application that a sync has made Healthy at a revision.
func done(revision string, finished int) *argocd.Projection {
	return &argocd.Projection{Compared: argocd.Fingerprint(len(revision)), Content: content(revision, "here"),
		Application: policy.Application{
			Compared: at(revision), SyncStatus: "Synced", Health: "Healthy", SpecCompared: true, ReconciledAt: second(finished + 1),
			LastOperation: policy.LastOperation{Phase: "Succeeded", StartedAt: second(finished - 1), FinishedAt: second(finished)},
			LastFull:      policy.FullSync{Phase: "Succeeded", AtCompared: true, StartedAt: second(finished - 1), FinishedAt: second(finished)},
			LastSync:      policy.LastSync{FinishedAt: second(finished), AtCompared: true, SameSources: true},
		}}
}

// after is the record after some states, one after the other.
func after(states ...*argocd.Projection) *Record {
	var r *Record
	for i, p := range states {
		r, _ = r.Next(p, Event{Position: uint64(i + 1), At: second(1000 + i)})
	}
	return r
}

func completed(r *Record) []string {
	var all []string
	for _, c := range r.Past(0, 0).Completions {
		all = append(all, c.Sources[0].Revision)
	}
	return all
}

func TestTheNewestCompletionsAreKept(t *testing.T) {
	var states []*argocd.Projection
	for i := range mostCompleted + 5 {
		states = append(states, done(fmt.Sprint(i), 10*i+10))
	}
	all := completed(after(states...))
	g := NewWithT(t)
	g.Expect(all).To(HaveLen(mostCompleted))
	g.Expect(all[0]).To(Equal("5"))
	g.Expect(all[mostCompleted-1]).To(Equal(fmt.Sprint(mostCompleted + 4)))
}

// TestWhatIsGoneBackFromIsTakenBack: who goes back to an older commit does not want the newer one any more.
func TestWhatIsGoneBackFromIsTakenBack(t *testing.T) {
	syncing := func(revision string) *argocd.Projection {
		p := done("c", 30)
		p.Application.OperationSet, p.Deploys = true, at(revision)
		return p
	}
	behind := func(finished int, ran ...string) *argocd.Projection { // rolled back to a, and compared with c
		p := done("c", finished)
		p.Application.SyncStatus, p.Application.ReconciledAt = "OutOfSync", second(finished+10)
		p.Application.LastFull.AtCompared = false
		p.Application.LastSync = policy.LastSync{
			FinishedAt: second(finished), SameSources: true, Other: at("a"), Since: second(finished),
		}
		for _, r := range ran {
			p.Application.Ran = append(p.Application.Ran, at(r)...)
		}
		return p
	}
	untouched := func(revision string) *argocd.Projection { // found Synced with it since the sync of a
		p := done(revision, 10)
		p.Application.LastSync = policy.LastSync{FinishedAt: second(10), SameSources: true, Other: at("a")}
		p.Application.LastFull.AtCompared, p.Application.ReconciledAt = false, second(20)
		return p
	}
	since := func(p *argocd.Projection, at int) *argocd.Projection {
		p.Application.LastSync.Since = second(at)
		return p
	}
	forward := func(revision string, back int) *argocd.Projection { // went back to a, and then forward again
		p := syncing(revision)
		p.Application.LastFull = policy.FullSync{}
		p.Application.LastSync = policy.LastSync{
			FinishedAt: second(back), SameSources: true, Other: at("a"), Since: second(back),
		}
		return p
	}
	compared := func(revision, runs string, finished int) *argocd.Projection { // and runs another one
		p := behind(finished)
		p.Application.Compared, p.Application.LastSync.Other = at(revision), at(runs)
		return p
	}
	for name, tc := range map[string]struct {
		states []*argocd.Projection
		want   []string
	}{
		"while the branch is back at what it only was compared with": {
			[]*argocd.Projection{compared("a", "z", 10), done("b", 20), compared("a", "b", 20)}, []string{"z"},
		},
		"not once the branch is there again": {
			[]*argocd.Projection{compared("a", "z", 10), done("b", 20), compared("a", "b", 20), done("b", 20)},
			[]string{"z", "b"},
		},
		"by a sync of what it only was compared with": {
			[]*argocd.Projection{compared("a", "z", 10), done("b", 20), syncing("a")}, []string{"z"},
		},
		"by a sync that nobody saw":            {[]*argocd.Projection{done("a", 10), done("b", 20), forward("b", 30)}, nil},
		"by a sync of it":                      {[]*argocd.Projection{done("a", 10), done("b", 20), done("a", 30)}, []string{"a"}},
		"while a newer one is compared":        {[]*argocd.Projection{done("a", 10), done("b", 20), done("c", 30), behind(40)}, []string{"a"}},
		"as soon as that is asked for":         {[]*argocd.Projection{done("a", 10), done("b", 20), done("c", 30), syncing("a")}, []string{"a"}},
		"to what was completed unseen":         {[]*argocd.Projection{done("b", 20), done("c", 30), behind(40, "a", "b", "c", "a")}, []string{"a"}},
		"forward to what nobody saw":           {[]*argocd.Projection{done("b", 20), done("c", 30), syncing("d")}, []string{"b", "c"}},
		"not by a commit that touches nothing": {[]*argocd.Projection{done("a", 10), untouched("b"), untouched("c")}, []string{"a", "b", "c"}},
		"not by what was never seen compared":  {[]*argocd.Projection{since(untouched("b"), 10), behind(10)}, []string{"a", "b"}},
	} {
		t.Run(name, func(t *testing.T) { NewWithT(t).Expect(completed(after(tc.states...))).To(Equal(tc.want)) })
	}
}

// TestWhenItWasLastSeenDone: what it is done with is seen for the last time when it is about to go on.
func TestWhenItWasLastSeenDone(t *testing.T) {
	g := NewWithT(t)
	next := done("b", 20)
	next.Application.SyncStatus = "OutOfSync"
	next.Application.LastSync = policy.LastSync{FinishedAt: second(10), SameSources: true, Other: at("a")}
	syncing := done("b", 20)
	syncing.Application.OperationSet = true
	done := after(done("a", 10), done("a", 10), next, syncing, syncing).Past(0, 0).Completions
	g.Expect(done).To(HaveLen(1))
	g.Expect(done[0].Seen).To(Equal(second(1002)))
}

// TestWhatWasSeenToBegin tells what came after something that another Application was seen to run. What was there at
// first may have come before.
func TestWhatWasSeenToBegin(t *testing.T) {
	syncing := func(revision string) *argocd.Projection {
		p := done(revision, 10)
		p.Application.OperationSet = true
		return p
	}
	untouched := func(revision string, ran ...string) *argocd.Projection {
		p := done(revision, 10)
		p.Application.LastSync.AtCompared, p.Application.LastFull.AtCompared = false, false
		p.Application.ReconciledAt = second(20)
		for _, r := range ran {
			p.Application.Ran = append(p.Application.Ran, at(r)...)
		}
		return p
	}
	for name, tc := range map[string]struct {
		states []*argocd.Projection
		want   uint64
	}{
		"it was there":                  {[]*argocd.Projection{done("a", 10)}, 0},
		"its sync was under way":        {[]*argocd.Projection{syncing("a"), done("a", 10)}, 0},
		"its sync was seen":             {[]*argocd.Projection{done("b", 10), syncing("a"), syncing("a"), done("a", 20)}, 2},
		"it was synced again":           {[]*argocd.Projection{done("a", 10), syncing("a"), done("a", 20)}, 0},
		"a commit that touches nothing": {[]*argocd.Projection{done("bb", 10), untouched("a"), untouched("a")}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			done := after(tc.states...).Past(0, 0).Completions
			g := NewWithT(t)
			g.Expect(done[len(done)-1].Sources).To(Equal(at("a")))
			g.Expect(done[len(done)-1].From).To(Equal(tc.want))
		})
	}
	past := after(untouched("a", "x"), untouched("a", "x"), untouched("a", "x", "a"), untouched("b", "x", "a")).Past(0, 0)
	g := NewWithT(t)
	g.Expect(past.Runs).To(Equal(at("a")[0]))
	g.Expect(past.RunsFrom).To(Equal(uint64(3)))
}

// TestWhatAFailedSyncShows: one that fails may have applied nothing, and what was found before it was of before the sync
// that came first.
func TestWhatAFailedSyncShows(t *testing.T) {
	operation := func(revision, phase string, started int) *argocd.Projection {
		p := done("b", 10) // nobody has compared it since
		app := &p.Application
		app.LastOperation = policy.LastOperation{Phase: phase, StartedAt: second(started), FinishedAt: second(started + 1)}
		app.LastFull = policy.FullSync{
			Phase: phase, StartedAt: second(started), FinishedAt: second(started + 1), AtCompared: revision == "b", SameSources: true,
		}
		return p
	}
	for name, tc := range map[string]struct {
		phase string
		want  argocd.Content
	}{
		"it has failed":    {"Failed", argocd.Content{}},
		"it has succeeded": {"Succeeded", content("b", "here")},
	} {
		t.Run(name, func(t *testing.T) {
			r := after(done("b", 10), operation("a", "Succeeded", 20), operation("b", tc.phase, 30))
			NewWithT(t).Expect(r.Found(second(30))).To(Equal(tc.want))
		})
	}
}

func TestARestart(t *testing.T) {
	g := NewWithT(t)
	states := []*argocd.Projection{done("a", 10), done("b", 20)}
	states[1].Application.Ran = append(at("a"), at("b")...)
	g.Expect(completed(after(states...))).To(Equal([]string{"a", "b"}))
	g.Expect(completed(after(states[1]))).To(Equal([]string{"b"}))

	degraded := done("c", 30)
	degraded.Application.Health, degraded.Application.Ran = "Degraded", append(at("b"), at("c")...)
	g.Expect(completed(after(degraded))).To(BeEmpty())
}

// TestBroken remembers when the Application was last seen Degraded, Missing or failed, or to come back from that. To be
// Progressing on the way to a newer revision is not to be broken.
func TestBroken(t *testing.T) {
	is := func(health string) *argocd.Projection {
		p := done("b", 20)
		p.Application.Health = health
		return p
	}
	failed, elsewhere, takenBack := done("b", 20), done("b", 20), done("b", 20)
	failed.Application.LastFull.Phase, elsewhere.Application.LastFull.Phase = "Failed", "Failed"
	takenBack.Application.LastFull.Phase = "Error"
	elsewhere.Application.LastFull.AtCompared, elsewhere.Application.SyncStatus = false, "OutOfSync"
	takenBack.Application.LastFull.AtCompared = false
	for name, tc := range map[string]struct {
		then *argocd.Projection
		want bool
	}{
		"Degraded": {is("Degraded"), true}, "Missing": {is("Missing"), true}, "failed": {failed, true},
		"failed at another revision": {elsewhere, true}, "failed, and the commit was taken back": {takenBack, false},
		"Progressing": {is("Progressing"), false}, "Suspended": {is("Suspended"), false}, "Healthy": {is("Healthy"), false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			first := done("a", 10)
			if !tc.want {
				g.Expect(after(first, tc.then, done("c", 30)).Past(0, 0).Broken).To(BeZero())
				return
			}
			g.Expect(after(first, tc.then).Past(0, 0).Broken).To(Equal(second(1001)))
			g.Expect(after(first, tc.then, done("c", 30), done("c", 30)).Past(0, 0).Broken).To(Equal(second(1002)),
				"when it came back")
		})
	}
}

// TestAResultThatIsCleared with the write of the next operation takes nothing away from what is remembered.
func TestAResultThatIsCleared(t *testing.T) {
	asked := func(p *argocd.Projection) *argocd.Projection {
		p.Application.OperationSet = true
		p.Application.LastOperation, p.Application.LastFull = policy.LastOperation{}, policy.FullSync{}
		return p
	}
	failed := done("b", 20)
	failed.Application.LastFull.Phase, failed.Application.LastFull.Applied = "Failed", true
	failed.Application.LastSync = policy.LastSync{FinishedAt: second(10), SameSources: true, Other: at("a")}
	retried := done("b", 20)
	retried.Application.LastSync = failed.Application.LastSync
	for name, tc := range map[string]struct {
		states          []*argocd.Projection
		completed       []string
		applied, broken time.Time
	}{
		"it has succeeded":           {states: []*argocd.Projection{done("a", 10), asked(done("a", 10))}, completed: []string{"a"}},
		"it has failed":              {states: []*argocd.Projection{done("a", 10), failed, asked(retried)}, completed: []string{"a"}, applied: second(19), broken: second(1002)},
		"and then it has succeeded":  {states: []*argocd.Projection{done("a", 10), failed, asked(retried), done("b", 30)}, completed: []string{"a", "b"}, applied: second(19), broken: second(1002)},
		"it was never seen with one": {states: []*argocd.Projection{asked(done("a", 10))}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			r := after(tc.states...)
			past := r.Past(0, 0)
			g.Expect(completed(r)).To(Equal(tc.completed))
			g.Expect(past.Applied).To(Equal(tc.applied))
			g.Expect(past.Broken).To(Equal(tc.broken))
			if last := tc.states[len(tc.states)-1]; last.Application.OperationSet {
				g.Expect(r.Found(time.Time{})).To(BeZero(), "it may deploy anything")
			}
		})
	}
}

// TestWhatAnApplicationWasDeployedWith is what the stamp of its last full sync says, and what it was found Synced with
// since. Where neither tells, nobody knows.
func TestWhatAnApplicationWasDeployedWith(t *testing.T) {
	drifted := func(around, deployed string) *argocd.Projection {
		p := done("a", 10)
		p.Owner, p.Content.Around, p.Deployed.Around, p.Application.SyncStatus = "set", around, deployed, "OutOfSync"
		return p
	}
	synced := func(around, deployed string) *argocd.Projection {
		p := drifted(around, deployed)
		p.Application.SyncStatus = "Synced"
		return p
	}
	edited := func(p *argocd.Projection, edit func(*argocd.Projection)) *argocd.Projection {
		edit(p)
		return p
	}
	syncing := edited(drifted("here", ""), func(p *argocd.Projection) { p.Application.OperationSet = true })
	for name, tc := range map[string]struct {
		states            []*argocd.Projection
		altered, unproven bool
	}{
		"its stamp says so":                            {states: []*argocd.Projection{drifted("here", "here")}},
		"its stamp says otherwise":                     {[]*argocd.Projection{drifted("here", "there")}, true, false},
		"a restart during the sync":                    {states: []*argocd.Projection{edited(drifted("here", "here"), func(p *argocd.Projection) { p.Application.OperationSet = true }), drifted("here", "here")}},
		"no stamp":                                     {[]*argocd.Projection{drifted("here", "")}, false, true},
		"no stamp, and no ApplicationSet":              {states: []*argocd.Projection{edited(drifted("here", ""), func(p *argocd.Projection) { p.Owner = "" })}},
		"no stamp, and found Synced":                   {states: []*argocd.Projection{synced("here", ""), drifted("here", "")}},
		"no stamp, and found Synced with another":      {[]*argocd.Projection{synced("there", ""), drifted("here", "")}, true, false},
		"found Synced, and then operated":              {[]*argocd.Projection{synced("here", ""), syncing, drifted("here", "")}, false, true},
		"its stamp says otherwise, found Synced":       {states: []*argocd.Projection{synced("here", "there"), drifted("here", "there")}},
		"found Synced before it was hydrated":          {[]*argocd.Projection{edited(synced("here", ""), func(p *argocd.Projection) { p.Application.Hydration = policy.Outdated }), drifted("here", "")}, false, true},
		"Synced, and its namespace is about to change": {[]*argocd.Projection{edited(synced("here", ""), func(p *argocd.Projection) { p.NamespaceChanged = true }), drifted("here", "")}, false, true},
		"found Synced, and an operation was missed": {[]*argocd.Projection{synced("here", ""), edited(drifted("here", ""), func(p *argocd.Projection) {
			p.Application.LastOperation.StartedAt = second(30)
		})}, false, true},
		"Synced with the spec of before":                    {[]*argocd.Projection{edited(synced("here", ""), func(p *argocd.Projection) { p.Application.SpecCompared = false }), drifted("here", "")}, false, true},
		"Synced at another revision, too soon after a sync": {[]*argocd.Projection{edited(synced("here", ""), func(p *argocd.Projection) { p.Application.LastFull.AtCompared = false }), drifted("here", "")}, false, true},
		"the same, long after": {states: []*argocd.Projection{edited(synced("here", ""), func(p *argocd.Projection) {
			p.Application.LastFull.AtCompared, p.Application.ReconciledAt = false, second(20)
		}), drifted("here", "")}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			past := after(tc.states...).Past(0, 0)
			g.Expect(past.Altered).To(Equal(tc.altered), "altered")
			g.Expect(past.Unproven).To(Equal(tc.unproven), "unproven")
		})
	}
}

// TestWhatWasDeployedIsCompleted although something newer is compared, if the comparison is one of well after the sync.
func TestWhatWasDeployedIsCompleted(t *testing.T) {
	g := NewWithT(t)
	behind := func(seconds int, health string) *argocd.Projection {
		p := done("b", 20)
		p.Application.SyncStatus, p.Application.Health, p.Application.ReconciledAt = "OutOfSync", health, second(20+seconds)
		p.Application.LastSync.AtCompared, p.Application.LastSync.Other = false, at("a")
		p.Application.LastSync.Since = second(20)
		return p
	}
	g.Expect(completed(after(behind(6, "Healthy")))).To(Equal([]string{"a"}))
	g.Expect(after(behind(6, "Healthy")).Past(0, 0).Completions[0].Since).To(Equal(second(20)))
	g.Expect(completed(after(behind(5, "Healthy")))).To(BeEmpty(), "it may be of the cluster of before")
	g.Expect(completed(after(behind(6, "Progressing")))).To(BeEmpty())
	g.Expect(completed(after(behind(6, "Healthy"), behind(8, "Degraded")))).To(BeEmpty(), "it is not any more")
}

// TestCompletedWithAnotherDestination is completed without what the Application has now.
func TestCompletedWithAnotherDestination(t *testing.T) {
	g := NewWithT(t)
	altered := func(all ...*argocd.Projection) (of []bool) {
		for _, c := range after(all...).Past(0, 0).Completions {
			of = append(of, c.Altered)
		}
		return of
	}
	to := func(around string, p *argocd.Projection) *argocd.Projection {
		p.Content.Around, p.Content.Revised = around, p.Application.Compared[0].Revision+around
		return p
	}
	moved := to("new", done("b", 20))
	moved.Application.SyncStatus, moved.Application.SpecCompared = "OutOfSync", true
	g.Expect(altered(to("old", done("a", 10)))).To(Equal([]bool{false}))
	g.Expect(altered(to("old", done("a", 10)), moved, to("new", done("b", 30)))).To(Equal([]bool{true, false}))
	g.Expect(altered(to("old", done("a", 10)), moved, to("old", done("a", 10)))).To(Equal([]bool{false}),
		"it is found Synced with that")
}

func TestARecordDoesNotChange(t *testing.T) {
	g := NewWithT(t)
	r := after(done("a", 10), done("b", 20))
	was, past := *r, r.Past(0, 0)
	kept := slices.Clone(past.Completions)
	degraded := done("b", 20)
	degraded.Application.Health = "Degraded"
	for _, p := range []*argocd.Projection{done("a", 30), done("c", 40), degraded} {
		next, _ := r.Next(p, Event{Position: 9, At: second(2000)})
		g.Expect(next).NotTo(BeIdenticalTo(r))
	}
	g.Expect(*r).To(Equal(was))
	g.Expect(past.Completions).To(Equal(kept))
}

// states draws states of an Application as a watch may give them: cut, out of order, with times that are equal or go
// back, of another spec.
func states(t *rapid.T) []*argocd.Projection {
	revision := rapid.SampledFrom([]string{"a", "b", "c", ""})
	times := rapid.Map(rapid.IntRange(0, 4), func(n int) time.Time {
		if n == 0 {
			return time.Time{}
		}
		return second(n)
	})
	mostly := rapid.SampledFrom([]bool{true, true, true, true, false})
	one := rapid.Custom(func(t *rapid.T) *argocd.Projection {
		r := revision.Draw(t, "revision")
		p := &argocd.Projection{
			Compared: argocd.Fingerprint(rapid.IntRange(0, 3).Draw(t, "fingerprint")), ContentSince: times.Draw(t, "content since"),
			Content:  content(r, rapid.SampledFrom([]string{"", "here", "there"}).Draw(t, "around")),
			Deployed: argocd.Content{Around: rapid.SampledFrom([]string{"", "here", "there"}).Draw(t, "deployed")},
		}
		p.Application = policy.Application{
			Compared: at(r), OperationSet: rapid.Bool().Draw(t, "operation"), RefreshRequested: rapid.Bool().Draw(t, "refresh"),
			SyncStatus:   rapid.SampledFrom([]string{"Synced", "Synced", "OutOfSync", "Unknown", ""}).Draw(t, "sync"),
			Health:       rapid.SampledFrom([]string{"Healthy", "Healthy", "Degraded", "Progressing", ""}).Draw(t, "health"),
			Hydration:    rapid.SampledFrom([]string{"", "", "Hydrating", "Hydrated", policy.Outdated}).Draw(t, "hydration"),
			SpecCompared: mostly.Draw(t, "spec compared"), ReconciledAt: times.Draw(t, "reconciled"),
			LastOperation: policy.LastOperation{
				Phase:     rapid.SampledFrom([]string{"Succeeded", "Succeeded", "Failed", "Running", ""}).Draw(t, "phase"),
				StartedAt: times.Draw(t, "started"), FinishedAt: times.Draw(t, "finished"),
			},
			LastFull: policy.FullSync{
				Phase:      rapid.SampledFrom([]string{"Succeeded", "Succeeded", "Failed", ""}).Draw(t, "full phase"),
				AtCompared: mostly.Draw(t, "at compared"), Applied: rapid.Bool().Draw(t, "applied"),
				StartedAt: times.Draw(t, "full started"), FinishedAt: times.Draw(t, "full finished"),
			},
			LastSync: policy.LastSync{
				FinishedAt: times.Draw(t, "synced"), AtCompared: mostly.Draw(t, "synced at compared"), SameSources: mostly.Draw(t, "same sources"),
				Since: times.Draw(t, "since"),
			},
		}
		if other := revision.Draw(t, "other"); other != r {
			p.Application.LastSync.Other, p.Application.LastSync.AtCompared = at(other), false
		}
		return p
	})
	return rapid.SliceOfN(one, 0, 12).Draw(t, "states")
}

// checkRecord asks of any states, in any order: what is completed was seen Healthy, without an operation, Synced or
// deployed while another revision was compared, and nothing else was seen of it since. Nothing panics.
func checkRecord(t *rapid.T) {
	var r *Record
	proved := map[string]bool{}
	for i, p := range states(t) {
		r, _ = r.Next(p, Event{Position: uint64(i + 1), At: second(1000 + i)})
		app := &p.Application
		revision := app.Compared[0].Revision
		switch {
		case !app.SpecCompared || !app.LastSync.SameSources:
			clear(proved)
		case app.OperationSet || app.LastOperation.Running():
		case app.SyncStatus == "Synced" && !hydrated(app):
		case app.SyncStatus == "Synced":
			proved[revision] = app.Health == "Healthy"
		case app.SyncStatus == "OutOfSync" && !app.LastSync.AtCompared && len(app.LastSync.Other) == 1:
			proved[app.LastSync.Other[0].Revision] = app.Health == "Healthy"
		}
		all := completed(r)
		for _, c := range all {
			if !proved[c] {
				t.Fatalf("%q counts as completed, and was not seen Synced and Healthy: %v", c, all)
			}
		}
		if len(all) > mostCompleted {
			t.Fatalf("%d completions", len(all))
		}
		if app.OperationSet && r.Found(app.LastOperation.StartedAt) != (argocd.Content{}) {
			t.Fatalf("an operation may deploy anything")
		}
	}
}

func TestRecords(t *testing.T) { rapid.Check(t, checkRecord) }

func FuzzRecord(f *testing.F) { f.Fuzz(rapid.MakeFuzz(checkRecord)) }
