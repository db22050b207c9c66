// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"maps"
	"sync/atomic"

	"github.com/argoproj/argo-cd/v3/common"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/script"
)

// ofAgents gives each member a cluster with an agent of argocd-agent. The hub has a Secret for it, as argocd-agentctl
// creates it: without one the ApplicationSet controller does not know the destination and creates no Application, and
// without its annotation the Argo CD of the hub would compare the Application, too.
func ofAgents(r *rollout) {
	broughtBy(func(m *member) agent {
		m.line = &line{}
		return &managed{line: m.line}
	})(r)
	for _, m := range r.members {
		script.Must(r.Admin.Create(r.ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: cluster.ArgoNamespace, Name: "cluster-" + m.cluster(),
				Labels:      map[string]string{common.LabelKeySecretType: common.LabelValueSecretTypeCluster},
				Annotations: map[string]string{common.AnnotationKeyAppSkipReconcile: "true"},
			},
			StringData: map[string]string{
				"name": m.cluster(), "server": "https://principal.invalid:9090?agentName=" + m.cluster(), "config": "{}",
			},
		}))
	}
}

// line is the connection of an agent. What goes through it waits while that is cut, in one direction or in both.
type line struct{ up, down atomic.Bool }

// cut keeps the reports of a member back, and what it is to be told.
func (r *rollout) cut(m *member, up, down bool) {
	m.line.up.Store(up)
	m.line.down.Store(down)
}

// reportedLate has an agent lose its connection after a comparison of dev, and before the commit. When it is back, that
// comes first, and takes the refresh from the hub that dev has yet to be told of.
func reportedLate(r *rollout) {
	dev, qa := r.one("dev"), r.one("qa")
	r.begin()
	r.cut(dev, true, true)
	r.refreshed(dev)
	r.version("2", r.members)
	r.refreshed(qa)
	if r.mode == off {
		r.untilNewest(qa)
	} else {
		r.until("a request to refresh dev", func() bool { return r.asksForRefresh(dev) })
	}
	r.cut(dev, false, true)
	r.until("the report of dev", func() bool { return !r.asksForRefresh(dev) })
	r.pause(standsStill)
	r.cut(dev, false, false)
	r.refresh(r.in("prod", "dev")...)
}

// asksForRefresh says that the Application of the hub does.
func (r *rollout) asksForRefresh(m *member) bool {
	return script.Get(read(r, r.key(m.name))).GetAnnotations()[argo.AnnotationKeyRefresh] != ""
}

// managed writes what argocd-agent writes in managed mode with destination-based mapping, as its principal and as its
// agent: https://github.com/argoproj-labs/argocd-agent at acb60cd, principal/callbacks.go (updateAppCallback),
// agent/inbound.go, agent/outbound.go, and UpdateManagedApp, SetOperation and UpdateStatus of
// internal/manager/application/application.go. It reads again and again where that watches, so it names the version that
// it has read in each write: what comes in between would be lost otherwise. Terminating is left out.
//
// As there, a report that is older than an operation takes that from the hub, and the ApplicationSet controller writes it
// again.
type managed struct {
	line *line
	// hub and spoke are the versions that were last seen, or written: nobody is told of the latter.
	hub, spoke string
	// asked says that the hub's Application had an operation then: only one that appears is passed on, and only once.
	asked bool
	// change is what the cluster has yet to be told of, and operation is one that has appeared with it or before.
	change    *unstructured.Unstructured
	operation any
	// owed says that the hub does not have the newest status yet.
	owed bool
}

func (a *managed) carry(r *rollout, m *member) error {
	hub, err := read(r, r.key(m.name))
	if err != nil {
		return err
	}
	spoke, err := read(r, r.runs(m))
	if apierrors.IsNotFound(err) {
		return a.create(r, m, hub)
	}
	if err != nil {
		return err
	}
	a.owed = a.owed || spoke.GetResourceVersion() != a.spoke
	a.spoke = spoke.GetResourceVersion()
	status := spoke.DeepCopy()
	if hub.GetResourceVersion() != a.hub {
		if operation, ok := hub.Object["operation"]; ok && !a.asked {
			a.operation = operation
		}
		a.change = hub
		a.saw(hub)
	}
	if a.change != nil && !a.line.down.Load() {
		if err := a.update(r, spoke); err != nil {
			return err
		}
	}
	if !a.owed || a.line.up.Load() {
		return nil
	}
	return a.report(r, hub, status)
}

// saw keeps what the hub's Application was like.
func (a *managed) saw(hub *unstructured.Unstructured) {
	a.hub = hub.GetResourceVersion()
	_, a.asked = hub.Object["operation"]
}

func (a *managed) create(r *rollout, m *member, hub *unstructured.Unstructured) error {
	spoke := &unstructured.Unstructured{Object: map[string]any{}}
	spoke.SetGroupVersionKind(hub.GroupVersionKind())
	spoke.SetNamespace(r.runs(m).Namespace)
	spoke.SetName(m.spoke)
	inherit(spoke, hub)
	if operation, ok := hub.Object["operation"]; ok {
		spoke.Object["operation"] = operation
	}
	if err := r.Admin.Create(r.ctx, spoke); err != nil {
		return err
	}
	a.spoke = spoke.GetResourceVersion()
	a.saw(hub)
	return nil
}

// update brings a change of the hub to the cluster, and then a new operation, in a write of its own.
func (a *managed) update(r *rollout, spoke *unstructured.Unstructured) error {
	write := func(change func(next *unstructured.Unstructured)) error {
		next := spoke.DeepCopy()
		change(next)
		patch := client.MergeFromWithOptions(spoke, client.MergeFromWithOptimisticLock{})
		if err := r.Admin.Patch(r.ctx, next, patch); err != nil {
			return err
		}
		spoke, a.spoke = next, next.GetResourceVersion()
		return nil
	}
	if err := write(func(next *unstructured.Unstructured) { inherit(next, a.change) }); err != nil {
		return err
	}
	if a.operation != nil {
		if err := write(func(next *unstructured.Unstructured) { next.Object["operation"] = a.operation }); err != nil {
			return err
		}
	}
	a.change, a.operation = nil, nil
	return nil
}

// inherit gives the Application of the cluster what it has from the hub. A refresh that it was asked for stays.
func inherit(spoke, hub *unstructured.Unstructured) {
	annotations := map[string]string{}
	maps.Copy(annotations, hub.GetAnnotations())
	if refresh, ok := spoke.GetAnnotations()[argo.AnnotationKeyRefresh]; ok {
		annotations[argo.AnnotationKeyRefresh] = refresh
	}
	spoke.SetAnnotations(annotations)
	spoke.SetLabels(hub.GetLabels())
	spoke.SetFinalizers(hub.GetFinalizers())
	spoke.Object["spec"] = hub.DeepCopy().Object["spec"]
	unstructured.RemoveNestedField(spoke.Object, "spec", "destination", "server")
	script.Must(unstructured.SetNestedField(spoke.Object, here, "spec", "destination", "name"))
}

// report gives the hub's Application the status of the cluster's, and its operation and refresh: none, if that has none.
// As there, it fails for a refresh if the hub's has no annotations. It is repeated then, until the refresh is done.
func (a *managed) report(r *rollout, hub, spoke *unstructured.Unstructured) error {
	type step struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value any    `json:"value,omitempty"`
	}
	status, ok := spoke.Object["status"]
	if !ok {
		return nil
	}
	patch := []step{{"test", "/metadata/resourceVersion", hub.GetResourceVersion()}, {"replace", "/status", status}}
	copied := func(path string, value any, has, had bool) {
		switch {
		case has:
			patch = append(patch, step{"add", path, value})
		case had:
			patch = append(patch, step{Op: "remove", Path: path})
		}
	}
	operation, has := spoke.Object["operation"]
	_, had := hub.Object["operation"]
	copied("/operation", operation, has, had)
	refresh, has := spoke.GetAnnotations()[argo.AnnotationKeyRefresh]
	_, had = hub.GetAnnotations()[argo.AnnotationKeyRefresh]
	copied("/metadata/annotations/argocd.argoproj.io~1refresh", refresh, has, had)
	written := hub.DeepCopy()
	if err := r.Admin.Patch(r.ctx, written, client.RawPatch(types.JSONPatchType, script.Get(json.Marshal(patch))),
		client.FieldOwner("argocd-agent")); err != nil {
		return err
	}
	a.saw(written)
	a.owed = false
	return nil
}
