// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/cluster"
)

// Watch is a judge.Histories that is told what it has seen. Positions are those of history.Completions.
type Watch struct {
	// At is the position now, ChangedAt that of prod's change, Compared that of its last comparison, Requested that of
	// the newest request for a refresh, and Fresh those of answered refreshes by name.
	At, ChangedAt, Compared, Requested uint64
	Fresh                              map[string]uint64
	// Synced is what Applications were found Synced with; the zero Content is what App makes, at no revision. Unseen says
	// that they were not seen Synced. OperatedAt is the start of the last operation that was seen.
	Synced     argocd.Content
	Unseen     bool
	OperatedAt time.Time
	// Completed are the contents that Applications were seen to complete, by name, in operations that OperatedAt started.
	Completed map[string][]policy.Source
	// Stale are those that Past does not show to be compared freshly.
	Stale map[types.UID]bool
	// Relabelled is the name of the Application whose labels have just changed.
	Relabelled string
	// The times, and PassEnded, are what policy.History has.
	ContentAt, Joined, Respecified time.Time
	PassEnded                      bool
}

// Found is judge.Histories.
func (s *Watch) Found(app types.UID, operatedAt time.Time) (found argocd.Content) {
	switch {
	case s.Unseen, s.Synced.Revised != "" && !s.OperatedAt.Equal(operatedAt):
		return found
	case s.Synced != found:
		return s.Synced
	}
	return argocd.ContentOf(&App(strings.TrimSuffix(string(app), "-uid"), "", "", "").Spec)
}

// RequestedSince is judge.Histories.
func (s *Watch) RequestedSince(_ types.UID, position uint64) bool {
	return s.Requested > position
}

// Known is judge.Histories.
func (s *Watch) Known(types.UID) bool { return true }

// Position is judge.Histories.
func (s *Watch) Position() uint64 { return s.At }

// ContentSince is judge.Histories.
func (s *Watch) ContentSince(types.UID, argocd.Content) (since time.Time, byAnother, ended bool) {
	return s.ContentAt, false, s.PassEnded
}

// Changed is judge.Histories.
func (s *Watch) Changed(types.UID, []policy.Source, argocd.Fingerprint) uint64 {
	return s.ChangedAt
}

// ComparedAt is judge.Histories.
func (s *Watch) ComparedAt(types.UID, time.Time) uint64 { return s.Compared }

// Past is judge.Histories. All that is not of guestbook is compared freshly, unless Stale says otherwise.
func (s *Watch) Past(app types.UID, _, _ uint64) policy.Past {
	if s.Stale[app] {
		return policy.Past{}
	}
	return policy.Past{Freshness: policy.Fresh}
}

// History is judge.Histories.
func (s *Watch) History(_ *policy.ApplicationSet, changed, compared uint64) policy.History {
	return policy.History{Joined: s.Joined, Respecified: s.Respecified, Of: func(name string) policy.Past {
		position := s.Fresh[name]
		past := policy.Past{Relabelled: name == s.Relabelled}
		if position > changed {
			past.Freshness = policy.Fresh
		}
		if position > max(changed, compared) {
			past.Freshness = policy.Newest
		}
		for _, source := range s.Completed[name] {
			past.Completions = append(past.Completions, policy.Completion{
				Sources: []policy.Source{source}, OperatedAt: s.OperatedAt,
			})
		}
		return past
	}}
}

// Watched is what the watches know of a cluster: everything, as it is.
type Watched struct{ *Cluster }

// Set is judge.KnownSets.
func (w Watched) Set(name types.NamespacedName) (*argocd.ApplicationSet, cluster.Version) {
	for _, set := range w.Cluster.Sets {
		if set.Namespace == name.Namespace && set.Name == name.Name {
			return argocd.NewApplicationSet(set), cluster.Version{}
		}
	}
	if parent, is := policy.ParentNamed(name.Name); is {
		if p := w.Application(types.NamespacedName{Namespace: name.Namespace, Name: parent}); p != nil {
			return cluster.WithSets(w, p.Waves), cluster.Version{}
		}
	}
	return nil, cluster.Version{}
}

// Owned is judge.KnownSets.
func (w Watched) Owned(owner types.UID) []*argocd.Projection {
	var all []*argocd.Projection
	for _, app := range w.Apps {
		if p := w.Tracking.Projection(app); p.Member().Owner == owner {
			all = append(all, p.Member())
		} else if p.UID == owner && p.FollowsAlone() {
			all = append(all, p)
		}
	}
	all = cluster.Members(w, owner, all)
	for _, object := range w.Cluster.Sets {
		set := argocd.NewApplicationSet(object)
		if !set.Lends(owner) {
			continue
		}
		for _, p := range w.Owned(types.UID(set.UID)) {
			all = append(all, set.Lend(p))
		}
	}
	return all
}

// Application is judge.KnownSets.
func (w Watched) Application(name types.NamespacedName) *argocd.Projection {
	object := argocd.ObjectName(name)
	for _, app := range w.Apps {
		if app.Namespace == object.Namespace && app.Name == object.Name {
			return w.Tracking.Projection(app).As(name)
		}
	}
	return nil
}

// Alone are the Applications of no ApplicationSet that come after others.
func (w Watched) Alone() []*argocd.Projection {
	var all []*argocd.Projection
	for _, app := range w.Apps {
		if p := w.Tracking.Projection(app); p.FollowsAlone() {
			all = append(all, p)
		}
	}
	return all
}

// Sets are all ApplicationSets.
func (w Watched) Sets() []*argocd.ApplicationSet {
	var all []*argocd.ApplicationSet
	for _, set := range w.Cluster.Sets {
		all = append(all, argocd.NewApplicationSet(set))
	}
	for _, app := range w.Apps {
		if p := w.Tracking.Projection(app); p.Waves != nil {
			all = append(all, cluster.WithSets(w, p.Waves))
		}
	}
	return all
}
