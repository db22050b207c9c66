// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"strings"
	"testing"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/guestbook"
	"github.com/stepgate/stepgate/webhook/settings"
)

// lone creates an Application that no ApplicationSet controls, OutOfSync with auto-sync on.
func (r *rollout) lone(name string, annotations map[string]string) *argo.Application {
	r.t.Helper()
	app := guestbook.Application(r.Set, "dev")
	app.ObjectMeta = metav1.ObjectMeta{Namespace: r.namespace, Name: name, Annotations: annotations}
	app.Spec.SyncPolicy = &argo.SyncPolicy{Automated: &argo.SyncPolicyAutomated{}}
	guestbook.Compare(app, r.Tick(), guestbook.NewCommit, argo.SyncStatusCodeOutOfSync, health.HealthStatusHealthy)
	r.Expect(shared.Admin.Create(r.ctx, app)).To(Succeed())
	return app
}

// starts writes the operation of an automated sync, as the application controller does, or the same of somebody who does
// not ask again.
func (r *rollout) starts(app *argo.Application, automated bool) error {
	r.t.Helper()
	r.Expect(shared.Admin.Get(r.ctx, client.ObjectKeyFromObject(app), app)).To(Succeed())
	before := app.DeepCopy()
	app.Operation = &argo.Operation{
		Sync:        &argo.SyncOperation{Revision: guestbook.NewCommit},
		InitiatedBy: argo.OperationInitiator{Automated: automated},
	}
	return r.as(cluster.ControllerAccount).Patch(r.ctx, app, client.MergeFrom(before))
}

// told writes what an Application comes after, and hears a warning.
func (r *rollout) told(app *argo.Application, after, want string) {
	r.t.Helper()
	heard := &warnings{}
	admin, err := shared.ClientWithWarnings(cluster.Human, heard)
	r.Expect(err).NotTo(HaveOccurred())
	before := app.DeepCopy()
	app.Annotations = map[string]string{settings.AfterAnnotation: after}
	r.Expect(admin.Patch(r.ctx, app, client.MergeFrom(before))).To(Succeed())
	if want == "" {
		r.Expect(heard.all).To(BeEmpty())
		return
	}
	r.Expect(heard.all).To(ConsistOf(ContainSubstring(want)))
}

// refreshOf is the refresh that is asked for on an Application.
func (r *rollout) refreshOf(app *argo.Application) string {
	r.t.Helper()
	r.Expect(shared.Admin.Get(r.ctx, client.ObjectKeyFromObject(app), app)).To(Succeed())
	return app.Annotations[argo.AnnotationKeyRefresh]
}

// TestAnApplicationOfItsOwnComesAfterAnApplicationSet waits for all steps of guestbook, is woken when they are done and
// compared since, and costs an Application without the annotation nothing.
func TestAnApplicationOfItsOwnComesAfterAnApplicationSet(t *testing.T) {
	r := newRollout(t)
	shop := r.lone("shop", map[string]string{settings.AfterAnnotation: "guestbook"})
	r.told(shop, "guestbook, nobody", "nobody, which does not exist: nothing starts until it does")
	r.told(shop, "guestbook", "")
	free := r.lone("free", nil)
	before := r.requests()
	r.Expect(r.starts(free, true)).To(Succeed())
	r.Expect(r.requests()).To(Equal(before), "the API server does not call stepgate for it")

	err := r.starts(shop, false)
	r.denied(err, "NotHealthy engineering-dev-guestbook", "NotCompleted engineering-prod-guestbook",
		"NotCompleted engineering-qa-guestbook")
	r.Expect(err).To(MatchError(ContainSubstring("Application shop may not sync yet: it comes after " +
		"guestbook, which is not done: ")))
	explained := r.ask("explain", "shop")
	r.Expect(explained.out).To(And(ContainSubstring("is held now"),
		ContainSubstring("1. engineering-dev-guestbook (NotHealthy: Progressing)")))
	r.Expect(explained.code).To(Equal(1), explained.err)
	for _, env := range []string{"dev", "qa", "prod"} {
		r.done(env)
	}
	r.Expect(r.starts(shop, true)).To(Succeed())
	r.Expect(shop.Operation).To(BeNil(), "it is held")
	r.Eventually(func() string {
		for _, env := range []string{"dev", "qa", "prod"} {
			if r.asked(env) != "" {
				r.done(env)
			}
		}
		return r.refreshOf(shop)
	}).Should(Equal("normal"), "its turn has come")
	r.Expect(r.starts(shop, true)).To(Succeed())
	r.Expect(shop.Operation).NotTo(BeNil())
}

// TestAnApplicationSetComesAfterAnApplication in its first step, too. Whoever writes the annotation is told what does not
// exist.
func TestAnApplicationSetComesAfterAnApplication(t *testing.T) {
	r := newRollout(t)
	heard := &warnings{}
	admin, err := shared.ClientWithWarnings(cluster.Human, heard)
	r.Expect(err).NotTo(HaveOccurred())
	annotate := func(names string) {
		before := r.Set.DeepCopy()
		r.Set.Annotations = map[string]string{settings.AfterAnnotation: names}
		r.Expect(admin.Patch(r.ctx, r.Set, client.MergeFrom(before))).To(Succeed())
	}
	annotate("base, nobody")
	r.Expect(heard.all).To(ContainElement(ContainSubstring("nobody, which does not exist: nothing starts until it does")))
	base := r.lone("base", nil)
	r.Expect(r.update(cluster.ControllerAccount, "dev", func(app *argo.Application) { // else its sync would repair drift
		guestbook.Compare(app, r.Tick(), strings.Repeat("e", 40), argo.SyncStatusCodeOutOfSync, health.HealthStatusHealthy)
	})).To(Succeed())
	r.Eventually(func() error { return r.sync(cluster.ControllerAccount, "dev") }).Should(MatchError(ContainSubstring(
		"step 1 of ApplicationSet " + r.namespace + "/guestbook may not sync yet: it comes after base, which is not done: base " +
			"(NotCompleted: OutOfSync), nobody (DependencyNotFound: does not exist)")))

	annotate("base")
	r.Expect(heard.all).To(HaveLen(2), "base did not exist when it was first named")
	before := base.DeepCopy()
	base.Annotations = map[string]string{argo.AnnotationKeyRefresh: string(argo.RefreshTypeNormal)}
	r.Expect(shared.Admin.Patch(r.ctx, base, client.MergeFrom(before))).To(Succeed())
	before = base.DeepCopy()
	guestbook.Compare(base, r.Tick(), guestbook.NewCommit, argo.SyncStatusCodeSynced, health.HealthStatusHealthy)
	base.Annotations = nil
	r.Expect(shared.Admin.Patch(r.ctx, base, client.MergeFrom(before))).To(Succeed())
	r.Eventually(func() error { return r.sync(cluster.ControllerAccount, "dev") }).Should(Succeed())
}

// warnings are those that a client has heard.
type warnings struct{ all []string }

var _ rest.WarningHandler = (*warnings)(nil)

// HandleWarningHeader is rest.WarningHandler.
func (w *warnings) HandleWarningHeader(_ int, _, text string) { w.all = append(w.all, text) }
