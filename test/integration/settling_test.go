// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"testing"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/cluster"
)

// TestASpecSettles has the specs of prod and dev change, prod's first, and the sync of prod be started when dev is
// done.
func TestASpecSettles(t *testing.T) {
	r := newRollout(t, "--spec-settling=3s")
	for _, env := range []string{"dev", "qa"} {
		r.done(env)
	}
	r.pending("prod")
	r.Expect(r.update(cluster.ApplicationSetAccount, "prod", func(app *argo.Application) {
		app.Spec.IgnoreDifferences = ignoreReplicas()
	})).To(Succeed())
	r.Expect(r.update(cluster.ControllerAccount, "prod", compare)).To(Succeed())
	r.Expect(r.sync(cluster.Human, "prod")).To(
		MatchError(ContainSubstring(
			"(NotGenerated: the ApplicationSet controller may still be writing its Applications). Next: wait",
		)),
	)
	r.Expect(r.update(cluster.ApplicationSetAccount, "dev", func(app *argo.Application) {
		app.Spec.IgnoreDifferences = ignoreReplicas()
	})).To(Succeed())
	r.Expect(r.sync(cluster.Human, "prod")).To(MatchError(
		ContainSubstring("engineering-dev-guestbook (NotCompleted: its spec has changed since it was compared)"),
	))
	r.Expect(r.sync(cluster.ApplicationSetAccount, "prod")).To(Succeed(), "it is held")
	r.Expect(r.update(cluster.ControllerAccount, "dev", compare)).To(Succeed())
	// Another refresh of prod may still be on its way: it was not compared with its spec for a moment.
	r.Eventually(func() bool {
		if r.askedMeanwhile() == "" {
			return false
		}
		r.Expect(r.update(cluster.ControllerAccount, "prod", compare)).To(Succeed())
		r.Expect(r.sync(cluster.ApplicationSetAccount, "prod")).To(Succeed())
		return r.stored("prod")
	}).Should(BeTrue(), "its turn comes, and nobody else asks")
}

// TestAFailingApplicationSet lets the ApplicationSet controller report that it cannot write an Application. prod was
// never deployed, so all that it deploys is a change.
func TestAFailingApplicationSet(t *testing.T) {
	r := newRollout(t)
	for _, env := range []string{"dev", "qa"} {
		r.done(env)
	}
	r.failing(true)
	r.Expect(r.sync(cluster.Human, "prod")).To(MatchError(And(ContainSubstring("(NotGenerated: "),
		ContainSubstring("no such project"))))
	r.failing(false)
	r.Expect(r.sync(cluster.Human, "prod")).To(Succeed())
}

// failing lets the ApplicationSet controller report an error, or none.
func (r *rollout) failing(is bool) {
	status := argo.ApplicationSetConditionStatusFalse
	if is {
		status = argo.ApplicationSetConditionStatusTrue
	}
	r.Expect(shared.Admin.Get(r.ctx, client.ObjectKeyFromObject(r.Set), r.Set)).To(Succeed())
	before := r.Set.DeepCopy()
	r.Set.Status.Conditions = []argo.ApplicationSetCondition{{
		Type: argo.ApplicationSetConditionErrorOccurred, Status: status, Message: "application references project team which does not exist: no such project", Reason: "ApplicationValidationError",
	}}
	r.Expect(shared.Admin.Status().Patch(r.ctx, r.Set, client.MergeFrom(before))).To(Succeed())
}

func ignoreReplicas() argo.IgnoreDifferences {
	return argo.IgnoreDifferences{{Group: "apps", Kind: "Deployment", JSONPointers: []string{"/spec/replicas"}}}
}

// compare is a comparison with the spec as it is. Like Argo CD's, it answers a refresh.
func compare(app *argo.Application) {
	delete(app.Annotations, argo.AnnotationKeyRefresh)
	app.Status.Sync.ComparedTo.IgnoreDifferences = app.Spec.IgnoreDifferences
}
