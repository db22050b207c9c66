// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"testing"
	"time"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/guestbook"
)

// exempts reports how many exemptions of a kind are shown.
func (r *rollout) exempts(kind string) func() (float64, error) {
	return func() (float64, error) {
		return r.replica.Metric(r.ctx, "stepgate_exemption", "kind", kind, "applicationset_namespace", r.namespace)
	}
}

// TestAUserHasNoWayRound through argocd-server, once dev is done: prod asks for what nobody has compared, or has said
// that it is something else, in a write before.
func TestAUserHasNoWayRound(t *testing.T) {
	r := newRollout(t)
	r.done("dev")
	sync := func(change func(*argo.SyncOperation)) error {
		return r.update(cluster.ServerAccount, "prod", func(app *argo.Application) {
			app.Operation = guestbook.UserSync("jane")
			change(app.Operation.Sync)
		}, client.DryRunAll)
	}
	for trick, change := range map[string]func(*argo.SyncOperation){
		"a commit": func(s *argo.SyncOperation) { s.Revision = "ffffffffffffffffffffffffffffffffffffffff" },
		"a branch": func(s *argo.SyncOperation) { s.Revision = "refs/pull/1/head" },
		"a source": func(s *argo.SyncOperation) {
			s.Revision = guestbook.NewCommit
			s.Source = &argo.ApplicationSource{RepoURL: "https://evil.example.com/x.git", Path: "x", TargetRevision: "main"}
		},
		"manifests":      func(s *argo.SyncOperation) { s.Manifests = []string{"{}"} },
		"some resources": func(s *argo.SyncOperation) { s.Resources = []argo.SyncOperationResource{{Kind: "Secret", Name: "x"}} },
	} {
		r.Expect(sync(change)).To(MatchError(ContainSubstring("denied the request")), trick)
	}
	for trick, patch := range map[string]string{
		"another step": `{"metadata":{"labels":{"envLabel":"env-dev"}}}`,
		"no step":      `{"metadata":{"labels":{"envLabel":"none"}}}`,
	} {
		r.Expect(r.as(cluster.Human).Patch(r.ctx, r.app("prod"),
			client.RawPatch(types.MergePatchType, []byte(patch)))).To(Succeed())
		r.Expect(sync(func(*argo.SyncOperation) {})).To(MatchError(ContainSubstring("denied the request")), trick)
	}
}

// TestABypassIsNeverSilent: a log line, a metric and an Event say it.
func TestABypassIsNeverSilent(t *testing.T) {
	r := newRollout(t, "--bypass-user=alice", "--argocd-server-account="+cluster.ServerAccount)
	r.Expect(r.update(cluster.ServerAccount, "prod", func(app *argo.Application) {
		app.Operation = guestbook.UserSync("alice")
		app.Operation.Info = []*argo.Info{{Name: "stepgate.io/bypass", Value: "INC-1234"}}
	})).To(Succeed())
	r.Expect(r.replica.Metric(r.ctx, "stepgate_decisions_total", "reason", "Bypassed")).To(BeNumerically("==", 1))
	r.Expect(r.replica.Log()).To(And(ContainSubstring("gate bypassed"), ContainSubstring("INC-1234 by alice")))
	r.Eventually(func() int { return len(r.events("prod", "SyncGateBypassed")) }).Should(Equal(1))
}

// TestWhatAnApplicationSetSwitchesOffIsShown as long as it is off, and only what is permitted has an effect.
func TestWhatAnApplicationSetSwitchesOffIsShown(t *testing.T) {
	t.Parallel()
	in := func(after time.Duration) string { return time.Now().Add(after).Format(time.RFC3339) }
	r := newRollout(t, "--allowed-annotations=stepgate.io/mode,stepgate.io/bypass,stepgate.io/exclude")
	for kind, annotations := range map[string]map[string]string{
		"off":       {"stepgate.io/mode": "off"},
		"audit":     {"stepgate.io/mode": "audit"},
		"bypass":    {"stepgate.io/bypass": in(time.Hour) + " INC-1"},
		"exclusion": {"stepgate.io/exclude": "engineering-dev-guestbook " + in(time.Hour) + " INC-1"},
	} {
		r.annotate(annotations)
		r.Eventually(r.exempts(kind)).Should(BeNumerically("==", 1), kind)
	}
	r.annotate(map[string]string{"stepgate.io/bypass": in(25*time.Hour) + " INC-1"})
	r.denied(r.sync(cluster.ControllerAccount, "prod", client.DryRunAll), bothBlock...)
	r.annotate(map[string]string{"stepgate.io/require": "health"})
	r.done("dev")
	r.denied(r.sync(cluster.Human, "prod", client.DryRunAll), "NotCompleted engineering-qa-guestbook")
}

// TestANamespaceThatIsSwitchedOffIsShown as long as it has the label.
func TestANamespaceThatIsSwitchedOffIsShown(t *testing.T) {
	t.Parallel()
	r := newRollout(t)
	namespace := &corev1.Namespace{}
	r.Expect(shared.Admin.Get(r.ctx, client.ObjectKey{Name: r.namespace}, namespace)).To(Succeed())
	before := namespace.DeepCopy()
	namespace.Labels["stepgate.io/ignore"] = "true"
	r.Expect(shared.Admin.Patch(r.ctx, namespace, client.MergeFrom(before))).To(Succeed())
	r.Eventually(func() error { return r.sync(cluster.Human, "prod", client.DryRunAll) }).Should(Succeed())
	r.Eventually(r.exempts("ignored_namespace")).Should(BeNumerically("==", 1))
}

// TestAFalseStatusIsBelieved: the CRD of Argo CD has no status subresource, and whoever may edit an Application may write
// any.
func TestAFalseStatusIsBelieved(t *testing.T) {
	r := newRollout(t)
	r.denied(r.sync(cluster.Human, "qa"), "NotHealthy engineering-dev-guestbook")
	r.Expect(r.update(cluster.Human, "dev", func(app *argo.Application) {
		guestbook.Compare(app, r.Tick(), guestbook.NewCommit, argo.SyncStatusCodeSynced, health.HealthStatusHealthy)
	})).To(Succeed())
	r.Expect(r.sync(cluster.Human, "qa")).To(Succeed())
}
