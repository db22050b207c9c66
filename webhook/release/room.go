package release

import (
	"slices"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	taken "github.com/stepgate/stepgate/webhook/places"
)

// room are the places of the step of an Application that may go; nil if nobody counts them. It goes by what is known
// without a read, and knows no place of a write that is not stored yet: the webhook counts those, and the sync is asked
// for again. As many Applications have a turn as places are free.
func (r *Releaser) room(l *look, p *argocd.Projection, c *policy.Candidate) *policy.Places {
	if !r.judge.Config.MaxUpdate || c.Outcome != policy.Allow || c.Step < 0 {
		return nil
	}
	s := &l.settings.Settings
	history := r.judge.Histories.History(&l.set.ApplicationSet, 0, 0)
	claim := taken.Claim{Set: l.set, Step: c.Step, Application: p.Name}.
		Within(s, nil, p.Application.Labels, history.Past(p.Name))
	seen := taken.Seen(l.set, l.in.Siblings, &claim)
	if seen == nil || seen.Most == 0 {
		return seen
	}
	for _, b := range l.turns[c.Step] {
		track := s.TrackOf(l.byName[b.Application].Application.Labels)
		if claim.Track != "" && track != "" && track != claim.Track {
			continue
		}
		if !slices.ContainsFunc(seen.Taken, func(t policy.Blocker) bool { return t.Application == b.Application }) {
			seen.Taken = append(seen.Taken, b)
		}
	}
	return seen
}

// reserve leaves one place less for the others while an Application has its turn, unless it has been asked for long ago,
// and nobody syncs it.
func (r *Releaser) reserve(l *look, p *argocd.Projection, c *policy.Candidate) {
	q := l.before.requests[turnOf(p, c.Sources).key()]
	if q != nil && q.asked > 0 && r.judge.Clock.Now().Sub(q.askedAt) >= overlookedAfter {
		return
	}
	l.turns[c.Step] = append(l.turns[c.Step], policy.Blocker{
		Application: p.Name, Step: c.Step, Reason: policy.MaxUpdateReached, Detail: "its turn has come",
	})
}
