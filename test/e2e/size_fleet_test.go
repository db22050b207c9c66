// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"slices"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"

	"github.com/stepgate/stepgate/test/argocd"
	"github.com/stepgate/stepgate/test/e2e/observer"
	"github.com/stepgate/stepgate/test/script"
)

// shape is how many ApplicationSets and Applications a fleet has.
type shape struct {
	key, title string
	sets       int
	// steps are how many Applications of each ApplicationSet are in each step.
	steps []int
	// ignoresOthers says that the Applications name the paths that their manifests come from.
	ignoresOthers bool
}

func one(applications int) shape {
	quarter := applications / 4
	return shape{
		key: "one", title: fmt.Sprintf("One ApplicationSet of %d Applications in 4 steps", 4*quarter),
		sets: 1, steps: []int{quarter, quarter, quarter, quarter},
	}
}

func many(applications int) shape {
	sets := max(2, applications/15)
	third := applications / sets / 3
	return shape{
		key: "many", title: fmt.Sprintf("%d ApplicationSets of %d Applications in 3 steps", sets, 3*third),
		sets: sets, steps: []int{third, third, third},
	}
}

// fleet are the ApplicationSets of a shape, in one mode, with all manifests in one repository. It is one rollout of
// many ApplicationSets.
type fleet struct {
	*rollout
	shape
	// bySet are the members of each ApplicationSet.
	bySet map[string][]*member
	// versions counts the commits.
	versions int
}

func newFleet(ctx context.Context, s *suite, sh shape, m mode, limit time.Duration) *fleet {
	f := &fleet{
		rollout: newRollout(ctx, s, scenario{key: sh.key, limit: limit, setup: limit}, m), shape: sh, bySet: map[string][]*member{}, versions: 1,
	}
	return f
}

// stepName is the value of the label of a step.
func stepName(step int) string { return fmt.Sprintf("step-%d", step+1) }

// prepare installs the ApplicationSets, and waits until all that is deployed is recorded as Healthy.
func (f *fleet) prepare() {
	began := time.Now()
	repo := f.repository("all")
	for i := range f.sets {
		set := fmt.Sprintf("%s-%02d", f.shape.key, i+1)
		for step, n := range f.steps {
			for j := range n {
				// Against the order of the steps, because the controller goes by name.
				name := fmt.Sprintf("%s-%c-%03d", set, 'z'-rune(step), j+1)
				f.bySet[set] = append(f.bySet[set], &member{
					name: name, env: stepName(step), step: step, destination: f.mode.destination(), version: "1",
					source: source{repo: repo, path: "apps/" + name, branch: argocd.Main},
				})
			}
		}
		f.members = append(f.members, f.bySet[set]...)
	}
	f.version("1", f.members)
	for set, members := range f.bySet {
		script.Must(f.Admin.Create(f.ctx, f.applicationSet(set, members)))
	}
	f.settle("the installation")
	fmt.Printf("%s, %s: %d Applications installed after %.0fs\n", f.shape.key, f.mode, len(f.members),
		time.Since(began).Seconds())
}

// settle waits until everything is deployed, and recorded as Healthy, and no refresh is under way: it would take the
// place of the next one, and may have read the branch already.
func (f *fleet) settle(what string) {
	f.untilWithin(f.scenario.limit, what, func() bool { return f.atNewest() && !f.refreshing() })
	f.untilWithin(f.scenario.limit, what+", recorded", f.recordedHealthy)
}

// refreshing says that a refresh of some Application is requested.
func (f *fleet) refreshing() bool {
	return slices.ContainsFunc(f.members, func(m *member) bool {
		app := f.live(m)
		return app == nil || app.Annotations[argo.AnnotationKeyRefresh] != ""
	})
}

// in are the members of a step.
func (f *fleet) in(step int) []*member {
	var found []*member
	for _, m := range f.members {
		if m.step == step {
			found = append(found, m)
		}
	}
	return found
}

// inOrderOf are the members in an order of the refreshes.
func (f *fleet) inOrderOf(order string) []*member {
	if order == inNameOrder {
		sorted := slices.Clone(f.members)
		slices.SortFunc(sorted, func(a, b *member) int { return compareNames(a.name, b.name) })
		return sorted
	}
	var ordered []*member
	for step := range f.steps {
		if order == lastFirst {
			step = len(f.steps) - 1 - step
		}
		ordered = append(ordered, f.in(step)...)
	}
	return ordered
}

// compareNames compares first by the last part of two names, so that the steps mix.
func compareNames(a, b string) int {
	i, j := len(a)-3, len(b)-3
	if a[i:] != b[j:] {
		return slices.Compare([]byte(a[i:]), []byte(b[j:]))
	}
	return slices.Compare([]byte(a), []byte(b))
}

// fleetOutcome is one rollout of a fleet.
type fleetOutcome struct {
	starts, early int
	took          time.Duration
	// overlooked are the operations and refreshes that Argo CD has overlooked.
	overlooked int
	writes     fleetWrites
	cpu        map[string]time.Duration
}

// rollOut commits a change of every Application, lets Argo CD refresh all of them without a pause, as its git webhook
// does, and waits until all is deployed.
func (f *fleet) rollOut(order string) *fleetOutcome {
	cost := f.startCost()
	f.begin()
	f.versions++
	f.version(fmt.Sprint(f.versions), f.members)
	f.refreshAtOnce(f.inOrderOf(order)...)
	return f.end(cost)
}

// end waits for the end of a rollout.
func (f *fleet) end(cost *cost) *fleetOutcome {
	f.untilWithin(f.scenario.limit, "the rollout", f.atNewest)
	o := &fleetOutcome{took: time.Since(f.began), overlooked: f.overlooked, cpu: cost.end()}
	f.verify()
	f.settle("the record of the rollout")
	o.writes = f.countWrites(f.began, f.began.Add(o.took))
	for _, s := range f.judgeSets() {
		o.starts++
		if s.OutOfOrder() {
			o.early++
		}
	}
	return o
}

// judgeSets asks the observer for the starts of the measured rollout: the steps order the Applications of one
// ApplicationSet.
func (f *fleet) judgeSets() []observer.Start {
	var all []observer.Start
	members := f.members
	defer func() { f.members = members }()
	for _, f.members = range f.bySet {
		all = append(all, f.judge()...)
	}
	return all
}
