// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"testing"
	"time"

	"github.com/argoproj/argo-cd/v3/common"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stepgate/stepgate/policy"
)

// pulled is application as it is on the hub of OCM: its add-on writes these five fields of the status, and takes the
// destination's name for its own.
func pulled() *argo.Application {
	app := application()
	app.Annotations = map[string]string{common.AnnotationKeyAppSkipReconcile: "true"}
	app.ManagedFields = []metav1.ManagedFieldsEntry{
		{Manager: "argocd-applicationset-controller", Time: at(40), FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:source":{}}}`)},
		{Manager: "argocd-pull-integration", Time: at(90), FieldsV1: metav1.NewFieldsV1(
			`{"f:spec":{"f:destination":{"f:name":{}}},"f:status":{"f:sync":{}}}`)},
	}
	app.Status = argo.ApplicationStatus{
		Health:         argo.AppHealthStatus{Status: "Healthy"},
		Sync:           argo.SyncStatus{Status: argo.SyncStatusCodeSynced, Revision: newCommit},
		OperationState: &argo.OperationState{Phase: "Succeeded", StartedAt: *at(50)},
	}
	return app
}

// ofAgent is application as it is on the hub of argocd-agent, which copies the status of a cluster of its own.
func ofAgent() *argo.Application {
	app := application()
	app.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "argocd-agent", FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:reconciledAt":{}}}`)}}
	app.Spec.Destination = argo.ApplicationDestination{Name: "eu-1", Namespace: "guestbook"}
	app.Status.Sync.ComparedTo.Destination = argo.ApplicationDestination{Name: "in-cluster", Namespace: "guestbook"}
	return app
}

// TestReported is what the rule gets of an Application of which an agent reports.
func TestReported(t *testing.T) {
	want := policy.Application{
		Name: "dev", Labels: map[string]string{"env": "dev"}, Reported: true, Health: "Healthy", HealthSince: at(90).Time,
		SyncStatus: "Synced", SpecCompared: true, ReconciledAt: at(90).Time,
		Compared:      []policy.Source{{Key: repoKey, Revision: newCommit}},
		LastOperation: policy.LastOperation{Phase: "Succeeded", StartedAt: at(50).Time},
	}
	for name, tc := range map[string]struct {
		edit func(*argo.Application)
		want func(*policy.Application)
	}{
		"as OCM writes it": {func(*argo.Application) {}, func(*policy.Application) {}},
		"its sync has failed": {
			func(a *argo.Application) { a.Status.OperationState.Phase = "Failed" },
			func(p *policy.Application) {
				p.LastOperation.Phase = "Failed"
				p.LastFull = policy.FullSync{Phase: "Failed", StartedAt: at(50).Time, AtCompared: true}
			},
		},
		"nobody keeps who has written it": {
			func(a *argo.Application) { a.ManagedFields = nil },
			func(p *policy.Application) { p.ReconciledAt, p.HealthSince = at(50).Time, at(50).Time },
		},
		"several sources, of which OCM reports no revision": {
			func(a *argo.Application) {
				a.Spec.Source, a.Spec.Sources = nil, argo.ApplicationSources{source(), reference()}
				a.Status.Sync.Revision = ""
			},
			func(p *policy.Application) {
				p.Compared = []policy.Source{{Key: repoKey}, {Key: SourceKey(reference())}}
			},
		},
		"nothing is reported yet": {
			func(a *argo.Application) { a.Status = argo.ApplicationStatus{} },
			func(p *policy.Application) {
				*p = policy.Application{Name: "dev", Labels: p.Labels, Reported: true, Compared: []policy.Source{}}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			g, app, wanted := NewWithT(t), pulled(), want
			tc.edit(app)
			tc.want(&wanted)
			before := app.DeepCopy()
			g.Expect(Sibling(app)).To(Equal(wanted))
			g.Expect(app).To(Equal(before), "the object stays as it is")
		})
	}
	g := NewWithT(t)
	g.Expect(NewProjection(pulled()).ContentSince).To(Equal(at(40).Time), "OCM's own writes are none of the spec")
	g.Expect(NewProjection(pulled()).Report).NotTo(BeZero())
	g.Expect(NewProjection(application()).Report).To(BeZero())
}

// TestAReportIsOfTheSpecThatWasThere: a spec that comes with the operation is not the one that was reported.
func TestAReportIsOfTheSpecThatWasThere(t *testing.T) {
	write := func(edit func(*argo.Application)) policy.Target {
		app := pulled()
		app.Operation = &argo.Operation{Sync: &argo.SyncOperation{}, InitiatedBy: argo.OperationInitiator{Automated: true}}
		edit(app)
		next, old := decoded(t, app), decoded(t, pulled())
		NewWithT(t).Expect(NewPin(next, old, nil)).To(Equal(Pin{}), "it is never pinned")
		return Tracking{}.Target(next, old)
	}
	g := NewWithT(t)
	target := write(func(*argo.Application) {})
	g.Expect(target.Reported).To(BeTrue())
	g.Expect(target.SpecCompared).To(BeTrue())
	g.Expect(target.Wanted).To(Equal([]policy.Source{{Key: repoKey, Revision: newCommit}}))
	g.Expect(write(func(a *argo.Application) { a.Spec.Source.Path = "other" }).SpecCompared).To(BeFalse())
}

// TestTheClusterOfAnAgent has another name for itself. Only where argocd-agent writes is that no other destination.
func TestTheClusterOfAnAgent(t *testing.T) {
	for name, tc := range map[string]struct {
		edit func(*argo.Application)
		want bool
	}{
		"argocd-agent has written the status":  {func(*argo.Application) {}, true},
		"Argo CD has":                          {func(a *argo.Application) { a.ManagedFields = nil }, false},
		"it is in another namespace there":     {func(a *argo.Application) { a.Status.Sync.ComparedTo.Destination.Namespace = "x" }, false},
		"it was compared with another cluster": {func(a *argo.Application) { a.Status.Sync.ComparedTo.Destination.Name = "x" }, false},
		"it was compared with another source":  {func(a *argo.Application) { a.Spec.Source.Path = "x" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			g, app := NewWithT(t), ofAgent()
			tc.edit(app)
			app.Operation = &argo.Operation{Sync: &argo.SyncOperation{}}
			g.Expect(Sibling(app).SpecCompared).To(Equal(tc.want))
			g.Expect(Sibling(app).Reported).To(BeFalse(), "its status is whole")
			g.Expect(ComparedRevisions(app) != nil).To(Equal(tc.want))
			g.Expect(targetOf(t, app).SpecCompared).To(Equal(tc.want))
		})
	}
	g := NewWithT(t)
	g.Expect(lastWritten(application(), func(string) bool { return true })).To(Equal(time.Time{}))
	g.Expect(NewProjection(ofAgent()).Relayed).To(BeTrue())
	g.Expect(NewProjection(pulled()).Relayed).To(BeFalse(), "OCM reports no comparison")
	onItsCluster := application()
	onItsCluster.ManagedFields = []metav1.ManagedFieldsEntry{
		{Manager: "argocd-agent", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{},"f:operation":{}}`)},
		{Manager: "argocd-application-controller", FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:reconciledAt":{}}}`)},
	}
	g.Expect(NewProjection(onItsCluster).Relayed).To(BeFalse(), "the agent writes no comparison there")
}

// TestWhoHasWrittenTheSpec is told by the managed fields: the ApplicationSet controller owns the owner references.
func TestWhoHasWrittenTheSpec(t *testing.T) {
	at := func(manager, fields string, minute int) metav1.ManagedFieldsEntry {
		written := metav1.NewTime(time.Date(2026, 9, 21, 12, minute, 0, 0, time.UTC))
		return metav1.ManagedFieldsEntry{Manager: manager, Time: &written, FieldsV1: metav1.NewFieldsV1(fields)}
	}
	const own, spec, status = `{"f:metadata":{"f:ownerReferences":{}},"f:spec":{}}`, `{"f:spec":{}}`, `{"f:status":{}}`
	for name, tc := range map[string]struct {
		fields []metav1.ManagedFieldsEntry
		want   bool
	}{
		"nobody knows":                     {nil, false},
		"the controller alone":             {[]metav1.ManagedFieldsEntry{at("set", own, 1), at("app", status, 9)}, false},
		"another one, since":               {[]metav1.ManagedFieldsEntry{at("set", own, 1), at("kargo", spec, 2)}, true},
		"another one, a moment after":      {[]metav1.ManagedFieldsEntry{at("set", own, 2), at("kargo", spec, 2)}, false},
		"another one, and then controller": {[]metav1.ManagedFieldsEntry{at("set", own, 3), at("kargo", spec, 2)}, false},
		"no controller":                    {[]metav1.ManagedFieldsEntry{at("kargo", spec, 2)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			app := single()
			app.ManagedFields = tc.fields
			NewWithT(t).Expect(NewProjection(app).ByAnother).To(Equal(tc.want))
		})
	}
}
