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

// decide is Decide; on a train it is about the best candidate. at is when to look again, if nothing changes until then;
// zero when that is not known.
func decide(
	j *judge.Judge, weigh weigher, in policy.Input, p, blocker *argocd.Projection,
) (d policy.Decision, at time.Time) {
	in = j.Waiting(in, p)
	if in.Settings.Train {
		best, soonest := policy.Best(policy.Candidates(in))
		d, at = best.Decision, soonest
	} else {
		d = decideCompared(weigh, in, blocker)
		at = d.NotBefore
	}
	if d.Outcome == policy.Allow && in.ApplicationSet.Recorded[p.Name].Pending && j.Repeats(in) {
		d.Outcome, d.Reason = policy.Deny, policy.AlreadySynced
	}
	return d, at
}

// decideCompared decides about the compared revision alone. While a known blocker still blocks, and waits for more than
// a need, nothing else matters.
func decideCompared(weigh weigher, in policy.Input, blocker *argocd.Projection) policy.Decision {
	d, settled := policy.Scope(in)
	if settled {
		return d
	}
	if blocker != nil {
		if b, blocks := policy.BlockedBy(in, d.Step, blocker.Name, &blocker.Application); blocks && !b.Reason.Stale() {
			d.Reason, d.Blockers, d.NotBefore = b.Reason, []policy.Blocker{b}, b.NotBefore
			return d
		}
	}
	return weigh(in, d)
}
