package release

import (
	"time"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/judge"
	"github.com/stepgate/stepgate/webhook/settings"
)

// Decide decides about the sync that an Application waits for, on what is known without a read. in is about its
// ApplicationSet.
func Decide(
	j *judge.Judge, in policy.Input, set *argocd.ApplicationSet, p *argocd.Projection, known judge.KnownSets,
) policy.Decision {
	d := decide(j, policy.Weigh, in, p, nil)
	return d.after(j, set, j.Parser.Of(set), p, known)
}

// after is the best decision, as far as the Application comes after others.
func (d *decided) after(
	j *judge.Judge, set *argocd.ApplicationSet, s settings.Settings, p *argocd.Projection, known judge.KnownSets,
) policy.Decision {
	return j.FollowKnown(d.in, d.best.Decision, set, s, p, known)
}

// weigher is policy.Weigh.
type weigher func(in policy.Input, open policy.Decision) policy.Decision

// decided is what was decided about the sync that an Application waits for.
type decided struct {
	// best is what to deploy or to wait for: what it was last compared with or, on a train, the best candidate. newest is
	// what it was compared with.
	best, newest policy.Candidate
	// in is the input.
	in policy.Input
	// train says that there may be other candidates than the compared one.
	train bool
	// at is when to look again, if nothing changes until then; zero when that is not known.
	at time.Time
}

// decide is Decide, and what else there is to say.
func decide(j *judge.Judge, weigh weigher, in policy.Input, p, blocker *argocd.Projection) (d decided) {
	in = j.Waiting(in, p)
	d.in = in
	if d.train = in.Settings.Train; d.train {
		all := policy.Candidates(in)
		d.newest = all[0]
		d.best, d.at = policy.Best(all)
	} else {
		d.newest = policy.Candidate{
			Sources: in.Target.Wanted, Compared: true, Decision: decideCompared(weigh, in, blocker),
		}
		d.best, d.at = d.newest, d.newest.NotBefore
	}
	if d.best.Outcome == policy.Allow && in.ApplicationSet.Recorded[p.Name].Pending && j.Repeats(in) {
		d.best.Outcome, d.best.Reason = policy.Deny, policy.AlreadySynced
	}
	return d
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
