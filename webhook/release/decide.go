package release

import (
	"time"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/judge"
)

// Decide decides about the sync that an Application waits for, on what is known without a read. in is about its
// ApplicationSet.
func Decide(j *judge.Judge, in policy.Input, p *argocd.Projection) policy.Decision {
	d, _ := decide(j, policy.Weigh, in, p, nil)
	return d
}

// weigher is policy.Weigh.
type weigher func(in policy.Input, open policy.Decision) policy.Decision

// decide is Decide. at is when to look again, if nothing changes until then; zero when that is not known. While a known
// blocker still blocks, and waits for more than a need, nothing else matters.
func decide(
	j *judge.Judge, weigh weigher, in policy.Input, p, blocker *argocd.Projection,
) (d policy.Decision, at time.Time) {
	in, at = j.Waiting(in, p)
	d, settled := policy.Scope(in)
	if !settled && blocker != nil {
		if b, blocks := policy.BlockedBy(in, d.Step, blocker.Name, &blocker.Application); blocks && !b.Reason.Stale() {
			d.Reason, d.Blockers, d.NotBefore = b.Reason, []policy.Blocker{b}, b.NotBefore
			return d, soonest(at, d.NotBefore)
		}
	}
	if !settled {
		d = weigh(in, d)
	}
	if d.Outcome == policy.Allow && in.ApplicationSet.Recorded[p.Name].Pending && j.Repeats(in) {
		d.Outcome, d.Reason = policy.Deny, policy.AlreadySynced
	}
	return d, soonest(at, d.NotBefore)
}

// soonest is the earlier one of two moments that are known.
func soonest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
