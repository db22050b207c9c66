// SPDX-License-Identifier: Apache-2.0

package policy

import "strings"

// notDone returns the first reason why a sibling of an earlier step is not done, or "" when it is done. The order of
// the rows is part of the rule: the reason names what has to change first.
func (in *Input) notDone(a *Application) (why stop) {
	if in.Settings.Candidates && in.completedTarget(a) {
		return in.notBroken(a)
	}
	for i := range siblingRows {
		r := &siblingRows[i]
		if !in.Settings.Require.asks(r.level) {
			break // all that follow are of this level or a stricter one
		}
		for k := range r.lacks {
			l := &r.lacks[k]
			if detail, ok := l.holds(in, a); ok {
				return a.asReported(stop{Reason: r.reason, detail: detail, next: l.next, ends: l.ends})
			}
		}
	}
	return why
}

// asReported is why an Application is not done, if need be as an agent reports it: no comparison here ends that.
func (a *Application) asReported(why stop) stop {
	if !a.Reported {
		return why
	}
	if why.next == RefreshIt {
		why.next = "wait for the next report of APP, or sync it: argocd app sync APP"
	}
	why.detail, why.ends = strings.TrimSuffix("as reported: "+why.detail, ": "), NoComparison
	return why
}

// healthyAt reports whether the ApplicationSet controller has found the Application Healthy and Synced at what it is
// compared with now. The controller records the revisions that it saw.
func (r Recorded) healthyAt(compared []Source) bool {
	if !r.Healthy || len(r.Revisions) == 0 || len(r.Revisions) > len(compared) {
		return false
	}
	for i, revision := range r.Revisions {
		if revision == "" || revision != compared[i].Revision {
			return false
		}
	}
	return true
}

// Behind reports whether the ApplicationSet controller records another revision as the last one at which it was Healthy
// than the compared one. It has to notice that, and may have slept: it does not wake up when nothing but the revision
// of an OutOfSync Application changes (argo-cd v3.5.7, shouldRequeueForApplication).
func (r Recorded) Behind(compared []Source) bool {
	return r.Healthy && len(r.Revisions) > 0 && !r.healthyAt(compared)
}

// completedTarget reports whether the sibling has completed everything that the target deploys, whatever it does now:
// it has gone on to another revision, or is about to. What the target changes beside the revision, at whatever revision
// it deploys it, the sibling has completed only since that change.
func (in *Input) completedTarget(a *Application) bool {
	_, wanted := in.mismatched(a.Compared)
	return (wanted != nil || a.Health == "Healthy" && a.SpecCompared) && in.completed(a) && in.sees(a) &&
		!in.pendingElsewhere(a) && (len(in.Target.Ran) == 0 || !in.changed() || in.completedSinceChange(a))
}

// sees reports whether the watch has seen the last operation of a sibling that was read: else the sibling may be on its way
// back from what it has completed.
func (in *Input) sees(a *Application) bool {
	past := in.History.Past(a.Name)
	operates := a.OperationSet || a.LastOperation.Running()
	return (!past.Idle || !operates) && (past.OperatedAt.IsZero() || past.OperatedAt.Equal(a.LastOperation.StartedAt))
}

// notBroken asks of a sibling that has completed what the target deploys only that it is not found broken: it may be on
// its way to a newer revision.
func (in *Input) notBroken(a *Application) (why stop) {
	switch {
	case a.Health != "Healthy" && a.Health != "Progressing":
		why.Reason, why.detail = NotHealthy, clean(a.Health)
	case !in.Settings.AllowFailedOperations && (in.failed(a) || a.LastFull.failed() && a.SyncStatus != "Synced"):
		why.Reason, why.detail, why.ends = OperationFailed, clean(a.LastFull.Phase), AnotherRevision
	}
	return why
}
