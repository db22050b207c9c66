// SPDX-License-Identifier: Apache-2.0

package proof

// beginnings are the worlds that all histories begin with. Each follows from the one before: all is deployed at the first
// commit; the second one has landed, and the first step has completed it; the second step has completed it as well.
func (g *gate) beginnings() (all []world) {
	w := world{now: gap}
	for i := range int8(len(names)) {
		w.apps[i] = g.of(application{number: i, at: none, health: missing})
		w.cluster[i] = target{revision: none, before: none, health: missing, beforeHealth: missing}
		w.truth[i].synced = none
	}
	w.restart()
	for i := range int8(len(names)) {
		w = w.compareAll(g)
		w = w.rollOut(g, i)
	}
	all = append(all, w.beginning())
	w = w.after(move{kind: pushes}, g)
	w = w.compareAll(g)
	for i := range int8(len(names)) - 1 {
		w = w.rollOut(g, i)
		all = append(all, w.beginning())
	}
	return all
}

// beginning forgets how it came to this.
func (w *world) beginning() world {
	next := *w
	next.path = nil
	return next
}

func (w *world) compareAll(g *gate) world {
	next := *w
	for i := range int8(len(names)) {
		next = next.refreshed(g, i)
	}
	return next
}

// rollOut has the ApplicationSet controller sync an Application, which has to be admitted.
func (w *world) rollOut(g *gate, i int8) world {
	at := w.apps[i].at
	m := move{kind: starts, app: i, how: uint8(byController), revision: at}
	next := w.after(m, g)
	next = next.after(move{kind: ends, app: i, how: well}, g)
	return next.refreshed(g, i)
}

// refreshed is after a refresh that was asked for.
func (w *world) refreshed(g *gate, i int8) world {
	next := w.after(move{kind: requests, app: i}, g)
	return next.after(move{kind: compares, app: i, how: ofNewest}, g)
}
