package release

import (
	"time"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/judge"
	"github.com/stepgate/stepgate/webhook/settings"
)

// Deciding decides about the syncs that the Applications of one ApplicationSet wait for, at one moment, on what is
// known without a read: once about all that are alike.
type Deciding struct {
	judge    *judge.Judge
	set      *argocd.ApplicationSet
	settings settings.Settings
	known    judge.KnownSets
	weigh    weigher
	judged   map[policy.Key]*judged
}

// NewDeciding returns a Deciding. It is for one goroutine.
func NewDeciding(j *judge.Judge, set *argocd.ApplicationSet, known judge.KnownSets) *Deciding {
	return &Deciding{
		judge: j, set: set, settings: j.Parser.Of(set), known: known, weigh: policy.Weigh, judged: map[policy.Key]*judged{},
	}
}

// Of decides about the sync that an Application waits for. in is about its ApplicationSet.
func (d *Deciding) Of(in policy.Input, p *argocd.Projection) policy.Decision {
	found := d.decide(in, p, nil)
	return d.after(&found, p)
}

// after is the best decision, as far as the Application comes after others.
func (d *Deciding) after(found *decided, p *argocd.Projection) policy.Decision {
	return d.judge.FollowKnown(found.in, found.best.Decision, d.set, d.settings, p, d.known)
}

// weigher is policy.Weigh.
type weigher func(in policy.Input, open policy.Decision) policy.Decision

// judged is what was decided about Applications that are alike.
type judged struct {
	// best is what to deploy or to wait for: what it was last compared with or, on a train, the best candidate. newest is
	// what it was compared with.
	best, newest policy.Candidate
	// at is when to look again, if nothing changes until then; zero when that is not known.
	at time.Time
	// wanted and wantedNewest say that the comparisons are asked for that the two lack.
	wanted, wantedNewest bool
}

// decided is what was decided about the sync that an Application waits for. Its names are those of the Application.
type decided struct {
	judged
	// alike is the same about all that are alike; nil if nobody has looked for them.
	alike *judged
	// in is the input.
	in policy.Input
}

// decide decides what there is to decide without what comes before the steps. blocker is one that is known.
func (d *Deciding) decide(in policy.Input, p, blocker *argocd.Projection) decided {
	found := decided{in: d.judge.Waiting(in, p)}
	if stopped, blocks := blockedBy(found.in, blocker); blocks {
		found.newest = policy.Candidate{Sources: found.in.Target.Wanted, Compared: true, Decision: stopped}
		found.best, found.at = found.newest, stopped.NotBefore
		return found
	}
	key := policy.KeyOf(found.in)
	if d.judged[key] == nil {
		d.judged[key] = d.judgeFirst(found.in)
	}
	found.alike = d.judged[key]
	found.judged = *found.alike
	found.best.Decision, found.newest.Decision = found.best.For(p.Name), found.newest.For(p.Name)
	return found
}

// judgeFirst judges the first of some that are alike.
func (d *Deciding) judgeFirst(in policy.Input) *judged {
	first := &judged{}
	if in.Settings.Train {
		all := policy.Candidates(in)
		first.newest = all[0]
		first.best, first.at = policy.Best(all)
	} else {
		first.newest = policy.Candidate{Sources: in.Target.Wanted, Compared: true}
		var settled bool
		if first.newest.Decision, settled = policy.Scope(in); !settled {
			first.newest.Decision = d.weigh(in, first.newest.Decision)
		}
		first.best, first.at = first.newest, first.newest.NotBefore
	}
	pending, stopped := in.ApplicationSet.Recorded[in.Target.Name].Pending, in.Target.Stopped
	if first.best.Outcome == policy.Allow && (pending || stopped) && d.judge.Repeats(in) {
		first.best.Decision = first.best.Again(stopped)
	}
	return first
}

// blockedBy decides about a target that has no candidates, while a known blocker still blocks it and waits for more
// than a need: then nothing else matters.
func blockedBy(in policy.Input, blocker *argocd.Projection) (d policy.Decision, blocks bool) {
	if blocker == nil || in.Settings.Train {
		return d, false
	}
	d, settled := policy.Scope(in)
	if settled {
		return d, false
	}
	b, blocks := policy.BlockedBy(in, d.Step, blocker.Name, &blocker.Application)
	d.Reason, d.Blockers, d.NotBefore = b.Reason, []policy.Blocker{b}, b.NotBefore
	return d, blocks && !b.Ends.Stale()
}
