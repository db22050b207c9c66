// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
)

// unmet is a condition that does not hold.
type unmet struct {
	kind, text, behind string
	// limit says that it is counted apart: see Early.
	limit bool
}

// sought is an operation that somebody asks for.
type sought struct {
	m         *member
	step      int
	sources   argo.ApplicationSources
	revisions []string
	content   content
	// user has started it by hand; empty for Argo CD.
	user string
	// back says that a user goes back to what was deployed before.
	back bool
}

// admitted looks at an operation at the moment at which it is admitted, for conditions that do not hold. Nothing starts
// that is deployed already, or that a user goes back to. An Application that has just come to another step is left out.
func (w *world) admitted(m *member, old, app *argo.Application) {
	m.truth.latest.bypassed = w.bypassed()
	if !w.conditions.any || m.truth.latest.bypassed || app.Operation.Sync == nil {
		return
	}
	o := w.sought(m, old, app)
	if o.step == 0 || w.exempt(&o) {
		return
	}
	found := w.unmet(&o)
	for _, u := range found {
		e := Early{
			At: w.now, Target: m.name, Behind: u.behind, Missing: u.text, Kind: u.kind,
			Reason: string(m.truth.latest.verdict.Reason), Condition: true,
		}
		if u.limit {
			w.limits = append(w.limits, e)
		} else {
			w.early = append(w.early, e)
		}
		w.logf("%s", e)
	}
	if len(found) == 0 {
		w.admittedInTime(&o)
	}
}

func (w *world) sought(m *member, old, app *argo.Application) sought {
	op := app.Operation.Sync
	o := sought{m: m, step: stepOf(app), sources: app.Spec.GetSources(), revisions: op.Revisions}
	if o.step != m.generated || old != nil && (stepOf(old) != o.step || m.settled > w.now-sameMoment) ||
		w.api.orphaned(app) {
		o.step = 0
	}
	deployed := app.Spec
	switch {
	case len(op.Sources) > 0:
		o.sources, deployed.Sources = op.Sources, op.Sources
	case op.Source != nil:
		o.sources = argo.ApplicationSources{*op.Source}
		if app.Spec.SourceHydrator == nil {
			deployed.Source = op.Source
		}
	}
	if op.Revision != "" && len(op.Revisions) == 0 {
		o.revisions = []string{op.Revision}
	}
	if len(o.revisions) == 0 {
		o.revisions = w.heads(m) // Argo CD resolves them when it starts
	}
	o.content = w.contentOf(&deployed, o.revisions)
	if by := app.Operation.InitiatedBy; !by.Automated {
		o.user, o.back = by.Username, m.truth.latest.back
	}
	return o
}

// exempt reports whether nothing new starts, or a user goes back to what the Application has completed before.
func (w *world) exempt(o *sought) bool {
	if o.content == o.m.truth.synced || o.m.live.exists && o.content == o.m.live.content {
		return true
	}
	for i := range o.m.sources {
		if !o.m.truth.had[i][o.content.source[i]] {
			return false
		}
	}
	return o.back
}

// unmet are the conditions that do not hold for an operation now.
func (w *world) unmet(o *sought) []unmet {
	var found []unmet
	if w.conditions.paused(o.step) {
		found = append(found, unmet{kind: "pause", text: "the step is paused"})
	}
	if w.now < o.m.closedUntil {
		found = append(found, unmet{kind: "window", text: "its sync window is closed until " + seconds(o.m.closedUntil)})
	}
	for _, of := range []func(*sought) (unmet, bool){w.soaks, w.unapproved, w.unverified, w.overBudget} {
		if u, is := of(o); is {
			found = append(found, u)
		}
	}
	return found
}

// soaks reports whether an Application of an earlier step has not been deployed and Healthy for long enough. A clock of
// Argo CD's that is behind makes a step start earlier by that much.
func (w *world) soaks(o *sought) (unmet, bool) {
	wait, unreadable := w.conditions.soak(o.step)
	if wait == 0 {
		return unmet{}, false
	}
	for _, e := range w.before(o.m, o.step) {
		since, unhealthy, again := max(e.proof.deployed, e.proof.healthy), w.isUnhealthy(e), false
		behind := min(0, w.skew(e.name))
		if w.onTrain() {
			completed, ok := w.sinceOf(e, o, e.proof.since)
			if ok {
				since, unhealthy = max(completed, e.proof.broken), isBroken(w.api.apps[e.name].Status.Health.Status)
			}
			// It was Progressing since, at another commit that has the same content. Nobody can tell that from a commit that
			// it is on its way to.
			first, ok := w.sinceOf(e, o, e.proof.first)
			again = ok && w.now >= max(first, e.proof.broken)+wait+behind && !slices.Equal(e.proof.revisions, o.revisions)
		}
		if unreadable || unhealthy || w.now < since+wait+behind {
			return unmet{
				kind: "soak", text: fmt.Sprintf("%s has to be deployed and Healthy for %s, and is since %s", e.name, wait,
					seconds(since)), behind: e.name, limit: again && !unreadable,
			}, true
		}
		if w.now < e.proof.moved+wait+behind {
			return unmet{
				kind: "soak, moved", text: fmt.Sprintf("%s is deployed to its destination since %s", e.name,
					seconds(e.proof.moved)), behind: e.name, limit: true,
			}, true
		}
	}
	return unmet{}, false
}

// sinceOf is since when it is proved that an Application has had what an operation deploys, of the sources that both have and of the
// template.
func (w *world) sinceOf(e *member, o *sought, proved map[content]time.Duration) (since time.Duration, ok bool) {
	for had, at := range proved {
		same := had.values == o.content.values
		for i := range e.sources {
			for j := range o.m.sources {
				same = same && (w.part(e, i) != w.part(o.m, j) ||
					had.source[i] == w.trees[revisionAt(o.revisions, j)][w.path(e, i)])
			}
		}
		if same && (!ok || at < since) {
			since, ok = at, true
		}
	}
	return since, ok
}

// before are the Applications of the steps before that of an Application, and of its track, without those that have come
// just now.
func (w *world) before(m *member, step int) []*member {
	var all []*member
	for _, name := range w.names {
		e := w.members[name]
		app := w.api.apps[name]
		if app != nil && app.DeletionTimestamp == nil && e.generated > 0 && e.generated < step &&
			stepOf(app) == e.generated && e.settled < w.now-sameMoment && !w.apart(e, m) {
			all = append(all, e)
		}
	}
	return all
}

func (w *world) unapproved(o *sought) (unmet, bool) {
	if !w.conditions.needsApproval(o.step) {
		return unmet{}, false
	}
	a := w.approvalFor(o.step, o.revisions)
	switch {
	case a == nil:
		return unmet{kind: "approval", text: fmt.Sprintf("nobody has approved %v", o.revisions)}, true
	case w.approvedOther(o, a):
		return unmet{kind: "approval of another spec", text: a.by + " has approved that with another spec"}, true
	case !w.scenario.FourEyes:
		return unmet{}, false
	case w.hasStarted(a.by, o, false):
		return unmet{kind: "four eyes", text: a.by + " has approved it, and started it"}, true
	}
	return unmet{
		kind: "four eyes, gone on", text: a.by + " has approved it, and started it where something else is deployed now",
		limit: true,
	}, w.hasStarted(a.by, o, true)
}

// hasStarted reports whether a user starts this by hand, or has started the same in an earlier step: also where
// something else has been deployed or compared since, if gone is set.
func (w *world) hasStarted(user string, o *sought, gone bool) bool {
	return o.user == user || slices.ContainsFunc(w.before(o.m, o.step), func(e *member) bool {
		return slices.ContainsFunc(e.proof.byHand, func(b byHand) bool {
			return b.user == user && (gone || !b.gone && slices.Equal(b.revisions, w.api.apps[e.name].Status.GetRevisions())) &&
				w.shareRevisions(e, b.revisions, o)
		})
	})
}

// hasSyncedBefore reports whether a user has synced anything of an earlier step by hand.
func (w *world) hasSyncedBefore(user string, m *member, step int) bool {
	return slices.ContainsFunc(w.before(m, step), func(e *member) bool {
		return slices.ContainsFunc(e.proof.byHand, func(b byHand) bool { return b.user == user })
	})
}

// shareRevisions reports whether an Application has sources in common with an operation, and each of them at the same
// revision.
func (w *world) shareRevisions(e *member, revisions []string, o *sought) bool {
	shared := false
	for i, b := range e.sources {
		for j, own := range o.m.sources {
			if w.part(e, i) != w.part(o.m, j) || i >= len(revisions) || j >= len(o.revisions) {
				continue
			}
			if b.original(revisions[i]) != own.original(o.revisions[j]) {
				return false
			}
			shared = true
		}
	}
	return shared
}

// original is the revision that people write of which this one was made: that of the dry branch of one that is hydrated.
func (b *branch) original(revision string) string {
	if n := b.stateOf(revision, 0); b.dry != nil && n >= 0 {
		return b.dry.states[b.states[n].dry].revision
	}
	return revision
}

// waitsFor is a condition for which an Application waits in the end; empty when there is none. Soak times and windows
// end by themselves, and so does the wait for evidence that stepgate has created.
func (w *world) waitsFor(m *member) string {
	app := w.api.apps[m.name]
	if !w.conditions.any || app == nil || m.generated == 0 {
		return ""
	}
	o := sought{m: m, step: m.generated, sources: app.Spec.GetSources(), revisions: app.Status.GetRevisions()}
	o.content = w.contentOf(&app.Spec, o.revisions)
	for _, u := range w.unmet(&o) {
		_, unreadable := w.conditions.soak(o.step)
		if u.kind == "soak" && !unreadable && !w.isUnhealthy(w.members[u.behind]) {
			continue
		}
		if strings.HasPrefix(u.kind, "evidence") && w.isCreated(&o) {
			continue
		}
		return u.kind
	}
	a := w.approvalFor(o.step, o.revisions)
	switch {
	case w.mayLackEvidence(&o):
		return "evidence"
	case a == nil || !w.conditions.needsApproval(o.step):
		return ""
	case w.mayHaveApprovedOther(m, a):
		return "approval"
	case w.scenario.FourEyes && w.hasSyncedBefore(a.by, o.m, o.step):
		return "four eyes" // stepgate does not ask whether that one has a source in common
	}
	return ""
}

// sync windows are what stepgate asks Argo CD's library for, by the real clock; here the world knows them.
func (m *member) closes(until time.Duration) {
	m.closedUntil = max(m.closedUntil, until)
	m.windowUntil = max(m.windowUntil, until)
}
