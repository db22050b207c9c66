// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The service accounts and the user who write.
const (
	applicationSetAccount = "system:serviceaccount:argocd:argocd-applicationset-controller"
	applicationAccount    = "system:serviceaccount:argocd:argocd-application-controller"
	serverAccount         = "system:serviceaccount:argocd:argocd-server"
)

// world is everything that there is: git, the clusters, the API server, Argo CD and the gate.
type world struct {
	clock
	git
	scenario *Scenario
	// setups are its Applications, by name.
	setups map[string]Application
	traits traits
	// values, destination and around are what the template of the ApplicationSet gives to all.
	values, destination, around *series
	// members are the Applications, by name, as they really are. A removed one stays, without being generated.
	members map[string]*member
	names   []string
	api     *api
	app     *appController
	// families are the ApplicationSets.
	families []*family
	gate     Gate
	random   uint64
	// outageUntil is when the mutating webhook can be reached again.
	outageUntil time.Duration
	// lags delay the next delivery of a watch.
	lags map[string]time.Duration
	// refusals counts what the gate has refused.
	refusals int
	// early are the starts that came too early.
	early []Early
	// limits are those that no gate can prevent: see Early.
	limits []Early
	// conditions are what steps wait for beside the order, and starts the syncs that have waited for one.
	conditions conditions
	starts     []Start
	// evidence is what objects say about revisions.
	evidence testimonies
	// startsBySelf counts the syncs that stepgate has started.
	startsBySelf int
	// refreshes counts the comparisons that stepgate has asked for.
	refreshes int
	// waited is how long syncs that were due took to start.
	waited []time.Duration
	// disturbed is when something last happened that ends no condition, and restarted when a replica of stepgate last
	// started again.
	disturbed, restarted time.Duration
	// unusual says that there has been an outage, or a watch was slow: nobody wonders then that syncs are late.
	unusual bool
	trace   func(at time.Duration, text string)
	// observe is told what happens; nil if nobody watches.
	observe func(Observation)
}

// member is one Application in the world's own truth.
type member struct {
	name    string
	sources []*branch
	family  *family
	// parameter is what the generator gives to it alone.
	parameter *series
	// generated is the step that the generator gives it, 0 when it is not generated.
	generated int
	// specified is when the ApplicationSet controller last wrote its spec.
	specified time.Duration
	// settled is when its step, generated or live, last changed.
	settled time.Duration
	live    live
	truth   truth
	// resolvedAt is when a branch was last resolved to a revision for a comparison whose result has been stored.
	resolvedAt map[string]time.Duration
	// pending are the next slow or failing things.
	slowCompare, slowSync time.Duration
	// slowAnswer is how long the answer takes to the ApplicationSet controller's next write that changes nothing.
	slowAnswer time.Duration
	// slowWrite is how long the ApplicationSet controller's next write of its spec waits, as for another admission
	// webhook.
	slowWrite time.Duration
	// amid says that stepgate is started again in the middle of its next sync.
	amid bool
	// invalid says that the ApplicationSet controller does not write it, because it is not valid.
	invalid bool
	// relabelled says that a user has given it another step.
	relabelled bool
	// imaged says that an image updater writes its parameter, which the ApplicationSet controller leaves as it is.
	imaged bool
	// leftover says that a resource stays in the cluster that git does not have, and nobody prunes.
	leftover bool
	// slowCluster is how long the application controller does not see the next change that a sync makes in the cluster.
	// Meanwhile before is what it still has in its cache.
	slowCluster time.Duration
	before      *live
	failing     int
	windowUntil time.Duration
	// closedUntil is when a sync window opens of which stepgate knows, too.
	closedUntil time.Duration
	proof       proof
	// written is when Argo CD last wrote something about it that matters.
	written time.Duration
	// ordered is when its sync was last held or denied for the order.
	ordered        time.Duration
	hydrationFails bool
	hydrating      bool
	// due is since when it could be deployed something, and is not; zero if it is not.
	due time.Duration
	// operates is what its sync that runs, or ran last, deploys.
	operates string
	// wasDone is for whoever watches.
	wasDone bool
	// spec is the last specification that was asked for, and specOf the parameters that it has.
	spec   argo.ApplicationSpec
	specOf specOf
}

func newWorld(s *Scenario, trace func(time.Duration, string)) *world {
	w := &world{
		clock: newClock(len(s.Applications)), scenario: s, traits: traitsOf(s.Version), members: map[string]*member{},
		setups: make(map[string]Application, len(s.Applications)),
		lags:   map[string]time.Duration{}, trace: trace, random: uint64(s.Jitter),
	}
	for _, a := range s.Applications {
		w.setups[a.Name] = a
	}
	w.forget()
	w.conditions = conditions{
		texts: map[string]string{}, changed: map[int]time.Duration{}, kinds: map[string]bool{}, waves: s.waves(),
	}
	w.evidence = noTestimonies()
	w.hashes = s.Hashes
	w.values, w.destination, w.around = newSeries("v"), newSeries("ns"), newSeries("i")
	w.api = newAPI(w)
	w.newFamilies()
	for _, f := range w.families {
		f.controller = newSetController(w, f)
	}
	w.app = newAppController(w)
	for _, a := range s.Applications {
		w.addMember(a.Name, a.Step)
	}
	for _, f := range w.families {
		w.api.writeSet(w.newSet(f))
	}
	for _, name := range w.names {
		w.install(w.members[name])
	}
	return w
}

// logf traces what happens, for whoever reads a counterexample.
func (w *world) logf(format string, args ...any) {
	if w.trace != nil {
		w.trace(w.now, fmt.Sprintf(format, args...))
	}
}

// stamp is the virtual time as the API server stores it: to the second.
func (w *world) stamp() metav1.Time { return w.stampAt(w.now) }

func (*world) stampAt(at time.Duration) metav1.Time {
	return metav1.NewTime(epoch.Add(at).Truncate(time.Second))
}

// delay is a duration about base: always base where the scenario has no jitter, and now and then much longer where it
// has.
func (w *world) delay(base time.Duration) time.Duration {
	if w.scenario.Jitter == 0 {
		return base
	}
	w.random += 0x9e3779b97f4a7c15
	z := w.random
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	z ^= z >> 31
	switch z % 16 {
	case 0:
		return base * 40
	case 1, 2:
		return base * 10
	}
	return base * time.Duration(z>>8%8+1) / 4
}

// specOf is what a specification depends on.
type specOf struct{ values, destination, parameter, around string }

// spec is the specification that the template gives an Application now. It is shared, and never changed.
func (w *world) spec(m *member) argo.ApplicationSpec {
	if of := (specOf{w.values.last(), w.destination.last(), m.parameter.last(), w.around.last()}); m.specOf != of {
		m.spec, m.specOf = w.newSpec(m, of), of
	}
	return m.spec
}

func (w *world) newSpec(m *member, of specOf) argo.ApplicationSpec {
	spec := argo.ApplicationSpec{
		Project:     "default",
		Destination: argo.ApplicationDestination{Server: "https://kubernetes.default.svc", Namespace: of.destination},
	}
	if w.scenario.RetryRefresh {
		spec.SyncPolicy = &argo.SyncPolicy{Retry: &argo.RetryStrategy{Limit: 5, Refresh: true}}
	}
	if limit := w.setup(m.name).Retries; limit != 0 {
		spec.SyncPolicy = &argo.SyncPolicy{Retry: &argo.RetryStrategy{Limit: max(limit, 0)}}
	}
	if w.setup(m.name).Automated {
		automated := argo.SyncPolicy{Automated: &argo.SyncPolicyAutomated{}}
		if spec.SyncPolicy != nil {
			automated.Retry = spec.SyncPolicy.Retry
		}
		spec.SyncPolicy = &automated
	}
	spec.RevisionHistoryLimit = w.scenario.History
	putAround(&spec, of.around)
	var sources argo.ApplicationSources
	for i, b := range m.sources {
		s := argo.ApplicationSource{RepoURL: b.url, TargetRevision: b.name, Path: w.path(m, i)}
		if i == 0 {
			s.Helm = &argo.ApplicationSourceHelm{Values: of.values, ReleaseName: of.parameter}
		}
		sources = append(sources, s)
	}
	switch {
	case len(sources) > 1:
		spec.Sources = sources
	case m.sources[0].dry != nil:
		spec.SourceHydrator = &argo.SourceHydrator{
			DrySource: argo.DrySource{
				RepoURL: m.sources[0].dry.url, TargetRevision: m.sources[0].dry.name, Path: m.name,
				Helm: &argo.ApplicationSourceHelm{Values: of.values},
			},
			SyncSource: argo.SyncSource{TargetBranch: m.sources[0].name, Path: m.name},
		}
	default:
		spec.Source = &sources[0]
	}
	return spec
}

// path is the folder of a source: the Application's own, or "values" in a repository that all share beside their own.
func (*world) path(m *member, i int) string {
	if len(m.sources) > 1 && i == 0 {
		return "values"
	}
	return m.name
}
