// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"cmp"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/settings"
)

// state is what an Application shows by itself, and what holds others up about it.
func (j *judgment) state(a *policy.Application) Application {
	shown := Application{
		Name: a.Name, Health: cmp.Or(a.Health, "Unknown"), Sync: cmp.Or(a.SyncStatus, "Unknown"),
		NotCounted: policy.NotCounted(j.Input, a), Syncing: a.OperationSet || a.LastOperation.Running(),
		open: j.Settings.Mode != settings.Enforce,
	}
	b, blocks := policy.NotDone(j.Input, a)
	if !blocks {
		b, blocks = j.blockers[a.Name]
	}
	shown.Done = !blocks || shown.NotCounted != ""
	if blocks {
		shown.because(b)
	}
	if s, waits := j.waiting[a.Name]; waits {
		shown.toCome(s.Decision)
	}
	if first, waits := j.needs.First[a.Name]; waits {
		shown.Need = first + 1
	}
	if shown.MayStart && j.failed[a.Name] {
		shown.MayStart, shown.Done = false, false
		shown.Reason, shown.Detail = string(policy.OperationFailed), a.LastFull.Phase
	}
	return shown
}

func (j *judgment) application(a *policy.Application, step int) Application {
	recorded, listed := j.Set.Recorded[a.Name]
	shown := j.state(a)
	shown.Cluster, shown.Revisions = policy.Printable(a.Cluster, mostText), revisionsOf(a.Compared)
	shown.ran, shown.Track = revisionsOf(a.Ran), j.Input.Settings.TrackOf(a.Labels)
	if n := len(a.Compared); n > 0 && len(a.Ran) > 0 {
		shown.Runs, shown.Since = revisionsOf(a.Ran[max(0, len(a.Ran)-n):]), timeOf(a.LastSync.Since)
	}
	if listed && j.Set.RollingSync {
		shown.Believed = believed(recorded)
		shown.Differs = differs(recorded, a, &shown, step)
	}
	behind := j.behind(a)
	shown.behind = behind != ""
	if shown.behind && shown.Done && shown.NotCounted == "" {
		shown.Done = false
		shown.because(policy.Blocker{
			Application: a.Name, Reason: policy.NotCompleted, Detail: behind, Next: policy.RefreshIt, Ends: policy.CompareAgain,
		})
	}
	return shown
}

// because says why it is not done.
func (a *Application) because(b policy.Blocker) {
	a.Reason, a.Detail, a.do, a.ends = string(b.Reason), b.Detail, doAbout(b), b.Ends
}

// mostNamed is how many of those are named for which an Application waits: thousands may wait for thousands.
const mostNamed = 20

// toCome says what the sync waits for that is to come.
func (a *Application) toCome(d policy.Decision) {
	switch {
	case d.Outcome != policy.Deny:
		a.MayStart = true
		return
	case len(d.Blockers) == 0:
		a.Held = string(d.Reason)
		if d.Reason == policy.AlreadySynced && d.Detail != "" {
			a.Waits = d.Detail + ": argocd app sync " + a.Name
		}
	default:
		all := actFirst(d)
		for i := range all[:min(len(all), mostNamed)] {
			a.WaitsFor = append(a.WaitsFor, all[i].Named())
		}
		a.WaitsForMore = len(all) - len(a.WaitsFor)
	}
	a.Refused = d.Refused
	if d.Reason.Condition() {
		a.Held, a.Waits = string(d.Reason), unmet(d).Text
	}
}
