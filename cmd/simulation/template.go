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
func (w *world) newSet() *argo.ApplicationSet {
	name := w.scenario.set()
	set := &argo.ApplicationSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name, UID: w.api.setUID, Generation: 1},
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
		set.Status.ApplicationStatus = append(set.Status.ApplicationStatus, argo.ApplicationSetApplicationStatus{
			Application: name, Status: argo.ProgressiveSyncHealthy, Step: strconv.Itoa(m.generated),
			TargetRevisions: w.heads(m), LastTransitionTime: &at,
			Message: "Application resource became Healthy, updating status from Progressing to Healthy",
		})
	}
	w.api.wanted[1] = w.generate()
	return set
}

// generate is what the generator and the template give now, by name.
func (w *world) generate() []argo.Application {
	var all []argo.Application
	for _, name := range slices.Sorted(maps.Keys(w.members)) {
		if m := w.members[name]; m.generated > 0 {
			all = append(all, *w.newApplication(name, m.generated, w.spec(m)))
		}
	}
	return all
}

// regenerate is an edit of the ApplicationSet by a user.
func (w *world) regenerate() {
	set := *w.api.set
	set.Generation++
	w.api.wanted[set.Generation] = w.generate()
	w.api.writeSet(&set)
}

// recreate deletes the ApplicationSet without its Applications, and creates it again. Each of them has an owner that is
// gone until the controller has written it.
func (w *world) recreate() {
	w.api.setUID = types.UID("set-uid-" + w.api.next())
	set := *w.api.set
	set.UID, set.Status = w.api.setUID, argo.ApplicationSetStatus{}
	set.Generation++
	w.api.wanted[set.Generation] = w.generate()
	w.api.writeSet(&set)
}

// labelsOf are the labels that the generator gives an Application.
func (w *world) labelsOf(name string, step int) map[string]string {
	labels := map[string]string{"step": strconv.Itoa(step)}
	if track := w.scenario.application(name).Track; track != "" {
		labels["track"] = track
	}
	return labels
}

// apart reports whether two Applications are in different tracks, by the generator: then no step holds for both. Labels
// that users write count for nothing.
func (w *world) apart(e, m *member) bool {
	one, other := w.scenario.application(e.name).Track, w.scenario.application(m.name).Track
	return w.conditions.texts["track"] == "track" && one != "" && other != "" && one != other
}

func (w *world) newApplication(name string, step int, spec argo.ApplicationSpec) *argo.Application {
	set := w.scenario.set()
	return &argo.Application{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: set.Namespace, Name: name, UID: types.UID(name + "-uid"),
			Labels: w.labelsOf(name, step), OwnerReferences: ownedBy(set.Name, w.api.setUID),
			ManagedFields: managedSince(w.stampAt(-2 * time.Hour)),
		},
		Spec: spec,
	}
}
