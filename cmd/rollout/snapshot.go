// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"

	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/cluster"
	"github.com/stepgate/stepgate/webhook/judge"
	"github.com/stepgate/stepgate/webhook/settings"
)

// Known is what is known of ApplicationSets and their Applications. A Snapshot is one, and so is cluster.Cache, which
// goes on watching.
type Known interface {
	judge.KnownSets
	judge.Histories
	judge.KnownProjects
	// Sets are all ApplicationSets.
	Sets() []*argocd.ApplicationSet
	// Alone are the Applications of no ApplicationSet that come after others.
	Alone() []*argocd.Projection
}

// Snapshot is what was read once.
type Snapshot struct {
	*cluster.Histories
	*judge.Objects
	// windows are the sync windows of AppProjects, by name.
	windows map[string]argo.SyncWindows
}

var _ Known = (*Snapshot)(nil)

// NewSnapshot returns a Snapshot of nothing. It sees nothing happen, so its clock stands still.
func NewSnapshot() *Snapshot {
	return &Snapshot{
		Histories: cluster.NewHistories(settings.At(time.Time{})), Objects: judge.NewObjects(),
		windows: map[string]argo.SyncWindows{},
	}
}

// AddProjects adds AppProjects to a Snapshot.
func (s *Snapshot) AddProjects(projects ...argo.AppProject) {
	for i := range projects {
		s.windows[projects[i].Name] = argocd.SyncWindows(&projects[i])
	}
}

// Windows implements webhook.KnownProjects.
func (s *Snapshot) Windows(project string) (argo.SyncWindows, bool) {
	windows, known := s.windows[project]
	return windows, known
}

// AddSet adds an ApplicationSet, or replaces the one of its name.
func (s *Snapshot) AddSet(set *argocd.ApplicationSet) {
	s.Objects.AddSet(set)
	s.Lend(set, true)
}

// Add adds objects to a Snapshot.
func (s *Snapshot) Add(set *argo.ApplicationSet, apps ...*argo.Application) {
	s.AddSet(argocd.NewApplicationSet(set))
	for _, app := range apps {
		s.add(argocd.NewProjection(app))
	}
}

func (s *Snapshot) add(p *argocd.Projection) {
	if s.AddApplication(p) {
		s.Trusted(p)
	}
}
