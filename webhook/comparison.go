package webhook

import (
	"time"

	"github.com/stepgate/stepgate/policy"
)

// comparison is an Application that Argo CD has to compare again, so that a sync can go on.
type comparison struct {
	app string
	// why is the reason and its detail.
	why string
	// comparedAt is when Argo CD last compared it.
	comparedAt time.Time
	// settling says that its operation has just ended: up to Argo CD 3.5, its controller may overlook a request at that
	// moment.
	settling bool
	// synced says that the ApplicationSet controller only has to notice that it has synced, and is about to.
	synced bool
	// pending says that a refresh of it is requested already.
	pending bool
	// unpolled says that it is needed only if Argo CD has not compared the Application by itself for long, as where
	// polling is switched off.
	unpolled bool
}

// comparisons are what has to be compared again before a denied sync can go on: the siblings that hold it up only because
// they were compared too early, or the target itself where it is not ready. A sibling that is not Synced may be so only at
// the revision that it was compared with: that is looked at again where nobody polls.
func comparisons(d policy.Decision, t *policy.Target) []comparison {
	if d.Reason == policy.TargetNotCompared || d.Reason == policy.TargetOutdated {
		return []comparison{{app: d.Application, why: string(d.Reason), comparedAt: t.ReconciledAt}}
	}
	if d.Reason == policy.AlreadySynced {
		// Each sync is another reason: several rollouts may follow one another.
		why := string(d.Reason) + ": it started at " + t.SyncStartedAt.UTC().Format(time.TimeOnly)
		return []comparison{{app: d.Application, why: why, comparedAt: t.ReconciledAt, synced: true}}
	}
	var all []comparison
	for _, b := range d.Blockers {
		if b.Reason.Stale() || b.Reason.OfRevision() {
			all = append(all, comparison{
				app: b.Application, why: string(b.Reason) + " " + b.Detail, comparedAt: b.ComparedAt,
				pending: b.Reason == policy.RefreshPending, settling: b.Reason == policy.HealthStale, unpolled: !b.Reason.Stale(),
			})
		}
	}
	return all
}
