package main

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

// newest is the state after the newest change.
func (m *member) newest() observer.State { return m.changes[len(m.changes)-1] }
