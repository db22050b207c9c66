// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"k8s.io/apimachinery/pkg/types"
)

// family is an ApplicationSet with what there is of it. Most scenarios have one; others have a chain of them.
type family struct {
	name string
	// live is the ApplicationSet as the API server holds it; uid stays the same until it is created anew.
	live *argo.ApplicationSet
	uid  types.UID
	// wanted are the Applications that the generator gives, by the generation of the ApplicationSet.
	wanted     map[int64][]argo.Application
	controller *setController
	// after are the ApplicationSets that this one comes after.
	after []*family
}

// Link says what an ApplicationSet comes after.
type Link struct {
	Set   string
	After []string
}

// family is the ApplicationSet of a name, which it adds if there is none; without a name the first one.
func (w *world) family(name string) *family {
	for _, f := range w.families {
		if f.name == name || name == "" {
			return f
		}
	}
	f := &family{name: name, uid: types.UID(name + "-uid"), wanted: map[int64][]argo.Application{}}
	w.families = append(w.families, f)
	return f
}

// newFamilies are the ApplicationSets of the scenario, in the order in which it names them.
func (w *world) newFamilies() {
	first := w.family(w.scenario.set().Name)
	first.uid = w.uidOf(w.scenario.set())
	for _, a := range w.scenario.Applications {
		w.family(a.Set)
	}
	for _, l := range w.scenario.Chain {
		f := w.family(l.Set)
		for _, name := range l.After {
			f.after = append(f.after, w.family(name))
		}
	}
}

// key is the namespace and the name of its ApplicationSet.
func (w *world) key(f *family) types.NamespacedName {
	return types.NamespacedName{Namespace: w.scenario.set().Namespace, Name: f.name}
}

// familyOf is the one with the ApplicationSet of a name; nil if there is none.
func (w *world) familyOf(name types.NamespacedName) *family {
	i := slices.IndexFunc(w.families, func(f *family) bool { return w.key(f) == name })
	if i < 0 {
		return nil
	}
	return w.families[i]
}

// annotations are those of an ApplicationSet that nobody changes: what it comes after, and that it has waves.
func (w *world) annotations(f *family) map[string]string {
	all := w.wavesAnnotations()
	names := make([]string, 0, len(f.after))
	for _, other := range f.after {
		names = append(names, other.name)
	}
	if len(names) > 0 {
		all[annotationPrefix+"after"] = strings.Join(names, ", ")
	}
	return all
}

// follows reports whether one comes after another one, by way of others or not.
func (f *family) follows(other *family) bool {
	return slices.ContainsFunc(f.after, func(a *family) bool { return a == other || a.follows(other) })
}

// judgeAfter looks for an Application of an ApplicationSet that comes before that of m, and that has not completed what
// had landed in its own sources two seconds before the state n of a component that m starts. A later state counts as
// well: the two need not have a repository in common.
func (w *world) judgeAfter(m *member, i, n int) {
	change := w.part(m, i).landed(n) - sameMoment
	for _, name := range w.names {
		e := w.members[name]
		if !w.comesBefore(e, m) {
			continue
		}
		w.note(e)
		for j := range e.sources {
			need := w.part(e, j).landedBefore(change)
			if w.reached(e, j, m.truth.admitted) >= need {
				continue
			}
			found := Early{
				At: w.now, Target: m.name, Behind: e.name, Missing: w.describe(e, j, need), Kind: "after",
				Reason: string(m.truth.verdict.Reason),
			}
			w.early = append(w.early, found)
			w.logf("%s", found)
			return
		}
	}
}

// comesBefore reports whether e is of an ApplicationSet that comes right before that of m, and has been there for a
// moment.
func (w *world) comesBefore(e, m *member) bool {
	app := w.api.apps[e.name]
	return slices.Contains(m.family.after, e.family) && e.generated > 0 && app != nil && app.DeletionTimestamp == nil &&
		e.settled <= m.truth.admitted-sameMoment
}

// admittedAfter looks, at the moment at which an operation is admitted, whether the API server has anything that is
// about to be synced, or not Healthy, among what its ApplicationSet comes right after.
func (w *world) admittedAfter(m *member, old, app *argo.Application) {
	if len(m.family.after) == 0 || w.bypassed() || app.Operation.Sync == nil {
		return
	}
	o := w.sought(m, old, app)
	if w.exempt(&o) || o.back || w.api.orphaned(app) {
		return
	}
	for _, name := range w.names {
		e := w.members[name]
		if !slices.Contains(m.family.after, e.family) || w.api.apps[name] == nil {
			continue
		}
		live := w.api.apps[name]
		if live.DeletionTimestamp != nil || live.Operation == nil && live.Status.Health.Status == "Healthy" {
			continue
		}
		found := Early{
			At: w.now, Target: m.name, Behind: name, Kind: "after, busy", Reason: string(m.truth.latest.verdict.Reason),
			Missing:   fmt.Sprintf("%s is %s, with an operation: %t", name, live.Status.Health.Status, live.Operation != nil),
			Condition: true,
		}
		w.early = append(w.early, found)
		w.logf("%s", found)
		return
	}
}

// landedBefore is the last state that had landed at a moment.
func (p part) landedBefore(moment time.Duration) int {
	for k := p.count() - 1; k >= 0; k-- {
		if p.landed(k) <= moment {
			return k
		}
	}
	return -1
}

// waitsForOthers reports whether something that the ApplicationSet of an Application comes after, by way of others or
// not, is not done, or has failed.
func (w *world) waitsForOthers(m *member) bool {
	return slices.ContainsFunc(w.names, func(name string) bool {
		e := w.members[name]
		return m.family.follows(e.family) && e.generated > 0 &&
			(!w.done(e) || w.failed(name) || e.hydrationFails || e.invalid || w.api.apps[name].Status.Health.Status != "Healthy")
	})
}
