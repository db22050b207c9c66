// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"slices"
	"strings"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"

	"github.com/stepgate/stepgate/policy"
)

// sight is what could be seen when an operation was admitted.
type sight struct {
	// target is the Application before the write, and spec what it specified after it.
	target *argo.Application
	spec   argo.ApplicationSpec
	apps   map[string]*argo.Application
}

// miss is an early start in the making: m starts at these states, its component i is the new one, and e has not reached
// state need of its component j.
type miss struct {
	m, e *member
	at   states
	i, j int
	need int
}

// kind guesses which finding of the review an early start belongs to. It only tells readers where to look.
func (w *world) kind(x miss) string {
	seen := x.m.truth.seen
	target, sibling := seen.target, seen.apps[x.e.name]
	switch {
	case x.m.truth.verdict.Reason == "Rollback" && x.i >= len(x.m.sources):
		return "rollback destination" // the old revision, in a destination that nobody has tried
	case x.m.truth.verdict.Reason == "Rollback":
		return "A4"
	case target == nil || target.Status.ReconciledAt == nil:
		return "A10" // never compared
	case sibling == nil:
		return "new"
	case w.part(x.m, x.i).landed(x.at[x.i]) > x.m.truth.admitted, x.i >= len(x.m.sources) &&
		!w.specifies(seen.spec, x.m, x.i, x.at[x.i]):
		return "A2" // it landed, or was written, after the operation was admitted
	case x.i < len(x.m.sources) && !slices.Contains(target.Status.GetRevisions(), w.startedAt(x)):
		return "A1"
	case x.j == len(x.e.sources)+ofParameter:
		return "parameter"
	case x.j >= len(x.e.sources):
		return w.templateKind(x, sibling)
	case x.e.sources[0].dry != nil:
		return "A8"
	}
	return w.revisionKind(x, target, sibling)
}

// startedAt is the revision that a component was resolved to.
func (w *world) startedAt(x miss) string {
	b := x.m.sources[x.i]
	if b.dry == nil {
		return b.states[x.at[x.i]].revision
	}
	for _, s := range b.states {
		if s.dry == x.at[x.i] {
			return s.revision
		}
	}
	return ""
}

// specifies reports whether a specification has this state of a component that is no source.
func (w *world) specifies(spec argo.ApplicationSpec, m *member, i, n int) bool {
	c := w.contentOf(&spec, nil)
	return c.text(i-len(m.sources)) == w.part(m, i).series.text(n)
}

func (w *world) templateKind(x miss, sibling *argo.Application) string {
	switch {
	case !w.specifies(sibling.Spec, x.e, x.j, x.need):
		return "A3" // its specification was not written yet
	case sibling.Status.Sync.Status == argo.SyncStatusCodeOutOfSync && x.j == len(x.e.sources)+ofDestination:
		return "A9" // taken for drift
	}
	return "template"
}

func (w *world) revisionKind(x miss, target, sibling *argo.Application) string {
	need := x.e.sources[x.j].states[x.need].revision
	if w.part(x.m, x.i) != w.part(x.e, x.j) {
		shared := slices.ContainsFunc(x.m.sources, func(b *branch) bool { return slices.Contains(x.e.sources, b) })
		older := sibling.Status.ReconciledAt.Before(target.Status.ReconciledAt)
		switch {
		case slices.Contains(sibling.Status.GetRevisions(), need):
			return seenKind(x)
		case shared:
			return "A7"
		case older:
			return "A10"
		}
		return "A6"
	}
	started := w.startedAt(x)
	switch {
	case slices.Contains(sibling.Status.GetRevisions(), started):
		return seenKind(x)
	case slices.ContainsFunc(sibling.Status.History, func(h argo.RevisionHistory) bool {
		return h.Revision == started || slices.Contains(h.Revisions, started)
	}):
		return "A5"
	}
	return "A6"
}

// seenKind is of a sibling that was compared with what it has not completed.
func seenKind(x miss) string {
	if x.e.live.pending {
		return "failed hook" // and only in the operation state, of another revision
	}
	return "seen"
}

// Stuck is an Application that hangs because of the gate.
type Stuck struct {
	Target string
	// Kind is a guess at the finding.
	Kind string
	// Refusal is what the gate said last.
	Refusal string
}

func (s Stuck) String() string {
	return "STUCK: " + s.Target + " [" + s.Kind + "]: " + s.Refusal
}

// stuckKind guesses why an Application is stuck.
func (w *world) stuckKind(m *member) Stuck {
	s := Stuck{Target: m.name, Kind: "?", Refusal: m.truth.refused.Message}
	if m.generated == 0 {
		s.Kind = "deletion" // while a write is refused, nothing is deleted
		return s
	}
	x := m.truth.refusedWrite
	if x.New == nil {
		s.Kind = "never asked"
		for _, name := range w.names {
			if other := w.members[name]; other != m && other.truth.refusedWrite.New != nil &&
				stepOf(other.truth.refusedWrite.Old) != stepOf(other.truth.refusedWrite.New) {
				s.Kind = "B1"
			}
		}
		return s
	}
	if x.Old != nil && stepOf(x.Old) != stepOf(x.New) {
		s.Kind = "B1"
		return s
	}
	if m.truth.refused.Blockers == "" {
		s.Kind = string(m.truth.refused.Reason)
		return s
	}
	why := m.truth.refused.Message
	for _, blocker := range strings.Split(m.truth.refused.Blockers, ",") {
		name, reason, _ := strings.Cut(blocker, "=")
		e := w.members[name]
		switch {
		case reason == "NotCompleted" && strings.Contains(why, name+" (NotCompleted: "+policy.ChangeUnseen):
			s.Kind = "B2"
		case reason == "NotCompleted" && strings.Contains(why, name+" (NotCompleted: compared to "):
			s.Kind = "stale target"
		case reason == "NotCompleted" && e != nil && e.live.drifted:
			s.Kind = "B3"
		case reason == "NotCompleted" && e != nil:
			s.Kind = "stale blocker" // it is done, and was compared before
		case s.Kind == "?":
			s.Kind = reason
		}
	}
	return s
}
