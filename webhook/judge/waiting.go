// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"slices"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/settings"
)

// Waiting completes an input with the sync that an Application waits for, and with what the watches have seen of it.
func (j *Judge) Waiting(in policy.Input, p *argocd.Projection) policy.Input {
	in.Settings.Candidates = j.candidates(in.Settings.Candidates, p.AutoSync)
	if _, follows := p.Annotations.Get(settings.AfterAnnotation); follows || j.afterOf(p.Lender).Waits() {
		in.Settings.Follows = true
	}
	in.Target, in.Now, in.Window = WaitingTarget(p), j.Clock.Now(), j.WindowOf(p)
	in.History = j.Histories.History(in.ApplicationSet, j.Histories.Changed(p.UID, in.Target.Compared, p.Compared),
		j.Histories.ComparedAt(p.UID, in.Target.ReconciledAt))
	in.History.ContentSince, in.History.ByAnother, in.History.PassEnded = j.Histories.ContentSince(p.UID, p.Content)
	in.History.PassEnded = in.History.PassEnded && !in.ApplicationSet.Parent()
	found := j.Histories.Found(p.UID, p.Application.LastOperation.StartedAt)
	in.History = deployedBefore(in.History, p.Content, p.Deployed, found)
	return in
}

// WaitingTarget is the Application with the operation that it waits for: to what it was last compared with.
func WaitingTarget(p *argocd.Projection) policy.Target {
	a := &p.Application
	compared := a.SpecCompared && (a.SyncStatus == "Synced" || a.SyncStatus == "OutOfSync") &&
		(a.Reported || !slices.ContainsFunc(a.Compared, func(s policy.Source) bool { return s.Revision == "" }))
	t := policy.Target{
		Name: a.Name, Labels: a.Labels, OldLabels: a.Labels, Managed: true, Deleting: a.Deleting,
		Reported: a.Reported,
		Operation: policy.Operation{
			Written: true, Automated: true, Pinned: compared, Redeploys: a.LastSync.AtCompared,
		},
		SpecCompared: compared, ReconciledAt: a.ReconciledAt, Compared: a.Compared, Wanted: a.Compared, Ran: a.Ran,
		SameSources: a.LastSync.SameSources,
	}
	last := a.LastFull
	if last.Phase == "Succeeded" {
		t.SyncStartedAt, t.SyncFinishedAt = last.StartedAt, last.FinishedAt
	}
	t.Stopped = p.Stopped != "" && p.Stopped == p.Content.Revised
	ended := a.LastOperation.FinishedAt
	t.OutOfSyncSince = a.SyncStatus == "OutOfSync" && !ended.IsZero() && a.ReconciledAt.After(ended)
	return t
}
