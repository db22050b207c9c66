// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"strconv"
	"time"
)

// series is a parameter that changes from time to time: the values of the template, its destination, or the parameter
// that the generator gives to one Application alone. State n of it is the text prefix+n.
type series struct {
	prefix string
	landed []time.Duration
}

func newSeries(prefix string) *series {
	return &series{prefix: prefix, landed: []time.Duration{-time.Hour}}
}

func (s *series) text(n int) string { return s.prefix + strconv.Itoa(n) }

func (s *series) last() string { return s.text(len(s.landed) - 1) }

func (s *series) change(now time.Duration) { s.landed = append(s.landed, now) }

// states are how far an Application has come, by its components.
type states [6]int

// nothing is how far an Application has come that has never been deployed.
func nothing() states { return states{-1, -1, -1, -1, -1, -1} }

// The components after the sources.
const (
	ofValues = iota
	ofDestination
	ofParameter
	ofAround
	afterSources
)

// components are the sources, the values and the destination of the template, its own parameter, and what the template
// ignores.
func (m *member) components() int { return len(m.sources) + afterSources }

// part is what a component is counted by: a branch or a series. Two Applications share a component if it is the same. Of
// several sources of one branch, nth tells them apart by their positions.
type part struct {
	branch *branch
	nth    int
	series *series
}

// part of a source is its branch, or the dry one that it is hydrated from.
func (w *world) part(m *member, i int) part {
	switch i - len(m.sources) {
	case ofValues:
		return part{series: w.values}
	case ofDestination:
		return part{series: w.destination}
	case ofParameter:
		return part{series: m.parameter}
	case ofAround:
		return part{series: w.around}
	}
	if b := m.sources[i]; b.dry != nil {
		return part{branch: b.dry}
	}
	nth := 0
	for _, b := range m.sources[:i] {
		if b == m.sources[i] {
			nth++
		}
	}
	return part{branch: m.sources[i], nth: nth}
}

// count is how many states a component has had.
func (p part) count() int {
	if p.branch != nil {
		return len(p.branch.states)
	}
	return len(p.series.landed)
}

func (p part) landed(n int) time.Duration {
	if p.branch != nil {
		return p.branch.states[n].landed
	}
	return p.series.landed[n]
}

// same reports whether the component has the same content in two states.
func (w *world) same(m *member, i, a, b int) bool {
	p := w.part(m, i)
	if p.branch == nil {
		return a == b
	}
	path := w.path(m, i)
	return w.trees[p.branch.states[a].revision][path] == w.trees[p.branch.states[b].revision][path]
}

// deployed reports whether the content of a state is what the cluster has.
func (w *world) deployed(m *member, i, n int) bool { return w.has(&m.live.content, m, i, n) }

// has reports whether a content is, in one component, the content of a state.
func (w *world) has(c *content, m *member, i, n int) bool {
	p := w.part(m, i)
	if p.branch != nil {
		return w.trees[p.branch.states[n].revision][w.path(m, i)] == c.source[i]
	}
	return p.series.text(n) == c.text(i-len(m.sources))
}

// text is the content of a component that is counted by a series.
func (c *content) text(component int) string {
	switch component {
	case ofValues:
		return c.values
	case ofDestination:
		return c.destination
	case ofAround:
		return c.around
	}
	return c.parameter
}

// statesOf are the states of the components that an operation deploys. A revision that the branch pointed to more than
// once is the state that it was at a moment: when Argo CD resolved the branch to it.
func (w *world) statesOf(m *member, c content, revisions []string, at func(revision string) time.Duration) states {
	var found states
	for i := range m.components() {
		switch p := w.part(m, i); {
		case p.branch != nil:
			found[i] = m.truth.ran[i] // a revision that is on no branch
			if n := m.sources[i].stateOf(revisions[i], at(revisions[i])); n >= 0 {
				found[i] = n
				if p.branch != m.sources[i] {
					found[i] = m.sources[i].states[n].dry
				}
			}
		default:
			for n := range p.series.landed {
				if p.series.text(n) == c.text(i-len(m.sources)) {
					found[i] = n
				}
			}
		}
	}
	return found
}

// describe names a state of a component, and when it landed.
func (w *world) describe(m *member, i, n int) string {
	p := w.part(m, i)
	what := ""
	if p.branch != nil {
		what = p.branch.states[n].revision
	} else {
		what = "parameter " + p.series.text(n)
	}
	return fmt.Sprintf("%s (landed at %s)", what, seconds(p.landed(n)))
}
