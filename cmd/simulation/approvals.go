// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"slices"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
)

// approve has a user approve what an Application was compared with, for its step, or what it has deployed before:
// somebody has looked at another revision.
func (w *world) approve(m *member, user string, before bool) {
	app := w.api.apps[m.name]
	step := stepOf(app)
	if step == 0 || before && len(app.Status.History) == 0 {
		return
	}
	what, revisions := approvalOf(app), app.Status.GetRevisions()
	if before {
		of := *app
		h := app.Status.History.LastRevisionHistory()
		of.Status.Sync.Revision, of.Status.Sync.Revisions = h.Revision, h.Revisions
		what, revisions = approvalOf(&of), of.Status.GetRevisions()
	}
	c := &w.conditions
	c.note("approval")
	c.approvals = slices.DeleteFunc(c.approvals, func(a approval) bool { return a.step == step && a.what == what })
	c.approvals = append(c.approvals, approval{step, what, revisions, user, w.now, w.specs()})
	w.logf("%s approves %d@%s", user, step, what)
	w.storeAnnotations()
}

// approvesAll makes somebody look every 20 s whether an Application waits for an approval, and give it.
func (w *world) approvesAll(user string) {
	first := w.conditions.approver == ""
	w.conditions.approver = user
	if first {
		w.lookForApprovals()
	}
}

func (w *world) lookForApprovals() {
	for _, name := range w.names {
		app := w.api.apps[name]
		asked := app != nil && (w.isPending(name) || app.Status.Sync.Status == argo.SyncStatusCodeOutOfSync)
		if !asked || app.Operation != nil || !w.conditions.needsApproval(stepOf(app)) {
			continue
		}
		if a := w.approvalFor(stepOf(app), app.Status.GetRevisions()); a == nil || a.by != w.conditions.approver ||
			w.mayHaveApprovedOther(w.members[name], a) {
			w.approve(w.members[name], w.conditions.approver, false)
		}
	}
	w.after(20*time.Second, w.lookForApprovals)
}

// isPending reports whether the ApplicationSet controller asks for a sync.
func (w *world) isPending(name string) bool {
	recorded := w.members[name].family.live.Status.ApplicationStatus
	return slices.ContainsFunc(recorded, func(s argo.ApplicationSetApplicationStatus) bool {
		return s.Application == name && s.Status == argo.ProgressiveSyncPending
	})
}

// approvalFor is the approval of these revisions in a step; nil when there is none.
func (w *world) approvalFor(step int, revisions []string) *approval {
	for i, a := range w.conditions.approvals {
		if a.step == step && slices.Equal(a.revisions, revisions) {
			return &w.conditions.approvals[i]
		}
	}
	return nil
}

// specs are what the specs of all Applications say beside revisions.
func (w *world) specs() map[string]content {
	all := map[string]content{}
	for name, app := range w.api.apps {
		all[name] = w.contentOf(&app.Spec, nil)
	}
	return all
}

// besideSource is a content without what its sources have.
func besideSource(c content) content {
	c.source = [2]int{}
	return c
}

// approvedOther reports whether somebody has approved the revisions of an operation while the spec said something else
// than it deploys, and than is deployed.
func (w *world) approvedOther(o *sought, a *approval) bool {
	beside := besideSource(o.content)
	return beside != a.specs[o.m.name] && beside != besideSource(o.m.truth.synced)
}

// mayHaveApprovedOther reports the same if somebody may only have to fear it: the spec was written since.
func (w *world) mayHaveApprovedOther(m *member, a *approval) bool {
	return w.mayBeOfOther(m, a.at)
}

// mayBeOfOther reports whether what was said about an Application at a time may be about another spec than it is about to
// deploy.
func (w *world) mayBeOfOther(m *member, at time.Duration) bool {
	beside := w.contentOf(&w.api.apps[m.name].Spec, nil)
	return m.specified >= at.Truncate(time.Second) && beside != besideSource(m.truth.synced)
}
