// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"maps"
	"slices"
	"strconv"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// newSet is the ApplicationSet as it was left by a rollout long ago.
func (w *world) newSet(f *family) *argo.ApplicationSet {
	name := w.key(f)
	set := &argo.ApplicationSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name, UID: f.uid, Generation: 1,
			Annotations: w.annotations(f),
		},
	}
	f.wanted[1] = w.generate(f)
	if len(w.scenario.waves()) > 0 {
		return set
	}
	set.Spec.Strategy = &argo.ApplicationSetStrategy{
		Type: "RollingSync", RollingSync: &argo.ApplicationSetRolloutStrategy{},
	}
	for i, step := range w.scenario.steps() {
		set.Spec.Strategy.RollingSync.Steps = append(set.Spec.Strategy.RollingSync.Steps, argo.ApplicationSetRolloutStep{
			MatchExpressions: []argo.ApplicationMatchExpression{
				{Key: "step", Operator: "In", Values: []string{strconv.Itoa(i + 1)}},
			},
			MaxUpdate: step.MaxUpdate,
		})
	}
	at := w.stampAt(-time.Hour)
	for _, name := range slices.Sorted(maps.Keys(w.members)) {
		m := w.members[name]
		if m.family != f {
			continue
		}
		set.Status.ApplicationStatus = append(set.Status.ApplicationStatus, argo.ApplicationSetApplicationStatus{
			Application: name, Status: argo.ProgressiveSyncHealthy, Step: strconv.Itoa(m.generated),
			TargetRevisions: w.heads(m), LastTransitionTime: &at,
			Message: "Application resource became Healthy, updating status from Progressing to Healthy",
		})
	}
	return set
}

// generate is what the generator and the template give now, by name.
func (w *world) generate(f *family) []argo.Application {
	var all []argo.Application
	for _, name := range slices.Sorted(maps.Keys(w.members)) {
		if m := w.members[name]; m.generated > 0 && m.family == f {
			all = append(all, *w.newApplication(name, m.generated, w.spec(m)))
		}
	}
	return all
}

// regenerate is an edit of the ApplicationSets by a user.
func (w *world) regenerate() {
	for _, f := range w.families {
		set := *f.live
		set.Generation++
		f.wanted[set.Generation] = w.generate(f)
		w.api.writeSet(&set)
	}
}

// recreate deletes the first ApplicationSet without its Applications, and creates it again. Each of them has an owner that is
// gone until the controller has written it.
func (w *world) recreate() {
	f := w.families[0]
	f.uid = types.UID("set-uid-" + w.api.next())
	set := *f.live
	set.UID, set.Status = f.uid, argo.ApplicationSetStatus{}
	set.Generation++
	f.wanted[set.Generation] = w.generate(f)
	w.api.writeSet(&set)
}

// labelsOf are the labels that the generator gives an Application.
func (w *world) labelsOf(name string, step int) map[string]string {
	labels := map[string]string{"step": strconv.Itoa(step)}
	if track := w.setup(name).Track; track != "" {
		labels["track"] = track
	}
	return labels
}

// apart reports whether two Applications are of different ApplicationSets, or in different tracks, by the generator: then no step holds for both. Labels
// that users write count for nothing.
func (w *world) apart(e, m *member) bool {
	one, other := w.setup(e.name).Track, w.setup(m.name).Track
	return e.family != m.family || w.conditions.texts["track"] == "track" && one != "" && other != "" && one != other
}

func (w *world) newApplication(name string, step int, spec argo.ApplicationSpec) *argo.Application {
	f := w.members[name].family
	app := &argo.Application{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.key(f).Namespace, Name: name, UID: types.UID(name + "-uid"), Labels: w.labelsOf(name, step),
			ManagedFields: managedSince(w.stampAt(-2 * time.Hour)),
		},
		Spec: spec,
	}
	w.own(app, f)
	w.putWave(app, step)
	return app
}
