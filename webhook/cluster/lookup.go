// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// Lookup tells whether an Application that a request speaks of exists. The API server does not say who calls a
// webhook: anybody who reaches the port can send a request about an Application that nobody has.
type Lookup struct {
	live Live
	seen *Histories
}

// NewLookup returns a Lookup that reads live only what the watches have not seen.
func NewLookup(live Live, seen *Histories) *Lookup { return &Lookup{live: live, seen: seen} }

// Exists reports whether the Application of this name has this UID, and one of the owners controls it, if any. Where that
// cannot be read, it does not.
func (w *Lookup) Exists(ctx context.Context, name types.NamespacedName, uid types.UID, owners []types.UID) bool {
	if uid == "" {
		return false
	}
	if w.seen.has(name, uid, owners) {
		return true
	}
	p, err := w.live.Application(ctx, name)
	return err == nil && p != nil && p.UID == uid && isOf(owners, p.Member().Owner)
}

// has reports whether an Application of one of the owners was seen with this name and UID.
func (s *Histories) has(name types.NamespacedName, app types.UID, owners []types.UID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.apps[app]
	return o != nil && o.p.Object() == name && isOf(owners, o.owner.UID)
}

// isOf reports whether the owner is one of these, or there is none, neither of them.
func isOf(owners []types.UID, owner types.UID) bool {
	return slices.Contains(owners, owner) || len(owners) == 0 && owner == ""
}
