// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"github.com/stepgate/stepgate/test/argocd"
	"github.com/stepgate/stepgate/test/e2e/observer"
)

// source is where manifests of a member come from: a path of a branch, or a chart.
type source struct {
	repo *argocd.Repository
	path string
	// branch is where commits go. The Application names it, unless it names a tag.
	branch, tag string
	// charts is the repository of its chart; it has no repo then.
	charts *argocd.ChartRepository
	// revision is the one that the Application should deploy.
	revision string
}

// target is the targetRevision of the Application.
func (s *source) target() string {
	switch {
	case s.charts != nil:
		return chartRange
	case s.tag != "":
		return s.tag
	}
	return s.branch
}

func (s *source) url() string {
	if s.charts != nil {
		return s.charts.URL
	}
	return s.repo.URL
}

// sources are all sources of a member.
func (m *member) sources() []*source {
	if m.second == nil {
		return []*source{&m.source}
	}
	return []*source{&m.source, m.second}
}

// state is what the Application should deploy after the newest commits.
func (m *member) state() observer.State {
	s := observer.State{Revision: m.revision, Path: m.path, Destination: m.destination}
	if m.second != nil {
		s.Revision += "," + m.second.revision
		s.Path += "," + m.second.path
	}
	return s
}

// content is where the state comes from.
func (m *member) content() []source {
	var all []source
	for _, s := range m.sources() {
		all = append(all, *s)
	}
	return all
}

// trees are what git has at each change, "" where that is not known: a commit that does not touch the path of an
// Application leaves it as it was.
func (m *member) trees() []string {
	all := make([]string, len(m.changes)-len(m.contents), len(m.changes))
	for _, sources := range m.contents {
		tree := ""
		for _, s := range sources {
			if s.repo == nil {
				tree = ""
				break
			}
			tree += s.url() + " " + s.target() + " " + s.repo.Tree(s.revision, s.path) + " "
		}
		all = append(all, tree)
	}
	return all
}

// newest is the state after the newest change.
func (m *member) newest() observer.State { return m.changes[len(m.changes)-1] }
