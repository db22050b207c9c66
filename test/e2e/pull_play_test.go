// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/script"
)

// pullPlays are rollouts of Applications that an agent brings to the Argo CD of another cluster, and of which it writes
// back what that says. Here that is the same Argo CD: what it runs is in its own namespace.
func pullPlays() []gatedPlay {
	return []gatedPlay{
		{
			scenario: scenario{
				key: "pull-model", title: "OCM's add-on brings the Applications to their clusters; a commit, and a change of the template; prod is compared first",
				each: 1, limit: 2 * time.Minute, quick: true, layout: broughtBy(func(*member) agent { return &addOn{} }), set: pulledByOCM, play: pulled,
			},
			gates: []mode{on, starting},
		},
		{
			scenario: scenario{
				key: "argocd-agent", title: "argocd-agent in managed mode brings the Applications to their clusters; a commit, and a change of the template; prod is compared first",
				each: 1, limit: 2 * time.Minute, layout: ofAgents, template: byName, play: pulled,
			},
			gates: []mode{on, starting},
		},
		{
			scenario: scenario{
				key: "argocd-agent-late", title: "argocd-agent, three repositories; a report of step 1 from before the commit arrives after it was asked to refresh",
				each: 1, ownRepos: true, limit: 2 * time.Minute, layout: ofAgents, template: byName, play: reportedLate,
			},
			gates: []mode{on},
		},
	}
}

// pulled has the later Argo CDs notice a commit first, and then changes the template, to version 2.
func pulled(r *rollout) {
	r.begin()
	r.version("3", r.members)
	r.refresh(r.in(backwards()...)...)
	r.quiet()
	r.repoint()
}

// agent carries one Application to its cluster, and what is said of it there back. It is called again and again.
type agent interface {
	carry(r *rollout, m *member) error
}

// broughtBy gives each member an agent of its own. What cannot be written is tried again, as agents do.
func broughtBy(newAgent func(*member) agent) func(*rollout) {
	return func(r *rollout) {
		for _, m := range r.members {
			m.spoke = string(r.mode) + "-" + m.name
			a, carried := newAgent(m), *m
			go func() {
				for r.ctx.Err() == nil {
					_ = a.carry(r, &carried)
					select {
					case <-r.ctx.Done():
					case <-time.After(pollEvery):
					}
				}
			}()
		}
	}
}

// addOn writes what argocd-pull-integration of Open Cluster Management writes: application_controller.go, helper.go and
// application_status_controller.go of internal/basic/application, and the work agent.
type addOn struct{ work, feedback string }

// pulledByOCM marks the Applications as OCM wants it.
func pulledByOCM(set *argo.ApplicationSet) {
	of := &set.Spec.Template.ApplicationSetTemplateMeta
	of.Labels["apps.open-cluster-management.io/pull-to-ocm-managed-cluster"] = "true"
	of.Annotations = map[string]string{
		"argocd.argoproj.io/skip-reconcile":                   "true",
		"apps.open-cluster-management.io/ocm-managed-cluster": "{{.env}}",
	}
}

func (a *addOn) carry(r *rollout, m *member) error {
	hub, err := read(r, r.key(m.name))
	if err != nil {
		return err
	}
	if err := a.propagate(r, m, hub); err != nil {
		return err
	}
	return a.report(r, m)
}

// propagate applies what is on the hub, and takes the operation from there. The destination that it gives an Application
// comes back with that: it is a part of the object that is written.
func (a *addOn) propagate(r *rollout, m *member, hub *unstructured.Unstructured) error {
	spoke := &unstructured.Unstructured{Object: map[string]any{"spec": hub.Object["spec"]}}
	spoke.SetGroupVersionKind(hub.GroupVersionKind())
	spoke.SetNamespace(r.runs(m).Namespace)
	spoke.SetName(m.spoke)
	spoke.SetFinalizers(hub.GetFinalizers())
	spoke.SetAnnotations(without(hub.GetAnnotations(), "argocd.argoproj.io/skip-reconcile",
		"apps.open-cluster-management.io/ocm-managed-cluster"))
	spoke.SetLabels(without(hub.GetLabels(), "apps.open-cluster-management.io/pull-to-ocm-managed-cluster"))
	for field, value := range map[string]string{"name": "", "server": argo.KubernetesInternalAPIServerAddr} {
		if err := unstructured.SetNestedField(spoke.Object, value, "spec", "destination", field); err != nil {
			return err
		}
	}
	if work := script.Get(json.Marshal(spoke)); string(work) != a.work {
		apply := client.Apply //nolint:staticcheck // the object is unstructured
		if err := r.Admin.Patch(r.ctx, spoke, apply, client.ForceOwnership, client.FieldOwner("work-agent")); err != nil {
			return err
		}
		a.work = string(work)
	}
	operation, asked := hub.Object["operation"]
	if !asked {
		return nil
	}
	if err := setOperation(r, m, operation); err != nil {
		return err
	}
	delete(hub.Object, "operation")
	return r.Admin.Update(r.ctx, hub)
}

// report writes back what OCM has as feedback: five fields.
func (a *addOn) report(r *rollout, m *member) error {
	spoke, err := read(r, r.runs(m))
	if err != nil {
		return err
	}
	value := func(path ...string) string {
		text, _, _ := unstructured.NestedString(spoke.Object, append([]string{"status"}, path...)...)
		return text
	}
	health, sync, revision := value("health", "status"), value("sync", "status"), value("sync", "revision")
	phase, startedAt := value("operationState", "phase"), value("operationState", "startedAt")
	feedback := health + sync + revision + phase + startedAt
	if feedback == a.feedback || health == "" || sync == "" {
		return nil
	}
	if startedAt == "" {
		startedAt = time.Now().UTC().Format(time.RFC3339)
	}
	hub, err := read(r, r.key(m.name))
	if err != nil {
		return err
	}
	set := func(value any, path ...string) {
		script.Must(unstructured.SetNestedField(hub.Object, value, append([]string{"status"}, path...)...))
	}
	if health == "Healthy" {
		set("Progressing", "health", "status")
		if err := r.Admin.Update(r.ctx, hub); err != nil {
			return err
		}
	}
	set(health, "health", "status")
	set(sync, "sync", "status")
	set(phase, "operationState", "phase")
	set(startedAt, "operationState", "startedAt")
	set(map[string]any{}, "operationState", "operation")
	set(revision, "sync", "revision")
	if err := r.Admin.Update(r.ctx, hub); err != nil {
		return err
	}
	a.feedback = feedback
	return nil
}

func read(r *rollout, name types.NamespacedName) (*unstructured.Unstructured, error) {
	app := &unstructured.Unstructured{}
	app.SetGroupVersionKind(argo.ApplicationSchemaGroupVersionKind)
	return app, r.Admin.Get(r.ctx, name, app)
}

// setOperation has the Argo CD of the other cluster sync.
func setOperation(r *rollout, m *member, operation any) error {
	at := r.runs(m)
	app := &argo.Application{ObjectMeta: metav1.ObjectMeta{Namespace: at.Namespace, Name: at.Name}}
	patch := script.Get(json.Marshal(map[string]any{"operation": operation}))
	return r.Admin.Patch(r.ctx, app, client.RawPatch(types.MergePatchType, patch))
}

func without(texts map[string]string, keys ...string) map[string]string {
	for _, key := range keys {
		delete(texts, key)
	}
	return texts
}
