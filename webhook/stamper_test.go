// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"testing"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/stepgate/stepgate/test/scenario"
	"github.com/stepgate/stepgate/webhook/record"
	"github.com/stepgate/stepgate/webhook/settings"
)

// TestWhoeverWritesAfterOnAnApplicationIsTold what is wrong with it, and nothing is refused or changed.
func TestWhoeverWritesAfterOnAnApplicationIsTold(t *testing.T) {
	c := scenario.Of("1:dev=Healthy@b 1:lone=Healthy@b 1:base=Healthy@b")
	dev, lone, base := c.Apps[0], c.Apps[1], c.Apps[2]
	lone.OwnerReferences, base.OwnerReferences = nil, nil
	base.Annotations = map[string]string{settings.AfterAnnotation: "lone"}
	stamper := NewStamper(settings.Config{}, scenario.Watched{Cluster: c}, reporterAccount, scenario.AtNoon)
	const annotation = "stepgate: annotation stepgate.io/after is "
	for name, tc := range map[string]struct {
		after string
		edit  func(*admissionv1.AdmissionRequest)
		want  []string
	}{
		"what exists":         {after: "guestbook"},
		"what does not exist": {after: "nobody", want: []string{annotation + "waiting for argocd/nobody, which does not exist: nothing starts until it does"}},
		"a circle":            {after: "base", want: []string{annotation + "a circle (lone > base > lone): each waits until the others are done; take a name out"}},
		"what is no name":     {after: "a,,b", want: []string{annotation + `not valid, the stricter reading is used: "" is no name`}},
		"another namespace":   {after: "b/a", want: []string{`stepgate: annotation stepgate.io/after`}},
		"an object that cannot be read": {after: "nobody", edit: func(req *admissionv1.AdmissionRequest) {
			req.Object.Raw = []byte("{")
		}},
		"no object": {after: "nobody", edit: func(req *admissionv1.AdmissionRequest) { req.Object.Raw = nil }},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			app := lone.DeepCopy()
			app.Annotations = map[string]string{settings.AfterAnnotation: tc.after}
			req := (&scenario.Attempt{Before: lone, After: app, User: "alice"}).Request()
			if tc.edit != nil {
				tc.edit(&req)
			}
			resp := stamper.Handle(t.Context(), webhook.AdmissionRequest{AdmissionRequest: req})
			g.Expect(resp.Allowed).To(BeTrue())
			g.Expect(resp.Patches).To(BeEmpty())
			g.Expect(resp.Warnings).To(HaveLen(len(tc.want)))
			for i, want := range tc.want {
				g.Expect(resp.Warnings[i]).To(HavePrefix(want))
			}
		})
	}

	g := NewWithT(t)
	own := dev.DeepCopy()
	own.Annotations = map[string]string{settings.AfterAnnotation: "guestbook"}
	own.OwnerReferences[0].Controller = new(bool)
	*own.OwnerReferences[0].Controller = true
	req := (&scenario.Attempt{Before: dev, After: own, User: "alice"}).Request()
	resp := stamper.Handle(t.Context(), webhook.AdmissionRequest{AdmissionRequest: req})
	g.Expect(resp.Warnings).To(ConsistOf(ContainSubstring("a circle")), "it comes after its own ApplicationSet")

	own.DeletionTimestamp = &metav1.Time{Time: scenario.Noon}
	req = (&scenario.Attempt{Before: dev, After: own, User: "alice"}).Request()
	resp = stamper.Handle(t.Context(), webhook.AdmissionRequest{AdmissionRequest: req})
	g.Expect(resp.Warnings).To(BeEmpty(), "it is being deleted")
}

// TestWhoeverWritesWavesOnAParentIsTold what is wrong with that, and stepgate writes who has approved there, too.
func TestWhoeverWritesWavesOnAParentIsTold(t *testing.T) {
	c := scenario.Waves("1:dev=Healthy@b")
	parent := c.Apps[1]
	another := parent.DeepCopy()
	another.Name = "other"
	c.Apps = append(c.Apps, another)
	for name, tc := range map[string]struct {
		annotations map[string]string
		labels      map[string]string
		off         bool
		want        []string
		patches     int
	}{
		"an order": {annotations: map[string]string{settings.WavesAnnotation: "true"}},
		"no order": {annotations: map[string]string{settings.PauseAnnotation: "nonsense", settings.WavesAnnotation: "false"}, patches: 1},
		"neither": {
			annotations: map[string]string{settings.WavesAnnotation: "yes"},
			want:        []string{`stepgate: annotation stepgate.io/waves is not valid, the stricter reading is used: "yes" is neither "true" nor "false"`},
		},
		"the installation has none": {
			annotations: map[string]string{settings.WavesAnnotation: "true"}, off: true,
			want: []string{"stepgate: annotation stepgate.io/waves is ignored: this installation has parent Applications order nothing (waves.enabled of the chart)"},
		},
		"a limit that nobody can read": {
			annotations: map[string]string{settings.WavesAnnotation: "true", settings.MaxUpdateAnnotation: "x"},
			want:        []string{`stepgate: annotation stepgate.io/max-update is not valid, the stricter reading is used: "x" is no number of Applications`},
		},
		"a limit of nothing": {
			annotations: map[string]string{settings.WavesAnnotation: "false", settings.MaxUpdateAnnotation: "3"},
			want:        []string{`stepgate: annotation stepgate.io/max-update is ignored: it limits waves, and the Application has none: write stepgate.io/waves: "true" beside it`},
		},
		"a circle": {
			annotations: map[string]string{settings.WavesAnnotation: "true", settings.AfterAnnotation: "nobody"},
			want:        []string{"stepgate: annotation stepgate.io/after is waiting for argocd/nobody, which does not exist"},
		},
		"a pause":  {annotations: map[string]string{settings.WavesAnnotation: "true", settings.PauseAnnotation: "1"}, patches: 1},
		"approval": {annotations: map[string]string{settings.WavesAnnotation: "true", settings.ApproveAnnotation: "1", settings.ApprovedAnnotation: "1@1.2.3"}, patches: 1},
		"a wave of its own that is no number": {
			annotations: map[string]string{"argocd.argoproj.io/sync-wave": "ten"},
			want:        []string{`stepgate: annotation argocd.argoproj.io/sync-wave is no number, and Argo CD counts it as 0: "ten"`},
		},
		"two parents, of which one has waves": {
			annotations: map[string]string{
				"argocd.argoproj.io/sync-wave": "1", "argocd.argoproj.io/tracking-id": "root:argoproj.io/Application:argocd/platform",
			},
			labels: map[string]string{"app.kubernetes.io/instance": "other"},
			want: []string{
				"stepgate: annotation argocd.argoproj.io/tracking-id is of Application argocd/root, which does not exist: nobody orders this one",
				"stepgate: annotation argocd.argoproj.io/tracking-id is of Application argocd/root, and the label " +
					"app.kubernetes.io/instance of argocd/other, which has waves: these do not count here",
			},
		},
		"a parent, and the label of a chart": {
			annotations: map[string]string{"argocd.argoproj.io/tracking-id": "other:argoproj.io/Application:argocd/platform"},
			labels:      map[string]string{"app.kubernetes.io/instance": "chart"},
		},
		"a parent that does not exist, where nobody orders": {
			annotations: map[string]string{"argocd.argoproj.io/tracking-id": "root:argoproj.io/Application:argocd/platform"}, off: true,
		},
		"no wave": {annotations: map[string]string{settings.WavesAnnotation: "true", settings.PauseAnnotation: "last"}, patches: 1, want: []string{"stepgate: annotation stepgate.io/pause is not valid"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			config := settings.Config{Mode: settings.Enforce, Waves: !tc.off}
			stamper := NewStamper(config, scenario.Watched{Cluster: c}, reporterAccount, scenario.AtNoon)
			app := parent.DeepCopy()
			app.Annotations, app.Labels = tc.annotations, tc.labels
			req := (&scenario.Attempt{Before: parent, After: app, User: "alice"}).Request()
			resp := stamper.Handle(t.Context(), webhook.AdmissionRequest{AdmissionRequest: req})
			g.Expect(resp.Allowed).To(BeTrue())
			g.Expect(resp.Patches).To(HaveLen(tc.patches))
			g.Expect(resp.Warnings).To(HaveLen(len(tc.want)))
			for i, want := range tc.want {
				g.Expect(resp.Warnings[i]).To(HavePrefix(want))
			}
		})
	}
}

// TestApprovalsOnAParentAreThoseOfApprovers: the annotations of a parent are no way round the check.
func TestApprovalsOnAParentAreThoseOfApprovers(t *testing.T) {
	g := NewWithT(t)
	parent := scenario.Waves("1:dev=Healthy@b").Apps[1]
	approved := parent.DeepCopy()
	approved.Annotations[settings.ApprovedAnnotation] = "1@1.2.3"
	metrics := record.NewMetrics(prometheus.NewRegistry())
	check := NewApprovalCheck(ApproverConfig{Users: []string{"bob"}}, reporterAccount, metrics, scenario.AtNoon)
	req := (&scenario.Attempt{Before: parent, After: approved, User: "alice"}).Request()
	resp := check.Handle(t.Context(), webhook.AdmissionRequest{AdmissionRequest: req})
	g.Expect(resp.Allowed).To(BeFalse())
	g.Expect(resp.Result.Message).To(HavePrefix("alice may not approve wave 1 of Application argocd/platform"))
}
