package webhook

import (
	"slices"
	"time"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
)

// unnoticed reports whether the ApplicationSet controller should have noticed that an Application has to be synced.
func unnoticed(p *argocd.Projection, set *policy.ApplicationSet) bool {
	return p.Application.SyncStatus == "OutOfSync" && set.Recorded[p.Name].Behind(p.Application.Compared)
}

// waits reports whether an Application has a sync to come that may have been held or denied.
func waits(p *argocd.Projection, set *policy.ApplicationSet) bool {
	a := &p.Application
	if a.Deleting || a.OperationSet || a.LastOperation.Running() {
		return false
	}
	return set.Recorded[a.Name].Pending || unnoticed(p, set) || p.AutoSync && a.SyncStatus == "OutOfSync" && !a.LastSync.AtCompared
}

// unrecorded reports whether the ApplicationSet controller should have recorded that an Application is done: it starts no later step, and shows
// the ApplicationSet as progressing, until it has. From v3.4.13 on, if not before, it may go by an old state for good: it stores the answer to each
// write of its own in its cache (cacheSyncingClient in applicationset/utils/client.go, v3.5.7). A write that changes nothing, such as one whose operation
// is held, is answered with the object as it was read, and that may be older than what the cache has. The next event of the Application repairs it.
func unrecorded(p *argocd.Projection, set *policy.ApplicationSet) bool {
	a := &p.Application
	r, recorded := set.Recorded[a.Name]
	return recorded && r.Step > 0 && !r.Pending && !r.Healthy && a.SyncStatus == "Synced" && a.Health == "Healthy" &&
		!a.Deleting && !a.OperationSet && !a.LastOperation.Running()
}

// overdue is for how long Argo CD still has to start a sync in step 1, which waits for nothing; zero if it should have, and for the syncs of other
// steps. A sync that has failed is not started again by Argo CD.
func (r *Releaser) overdue(d policy.Decision, p *argocd.Projection, set *policy.ApplicationSet) time.Duration {
	a, last := &p.Application, &p.Application.LastOperation
	if d.Reason != policy.FirstStep || r.gate.Record.blocked.waits(p.UID) {
		return 0
	}
	since := a.ReconciledAt
	if recorded := set.Recorded[a.Name]; recorded.Pending && recorded.TransitionedAt.After(since) {
		since = recorded.TransitionedAt
	}
	if last.Full && last.AtCompared && last.Phase != "Succeeded" && !set.Recorded[a.Name].Pending {
		return reviewEvery
	}
	return max(0, since.Add(overdueAfter).Sub(r.gate.Now()))
}

// judge decides about the sync that an Application waits for, on what is known without a read. While a known blocker
// still blocks, and waits for more than a comparison, nothing else matters.
func (r *Releaser) judge(in policy.Input, p *argocd.Projection, blocker *argocd.Projection) policy.Decision {
	in = r.gate.waiting(in, p)
	d, settled := policy.Scope(in)
	if !settled && blocker != nil {
		if b, blocks := policy.BlockedBy(in, d.Step, blocker.Name, &blocker.Application); blocks && !b.Reason.Stale() {
			d.Reason, d.Blockers, d.NotBefore = b.Reason, []policy.Blocker{b}, b.NotBefore
			return d
		}
	}
	if !settled {
		d = r.weigh(in, d)
	}
	if d.Outcome == policy.Allow && in.ApplicationSet.Recorded[p.Name].Pending && r.gate.repeats(in) {
		d.Outcome, d.Reason = policy.Deny, policy.AlreadySynced
	}
	return d
}

// waiting completes an input with the sync that an Application waits for, and with what the watches have seen of it.
func (g *Gate) waiting(in policy.Input, p *argocd.Projection) policy.Input {
	in.Target, in.Now, in.Window = waitingTarget(p, in.Settings.Pin), g.Now(), g.windowOf(p)
	in.Seen = g.Watch.Seen(in.ApplicationSet, g.Watch.Changed(p.UID, in.Target.Compared, p.Compared), g.Watch.ComparedAt(p.UID, in.Target.ReconciledAt))
	around, proven := g.Watch.DeployedWith(p.UID)
	in.Seen.Altered, in.Seen.Unproven, in.Seen.ContentSince = around != "" && around != p.Around, !proven, g.Watch.ContentSince(p.UID, p.Content)
	in.Seen.Deployed = g.Watch.Deployed(p.UID, p.Compared, p.Application.LastOperation.StartedAt)
	if in.Settings.Train {
		if proven := policy.Proven(in); proven != "" {
			in.Target.Wanted = []policy.Source{{Key: in.Target.Compared[0].Key, Revision: proven}}
			in.Target.Operation.Redeploys, in.Seen.Deployed = false, false
		}
	}
	return in
}

// waitingTarget is the Application with the operation that it waits for: to what it was last compared with.
func waitingTarget(p *argocd.Projection, pin bool) policy.Target {
	a := &p.Application
	compared := a.SpecCompared && (a.SyncStatus == "Synced" || a.SyncStatus == "OutOfSync") &&
		!slices.ContainsFunc(a.Compared, func(s policy.Source) bool { return s.Revision == "" })
	t := policy.Target{
		Name: a.Name, Labels: a.Labels, OldLabels: a.Labels, Managed: true, Deleting: a.Deleting,
		Operation:    policy.Operation{Written: true, Automated: true, Pinned: compared && (pin || p.AutoSync), Redeploys: a.LastSync.AtCompared},
		SpecCompared: compared, ReconciledAt: a.ReconciledAt, Compared: a.Compared, Wanted: a.Compared, Ran: a.Ran,
		SameSources: a.LastSync.SameSources,
	}
	last := a.LastOperation
	if last.Full && last.Phase == "Succeeded" {
		t.SyncStartedAt = last.StartedAt
	}
	t.OutOfSyncSince = a.SyncStatus == "OutOfSync" && !last.FinishedAt.IsZero() && a.ReconciledAt.After(last.FinishedAt)
	return t
}
