// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"github.com/stepgate/stepgate/policy"

	"github.com/stepgate/stepgate/webhook/argocd"
)

// Siblings returns the Applications of an ApplicationSet as last watched, with their steps. Callers share
// the slice, and must not change it.
func (s *Histories) Siblings(set *policy.ApplicationSet) []policy.Sibling {
	s.mu.Lock()
	f := s.families[OwnerOf(set)]
	if f == nil {
		s.mu.Unlock()
		return nil
	}
	f.arraysShared = true
	known, current := f.siblings, f.set == set
	s.mu.Unlock()
	if current {
		return known
	}
	found := make([]policy.Sibling, len(known))
	for i, sibling := range known {
		found[i] = set.Sibling(sibling.Application)
	}
	return found
}

// InSteps gives Applications their steps of an ApplicationSet: the kept one to an Application that was
// observed last, and a new one to any other. Where that gives the Siblings, it returns these. Callers share the slice.
func (s *Histories) InSteps(set *policy.ApplicationSet, apps []*argocd.Projection) []policy.Sibling {
	s.mu.Lock()
	var kept []policy.Sibling
	var names map[string]int
	if f := s.families[OwnerOf(set)]; f != nil && f.set == set {
		f.arraysShared, f.namesShared = true, true
		kept, names = f.siblings, f.names
	}
	s.mu.Unlock()
	found, all := make([]policy.Sibling, len(apps)), len(apps) == len(kept)
	for i, p := range apps {
		if at, is := names[p.Name]; is && kept[at].Application == &p.Application {
			found[i] = kept[at]
		} else {
			found[i], all = set.Sibling(&p.Application), false
		}
	}
	if all {
		return kept
	}
	return found
}

// KeepSteps keeps the steps of Applications of their ApplicationSet. Without it, each decision finds them
// again.
func (s *Histories) KeepSteps(set *policy.ApplicationSet) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.family(OwnerOf(set)).keepSteps(set, s.clock.Now())
}

// ForgetSteps forgets an ApplicationSet that is gone.
func (s *Histories) ForgetSteps(set *policy.ApplicationSet) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.families[OwnerOf(set)]; f != nil {
		f.set = nil
		s.drop(OwnerOf(set))
	}
}

// family returns the family of an Owner, and begins it. The caller holds the lock.
func (s *Histories) family(owner Owner) *family {
	f := s.families[owner]
	if f == nil {
		f = &family{names: map[string]int{}}
		s.families[owner] = f
	}
	return f
}

// drop drops a family of nobody. The caller holds the lock.
func (s *Histories) drop(owner Owner) {
	if f := s.families[owner]; f != nil && f.set == nil && len(f.members) == 0 {
		delete(s.families, owner)
	}
}
