// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"slices"
	"time"
)

// returns is what an Application has gone back from, by its components.
type returns struct {
	// asked is what operations have asked for, each once, in their order. What came after something that was gone back to
	// is not among it any more.
	asked [6][]wish
	// lost is when contents were taken back.
	lost [6]map[any]time.Duration
	// under says that no sync has succeeded since it was asked to go back: what the cluster has may still be what was
	// taken back.
	under bool
}

// wish is one component of what an operation asks for: the revision of a source, or what it has of a series; and what
// that deploys. To bring an old content as a new revision is not to go back.
type wish struct{ name, content any }

// asks is called when somebody asks an Application for a content. Who goes back to one takes back what was asked for
// after it, from that moment on.
func (w *world) asks(m *member, c content, revisions []string) {
	for i := range m.components() {
		x := wish{m.piece(&c, i), m.piece(&c, i)}
		if i < len(m.sources) {
			x.name = revisionAt(revisions, i)
		}
		all := &m.truth.asked[i]
		at := slices.IndexFunc(*all, func(a wish) bool { return a.name == x.name })
		if at < 0 {
			*all = append(*all, x)
			continue
		}
		for _, later := range (*all)[at+1:] {
			if later.content != x.content {
				w.takeBack(m, i, later.content)
			}
		}
		*all = (*all)[:at+1]
	}
}

// takeBack forgets that an Application has completed a content of a component.
func (w *world) takeBack(m *member, i int, x any) {
	r := &m.truth.returns
	if r.lost[i] == nil {
		r.lost[i] = map[any]time.Duration{}
	}
	r.lost[i][x], r.under = w.now, true
	for _, proved := range []map[content]time.Duration{m.proof.since, m.proof.first, m.proof.rested, m.proof.shown} {
		for c := range proved {
			if m.piece(&c, i) == x {
				delete(proved, c)
			}
		}
	}
	w.logf("%s has gone back: what it has completed of %v counts no more", m.name, x)
}

// finds is called when an Application is found to have completed what the cluster has.
func (m *member) finds() {
	for i := range m.components() {
		delete(m.truth.lost[i], m.piece(&m.live.content, i))
	}
}

// tookBack reports whether a content of a component had been taken back at a moment.
func (m *member) tookBack(i int, x any, at time.Duration) bool {
	lost, is := m.truth.lost[i][x]
	return is && lost < at
}

// completed reports whether an Application had completed a state of a component at a moment, and not gone back from it.
func (w *world) completed(m *member, i, n int, at time.Duration) bool {
	return m.truth.completed[i][n] && !m.tookBack(i, w.pieceAt(m, i, n), at)
}

// reached is the latest state of a component that an Application had completed at a moment, and not gone back from.
func (w *world) reached(m *member, i int, at time.Duration) int {
	n := m.truth.reached[i]
	for n >= 0 && !w.completed(m, i, n, at) {
		n--
	}
	return n
}

// piece is what a content has of one component.
func (m *member) piece(c *content, i int) any {
	if i < len(m.sources) {
		return c.source[i]
	}
	return c.text(i - len(m.sources))
}

// pieceAt is what one component has in a state.
func (w *world) pieceAt(m *member, i, n int) any {
	p := w.part(m, i)
	if p.branch != nil {
		return w.trees[p.branch.states[n].revision][w.path(m, i)]
	}
	return p.series.text(n)
}
