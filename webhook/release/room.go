// SPDX-License-Identifier: Apache-2.0

package release

import (
	"slices"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/outlook"
)

// room are the slots of the step of a sync that may go, with the turns of others; nil if nobody counts them. It goes by
// what is known without a read, and knows no slot of a write that is not stored yet: the webhook counts those, and the
// sync is asked for again. As many Applications have a turn as slots are free.
func (l *look) room(s *outlook.Sync) *policy.Slots {
	if s.Slots == nil || s.Slots.Most == 0 {
		return s.Slots
	}
	all := policy.Slots{Most: s.Slots.Most, Taken: slices.Clone(s.Slots.Taken)}
	for _, b := range l.turns[s.Best.Step] {
		track := l.Settings.TrackOf(l.byName[b.Application].Application.Labels)
		if s.Track != "" && track != "" && track != s.Track {
			continue
		}
		if !slices.ContainsFunc(all.Taken, func(t policy.Blocker) bool { return t.Application == b.Application }) {
			all.Taken = append(all.Taken, b)
		}
	}
	return &all
}

// reserve leaves one slot less for the others while an Application has its turn, unless it has been asked for long ago,
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
