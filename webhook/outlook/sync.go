// SPDX-License-Identifier: Apache-2.0

package outlook

import (
	"time"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/slots"
)

// Sync is the sync that an Application waits for, or would wait for, and what is decided about it.
type Sync struct {
	// Decision is what becomes of it now.
	policy.Decision
	// Input is what it is judged by if it deploys what the Application was last compared with.
	Input policy.Input
	// Newest is that, and Best what to deploy, or to wait for: with pin=candidate, the best candidate, else the same.
	Newest, Best policy.Candidate
	// At is when to look again, if nothing changes until then; zero when that is not known.
	At time.Time
	// Slots says who has the slots of the step, one of which it needs; nil if it needs none. The Decision counts them. Track
	// is the track of the slot; empty if it counts in each.
	Slots *policy.Slots
	Track string
	// Alike is the same for all syncs of which the rule has nothing else to say, but for their names; zero if a known
	// blocker has settled it. DeniesAlike says that it denies all of them.
	Alike       policy.Key
	DeniesAlike bool
}

// Deploying is what it is judged by if it deploys the best candidate.
func (s *Sync) Deploying() policy.Input {
	if !s.Input.Settings.Candidates {
		return s.Input
	}
	return policy.Deploying(s.Input, s.Best)
}

// alike is what was decided about Applications that are alike, but for what comes before their ApplicationSet.
type alike struct {
	best, newest policy.Candidate
	at           time.Time
	// unmet are the conditions that do not hold, once somebody has asked.
	unmet []policy.Decision
	asked bool
}

// Next is the sync of an Application that is to come.
func (o *Outlook) Next(p *argocd.Projection) Sync { return o.NextUnless(p, nil) }

// NextUnless is Next. blocker is an Application that is known to have blocked it a while ago; nil if none is: while that
// still does, and waits for more than a comparison, nothing else matters.
func (o *Outlook) NextUnless(p, blocker *argocd.Projection) Sync {
	s := Sync{Input: o.judge.Waiting(o.Input, p)}
	if stopped, blocks := blockedBy(s.Input, blocker); blocks {
		s.Newest = policy.Candidate{Sources: s.Input.Target.Wanted, Compared: true, Decision: stopped}
		s.Best, s.At = s.Newest, stopped.NotBefore
	} else {
		s.Alike = o.keys.Of(s.Input)
		found := o.alike(s.Alike, s.Input)
		s.Best, s.Newest, s.At, s.DeniesAlike = found.best, found.newest, found.at, found.best.Outcome == policy.Deny
		s.Best.Decision, s.Newest.Decision = s.Best.For(p.Name), s.Newest.For(p.Name)
	}
	s.Best.Decision = o.judge.FollowKnown(s.Input, s.Best.Decision, o.Set, o.Settings, p, o.known)
	s.Slots, s.Track = o.slots(p, s.Best.Decision)
	s.Decision = s.Best.WithSlots(s.Slots)
	return s
}

// alike decides once about all that are alike.
func (o *Outlook) alike(key policy.Key, in policy.Input) *alike {
	found := o.judged[key]
	if found == nil {
		found = o.first(in)
		o.judged[key] = found
	}
	return found
}

// first judges the first of some that are alike.
func (o *Outlook) first(in policy.Input) *alike {
	first := &alike{}
	if in.Settings.Candidates {
		all := policy.Candidates(in)
		first.newest = all[0]
		first.best, first.at = policy.Best(all)
	} else {
		first.newest = policy.Candidate{Sources: in.Target.Wanted, Compared: true}
		var settled bool
		if first.newest.Decision, settled = policy.Scope(in); !settled {
			first.newest.Decision = o.weigh(in, first.newest.Decision)
		}
		first.best, first.at = first.newest, first.newest.NotBefore
	}
	pending, stopped := in.ApplicationSet.Recorded[in.Target.Name].Pending, in.Target.Stopped
	if first.best.Outcome == policy.Allow && (pending || stopped) && o.judge.Repeats(in) {
		first.best.Decision = first.best.Again(stopped)
	}
	return first
}

// blockedBy decides about a target that has no candidates, while a known blocker still blocks it and waits for more
// than a comparison.
func blockedBy(in policy.Input, blocker *argocd.Projection) (d policy.Decision, blocks bool) {
	if blocker == nil || in.Settings.Candidates {
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

// slots says who has the slots that an Application needs one of, which may go otherwise, and in which track it needs one.
func (o *Outlook) slots(p *argocd.Projection, d policy.Decision) (all *policy.Slots, track string) {
	if o.seen == nil || d.Outcome != policy.Allow || d.Step < 0 || d.Repairs(p.AutoSync) {
		return nil, ""
	}
	c := slots.Claim{Set: o.Set, Application: p.Name, UID: p.UID, Step: d.Step, Version: p.ResourceVersion}
	c = c.Within(&o.Settings.Settings, nil, p.Application.Labels, o.Input.History.Past(p.Name))
	return o.seen.Slots(&c), c.Track
}

// Unmet are the conditions that do not hold for a sync, each as a denial of its own.
func (o *Outlook) Unmet(s *Sync) (all []policy.Decision) {
	found := o.alike(s.Alike, s.Input)
	if !found.asked {
		found.unmet, found.asked = policy.Unmet(s.Deploying()), true
	}
	for _, d := range found.unmet {
		all = append(all, d.For(s.Input.Target.Name))
	}
	return all
}

// ToCome are the syncs that are to come, by the name of the Application: of those that are OutOfSync, or that the
// ApplicationSet's status records as Pending, and that have no operation. Those that are alike share their blockers:
// nobody changes these.
func (o *Outlook) ToCome() map[string]*Sync {
	if o.toCome != nil {
		return o.toCome
	}
	o.toCome = map[string]*Sync{}
	for _, p := range o.Applications {
		if o.waits(p) {
			s := o.Next(p)
			o.toCome[p.Name] = &s
		}
	}
	return o.toCome
}

// waits reports whether a sync of an Application is to come.
func (o *Outlook) waits(p *argocd.Projection) bool {
	a := &p.Application
	return !a.Deleting && !a.OperationSet && !a.LastOperation.Running() &&
		(a.SyncStatus != "Synced" || o.Set.Recorded[a.Name].Pending)
}
