// SPDX-License-Identifier: Apache-2.0

package extension_test

import (
	"encoding/json"
	"net/http"
	"testing"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/stepgate/stepgate/cmd/dashboard"
	. "github.com/stepgate/stepgate/cmd/extension"
	"github.com/stepgate/stepgate/cmd/rollout"
	"github.com/stepgate/stepgate/test/guestbook"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/settings"
)

// inWaves has the three Applications of guestbook be in waves, and answers about them and others.
func (w *gated) inWaves(
	t *testing.T, set *argo.ApplicationSet, edit func(*argo.Application), others ...*argo.Application,
) http.Handler {
	t.Helper()
	g := NewWithT(t)
	w.Snapshot = rollout.NewSnapshot()
	w.Add(set, others...)
	for env, wave := range map[string]string{"dev": "-1", "qa": "0", "prod": "20"} {
		app := &argo.Application{}
		name := types.NamespacedName{Namespace: "argocd", Name: "engineering-" + env + "-guestbook"}
		g.Expect(w.objects.Get(t.Context(), name, app)).To(Succeed())
		app.Annotations = map[string]string{"argocd.argoproj.io/sync-wave": wave}
		edit(app)
		g.Expect(w.objects.Update(t.Context(), app)).To(Succeed())
		w.apps[name] = argocd.NewProjection(app)
		w.Add(set, app)
	}
	return w.handler()
}

// TestWaves are shown, paused and approved by their numbers, also wave 0.
func TestWaves(t *testing.T) {
	g := NewWithT(t)
	w := newGated(t)
	set := &argo.ApplicationSet{}
	g.Expect(w.objects.Get(t.Context(), types.NamespacedName{Namespace: "argocd", Name: "guestbook"}, set)).To(Succeed())
	set.Spec.Strategy = nil
	set.Annotations = map[string]string{argocd.WavesAnnotation: "true", settings.ApproveAnnotation: "0"}
	g.Expect(w.objects.Update(t.Context(), set)).To(Succeed())
	handler := w.inWaves(t, set, func(*argo.Application) {})

	s := read[Status](t, handler, "/api/v1/status", "prod")
	g.Expect([]any{s.Step, s.Wave, s.Rollout.Step, s.Rollout.Wave, s.Rollout.Steps}).To(
		Equal([]any{3, ptr.To(20), 1, ptr.To(-1), 3}))
	x := read[dashboard.Explained](t, handler, "/api/v1/explanation", "qa").Explanation
	g.Expect([]any{x.Step, x.Wave, x.Steps}).To(Equal([]any{2, ptr.To(0), 3}))
	d := read[dashboard.Detail](t, handler, "/api/v1/rollout", "dev")
	g.Expect(d.Rollout.Waves).To(BeTrue())
	g.Expect([]any{d.Rollout.Steps[1].Number, d.Rollout.Steps[1].Wave}).To(Equal([]any{2, ptr.To(0)}))

	g.Expect(done(t, handler, dashboard.Action{Verb: dashboard.Pause, Wave: ptr.To(0)}).Command).To(
		Equal("stepgate pause guestbook -n argocd --step 0"))
	g.Expect(w.annotations(t)).To(HaveKeyWithValue(settings.PauseAnnotation, "0"))
	approve := dashboard.Action{Verb: dashboard.Approve, Wave: ptr.To(0), DryRun: true}
	approve.Approves = done(t, handler, approve).Approves
	approve.DryRun = false
	g.Expect(done(t, handler, approve).OK).To(BeTrue())
	g.Expect(w.annotations(t)).To(HaveKeyWithValue(settings.ApprovedAnnotation, "0@"+guestbook.NewCommit))
}

// TestChildrenOfAParent are shown in their waves, and Argo CD's UI pauses no parent.
func TestChildrenOfAParent(t *testing.T) {
	g := NewWithT(t)
	w := newGated(t)
	w.waves = true
	set := &argo.ApplicationSet{}
	g.Expect(w.objects.Get(t.Context(), types.NamespacedName{Namespace: "argocd", Name: "guestbook"}, set)).To(Succeed())
	parent := guestbook.Application(set, "parent")
	parent.Name, parent.UID, parent.OwnerReferences = "platform", "platform", nil
	parent.Annotations = map[string]string{argocd.WavesAnnotation: "true"}
	w.apps[types.NamespacedName{Namespace: "argocd", Name: "platform"}] = argocd.NewProjection(parent)
	handler := w.inWaves(t, set, func(app *argo.Application) {
		app.OwnerReferences = nil
		app.Annotations["argocd.argoproj.io/tracking-id"] = "platform:argoproj.io/Application:argocd/" + app.Name
	}, parent)

	s := read[Status](t, handler, "/api/v1/status", "prod")
	g.Expect([]any{s.Step, s.Wave, s.Rollout.Steps, s.Rollout.Name}).To(Equal([]any{3, ptr.To(20), 3, "waves/platform"}))
	g.Expect(s.Said.Text).To(HavePrefix("waits for engineering-dev-guestbook"))
	x := read[dashboard.Explained](t, handler, "/api/v1/explanation", "prod")
	g.Expect([]any{x.Explanation.Step, x.Explanation.Wave}).To(Equal([]any{3, ptr.To(20)}))
	g.Expect(x.Lines).To(ContainElement(ContainSubstring("argocd/platform, wave 20 (3 of 3)")))
	ofParent := func(query string) (code int, s Status) {
		answer := ask(t, handler, http.MethodGet, "/api/v1/status"+query, headers("argocd:platform", "default"))
		_ = json.Unmarshal(answer.Body.Bytes(), &s) // a refusal has no rollout
		return answer.Code, s
	}
	code, s := ofParent("?order=own")
	g.Expect([]any{code, s.Rollout.Name, s.Rollout.Steps, s.Said}).To(
		Equal([]any{http.StatusOK, "waves/platform", 3, (*dashboard.Said)(nil)}))
	code, _ = ofParent("")
	g.Expect(code).To(Equal(http.StatusForbidden), "nothing orders the parent itself")
	own := ask(t, handler, http.MethodGet, "/api/v1/rollout?order=own", headers("argocd:platform", "default"))
	var detail dashboard.Detail
	g.Expect(json.Unmarshal(own.Body.Bytes(), &detail)).To(Succeed())
	g.Expect(detail.Rights).To(Equal(dashboard.Rights{}), "nobody pauses a parent from here")
	child := headers("argocd:engineering-prod-guestbook", "default")
	none := ask(t, handler, http.MethodGet, "/api/v1/status?order=own", child)
	g.Expect([]any{none.Code, none.Body.String()}).To(
		ConsistOf(http.StatusForbidden, ContainSubstring("engineering-prod-guestbook gives its children no order")))

	paused := dashboard.Action{Verb: dashboard.Pause, Namespace: "argocd", Name: "waves/platform", Wave: ptr.To(20)}
	refused := post(t, handler, paused, acting())
	g.Expect(refused.Body.String()).To(ContainSubstring("stepgate pause platform -n argocd"))
}
