package release

import (
	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/judge"
)

// Decide decides about the sync that an Application waits for, on what is known without a read. in is about its
// ApplicationSet.
func Decide(j *judge.Judge, in policy.Input, p *argocd.Projection) policy.Decision {
	return decide(j, policy.Weigh, in, p, nil)
}

// weigher is policy.Weigh.
type weigher func(in policy.Input, open policy.Decision) policy.Decision

// decide is Decide. While a known blocker still blocks, and waits for more than a need, nothing else matters.
func decide(j *judge.Judge, weigh weigher, in policy.Input, p, blocker *argocd.Projection) policy.Decision {
	in = j.Waiting(in, p)
	d, settled := policy.Scope(in)
	if !settled && blocker != nil {
		if b, blocks := policy.BlockedBy(in, d.Step, blocker.Name, &blocker.Application); blocks && !b.Reason.Stale() {
			d.Reason, d.Blockers, d.NotBefore = b.Reason, []policy.Blocker{b}, b.NotBefore
			return d
		}
	}
	if !settled {
		d = weigh(in, d)
	}
	if d.Outcome == policy.Allow && in.ApplicationSet.Recorded[p.Name].Pending && j.Repeats(in) {
		d.Outcome, d.Reason = policy.Deny, policy.AlreadySynced
	}
	return d
}
