// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"strconv"
	"time"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
)

type argoHealth = health.HealthStatusCode

// addMember lays out the sources of an Application, and generates it.
func (w *world) addMember(name string, step int) *member {
	m := w.members[name]
	if m == nil {
		m = &member{
			name: name, resolvedAt: map[string]time.Duration{}, parameter: newSeries("p"), settled: w.now, truth: truth{
				admitting: admitting{admittedStep: step}, latest: admitting{admittedStep: step},
			},
		}
		if w.now == 0 {
			m.settled = -time.Hour
		}
		w.members[name] = m
		m.family = w.family(w.setup(name).Set)
		w.names = append(w.names, name)
		m.sources = w.sourcesOf(name, step)
	}
	m.generated = step
	return m
}

// sourcesOf are the branches that an Application deploys. The arrangements of repositories are
//
//	shared    one repository and branch for all
//	own       a repository for each Application
//	branches  one repository with a branch for each step
//	values    two sources: a repository of values that all share, and one of its own
//	twice     two sources of one repository and branch: values that all share, and its own
//	hydrated  one dry branch, hydrated to a branch for each Application
func (w *world) sourcesOf(name string, step int) []*branch {
	if from := w.setup(name).From; len(from) > 0 {
		var all []*branch
		for _, id := range from {
			all = append(all, w.branch(id, "https://git.example.com/"+id, "main"))
		}
		return all
	}
	url := func(repository string) string { return "https://git.example.com/" + repository }
	switch w.scenario.Layout {
	case "own":
		return []*branch{w.branch(name, url(name), "main")}
	case "branches":
		id := "step" + strconv.Itoa(step)
		return []*branch{w.branch(id, url("app"), id)}
	case "values":
		return []*branch{w.branch("values", url("values"), "main"), w.branch(name, url(name), "main")}
	case "twice":
		b := w.branch("app", url("app"), "main")
		return []*branch{b, b}
	case "hydrated":
		dry := w.branch("app", url("app"), "main")
		b := w.branch("env/"+name, url("app"), "env/"+name)
		b.dry, b.states[0].values = dry, w.values.text(0)
		return []*branch{b}
	}
	return []*branch{w.branch("app", url("app"), "main")}
}

// skew is how far the clock of an Application's controller is ahead.
func (w *world) skew(name string) time.Duration { return w.setup(name).Skew }

// setup is how an Application is set up; one that came later has no peculiarities.
func (w *world) setup(name string) Application { return w.setups[name] }

// hydratorStatus is what the hydrator has written into the status of an Application.
func (w *world) hydratorStatus(m *member, spec *argo.SourceHydrator) argo.SourceHydratorStatus {
	b := m.sources[0]
	last := b.states[b.head()]
	of := *spec
	of.DrySource.Helm = &argo.ApplicationSourceHelm{Values: last.values}
	status := argo.SourceHydratorStatus{LastSuccessfulOperation: &argo.SuccessfulHydrateOperation{
		DrySHA: b.dry.states[last.dry].revision, HydratedSHA: last.revision, SourceHydrator: of,
	}}
	at := w.stampAt(last.landed + w.skew(m.name))
	status.CurrentOperation = &argo.HydrateOperation{
		Phase: argo.HydrateOperationPhaseHydrated, FinishedAt: &at, DrySHA: b.dry.states[last.dry].revision,
		HydratedSHA:    last.revision,
		SourceHydrator: of,
	}
	if last.dry < b.dry.head() || last.values != spec.DrySource.Helm.Values {
		status.CurrentOperation.Phase, status.CurrentOperation.DrySHA = argo.HydrateOperationPhaseHydrating,
			b.dry.states[b.dry.head()].revision
		status.CurrentOperation.SourceHydrator = *spec
		if m.hydrationFails {
			status.CurrentOperation.Phase = argo.HydrateOperationPhaseFailed
		}
	}
	return status
}

// hydrate brings the dry commit, or the parameter, that an Application has not got yet to its own branch, and has it
// compared.
func (c *appController) hydrate(m *member, spec *argo.ApplicationSpec) {
	b := m.sources[0]
	n := b.dry.head()
	if m.hydrationFails || b.states[b.head()].dry >= n && !b.dryDiffers(spec) || m.hydrating {
		return
	}
	m.hydrating = true
	c.w.after(c.w.delay(2*time.Second), func() {
		m.hydrating = false
		revision := c.w.revision(b.id, len(c.w.trees))
		c.w.trees[revision] = map[string]int{m.name: c.w.trees[b.dry.states[n].revision][m.name]}
		b.states = append(b.states, state{
			revision: revision, landed: c.w.now, dry: n, values: spec.SourceHydrator.DrySource.Helm.Values,
		})
		c.refresh(m.name, forceResolve)
	})
}

// dryDiffers reports whether an Application was last hydrated from another source than it specifies.
func (b *branch) dryDiffers(spec *argo.ApplicationSpec) bool {
	return b.states[b.head()].values != spec.SourceHydrator.DrySource.Helm.Values
}
