// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"
	"maps"
	"slices"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/evidence"
	"github.com/stepgate/stepgate/webhook/settings"
)

// verified is what a replica knows of the objects that speak of revisions. It reads them live with the real
// evidence.Reader; the watch, and the creation of AnalysisRuns, are modelled, because they take time.
type verified struct {
	*evidence.Reader
	parser *settings.Parser
	// seen are the objects as last watched, and last is when the last event was delivered.
	seen map[string]testimony
	last time.Duration
	// created is when an AnalysisRun was last created, by its step and label.
	created map[runKey]time.Duration
	// after is what that was to be younger than.
	after map[runKey]time.Time
}

type runKey struct {
	step  int
	label string
}

// createdFor is the one of webhook/evidence/create.go.
const createdFor = 5 * time.Minute

// verifiedKinds are the kinds of objects that stepgate reads.
var verifiedKinds = evidence.Kinds{
	{Group: "batch", Version: "v1", Resource: "jobs"},
	{Group: "argoproj.io", Version: "v1alpha1", Resource: "analysisruns"},
}

// verify begins with no memory.
func (r *replica) verify() *verified {
	r.verified = verified{
		Reader: evidence.NewReader(verifiedKinds, versionsOfObjects{r.w}, objectsOfWorld{r.w}),
		seen:   maps.Clone(r.w.evidence.objects), created: map[runKey]time.Duration{}, after: map[runKey]time.Time{},
	}
	return &r.verified
}

// Known is judge.Evidence: evidence.Watch in virtual time.
func (v *verified) Known(all []settings.Verification) policy.Evidence {
	return func(of policy.Verification, what string) policy.Finding {
		asked := evidence.Of(all, of)
		if asked == nil {
			return policy.Finding{}
		}
		var objects []*unstructured.Unstructured
		for _, name := range slices.Sorted(maps.Keys(v.seen)) {
			if t := v.seen[name]; t.kind() == asked.Resource.String() {
				objects = append(objects, t.object())
			}
		}
		return evidence.Among(asked, what, objects)
	}
}

// testified is told by the watch of the world.
func (r *replica) testified(t testimony) {
	v, life := &r.verified, r.starts
	at := max(v.last, r.w.now+r.w.delay(5*time.Millisecond)+r.w.lags["evidence"])
	r.w.lags["evidence"], v.last = 0, at
	r.w.after(at-r.w.now, func() {
		if r.starts != life {
			return // it has listed all objects since
		}
		if v.seen[t.name] = t; t.says == saysGone {
			delete(v.seen, t.name)
		}
		for _, f := range r.w.families {
			set := r.cache.sets[f.name]
			s := v.parser.Of(argocd.NewApplicationSet(set))
			if evidence.Concerns(s.Verify, schema.ParseGroupResource(t.kind()), set.Namespace) {
				r.reconcileIn(f, settle)
			}
		}
	})
}

// Create is release.Creator: evidence.Creator in virtual time.
func (r *replica) Create(set *policy.ApplicationSet, v settings.Verification, what string, after time.Time) {
	key := runKey{v.Step, evidence.LabelOf(what)}
	if at, created := r.verified.created[key]; key.label == "" ||
		created && r.w.now-at < createdFor && !after.After(r.verified.after[key]) {
		return
	}
	r.verified.created[key], r.verified.after[key] = r.w.now, after
	r.w.after(r.w.delay(10*time.Millisecond), func() {
		r.w.runCreated(key.step, v.Selector["suite"], key.label, set.UID, after)
	})
}

// object is what an object says, as those who run Jobs and AnalysisRuns write it.
func (t testimony) object() *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{}}
	status := map[string]any{}
	switch t.kind() {
	case "jobs.batch":
		o.SetAPIVersion("batch/v1")
		o.SetKind("Job")
		if condition := map[string]string{saysYes: "Complete", saysNo: "Failed"}[t.says]; condition != "" {
			status["conditions"] = []any{map[string]any{"type": condition, "status": "True"}}
		}
		if t.says == saysYes {
			status["succeeded"] = int64(1)
		}
	default:
		o.SetAPIVersion("argoproj.io/v1alpha1")
		o.SetKind("AnalysisRun")
		status["phase"] = "Running"
		if phase := map[string]string{saysYes: "Successful", saysNo: "Failed"}[t.says]; phase != "" {
			status["phase"] = phase
		}
	}
	o.Object["status"] = status
	o.SetName(t.name)
	o.SetCreationTimestamp(metav1.NewTime(epoch.Add(t.at.Truncate(time.Second))))
	labels := map[string]string{"suite": t.suite(), evidence.RevisionLabel: t.label}
	if t.created != "" {
		labels[evidence.ForLabel] = t.created
	}
	o.SetLabels(labels)
	if t.says == saysLeaving {
		o.SetDeletionTimestamp(&metav1.Time{Time: epoch})
	}
	return o
}

// versionsOfObjects are the objects of the world as metadata.Interface.
type versionsOfObjects struct{ w *world }

func (v versionsOfObjects) Resource(kind schema.GroupVersionResource) metadata.Getter {
	return metadataOf{w: v.w, kind: kind}
}

// metadataOf lists the metadata of the world's objects of one kind.
type metadataOf struct {
	metadata.Getter
	w    *world
	kind schema.GroupVersionResource
}

func (m metadataOf) Namespace(string) metadata.ResourceInterface { return m }

func (m metadataOf) List(_ context.Context, o metav1.ListOptions) (*metav1.PartialObjectMetadataList, error) {
	selects, err := labels.Parse(o.LabelSelector)
	if err != nil {
		return nil, err
	}
	named, err := fields.ParseSelector(o.FieldSelector)
	if err != nil {
		return nil, err
	}
	list := &metav1.PartialObjectMetadataList{}
	for _, name := range slices.Sorted(maps.Keys(m.w.evidence.objects)) {
		t := m.w.evidence.objects[name]
		found := t.object()
		if t.kind() == m.kind.GroupResource().String() && selects.Matches(labels.Set(found.GetLabels())) &&
			named.Matches(fields.Set{metav1.ObjectNameField: name}) && int64(len(list.Items)) < o.Limit {
			list.Items = append(list.Items, metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name}})
		}
	}
	return list, nil
}

// objectsOfWorld are the same as evidence.Getter.
type objectsOfWorld struct{ w *world }

func (o objectsOfWorld) Get(
	_ context.Context, kind schema.GroupVersionResource, name types.NamespacedName,
) (*unstructured.Unstructured, error) {
	t, exists := o.w.evidence.objects[name.Name]
	if !exists {
		return nil, apierrors.NewNotFound(kind.GroupResource(), name.Name)
	}
	return t.object(), nil
}

// labelOf is how an object says that it speaks of what an Application was compared with.
func labelOf(app *argo.Application) string { return evidence.LabelOf(approvalOf(app)) }

func labelOfRevision(revision string) string { return evidence.LabelOf(revision) }

func labelOfSources(sources argo.ApplicationSources, revisions []string) string {
	return evidence.LabelOf(policy.ApprovalOf(argocd.Sources(sources, revisions)))
}
