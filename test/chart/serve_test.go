// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/guestbook"
	"github.com/stepgate/stepgate/test/installed"
	"github.com/stepgate/stepgate/webhook"
)

func contextOfCleanup() context.Context { return context.Background() }

// serve starts a release until the test ends, and waits until it is ready.
func serve(t *testing.T, r installed.Chart) *installed.Replica {
	t.Helper()
	g := NewWithT(t)
	r.Values = append([]string{"config.mode=enforce", "shutdownDelay=0s"}, r.Values...)
	replica, err := installed.StartChart(t.Context(), shared, r)
	g.Expect(err).NotTo(HaveOccurred())
	uninstallAtEnd(t, r.Name, r.Namespace)
	t.Cleanup(func() {
		replica.Kill()
		if t.Failed() {
			t.Log(replica.Log())
		}
	})
	g.Expect(replica.WaitReady(t.Context())).To(Succeed())
	return replica
}

// rollout creates the guestbook in a namespace: prod must wait for dev, which is Progressing.
func rollout(t *testing.T, namespace string) *argo.ApplicationSet {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	g.Expect(shared.CreateNamespace(ctx, namespace)).To(Succeed())
	made, err := guestbook.Create(ctx, shared.Admin, namespace, guestbook.Lately,
		func(made *guestbook.Rollout, env string, app *argo.Application) {
			sync := argo.SyncStatusCodeSynced
			if env == "prod" {
				sync = argo.SyncStatusCodeOutOfSync
			}
			guestbook.Compare(app, made.Tick(), guestbook.NewCommit, sync, health.HealthStatusProgressing)
		})
	g.Expect(err).NotTo(HaveOccurred())
	return made.Set
}

// sync writes the operation of a RollingSync, so that an early one is refused and not held.
func sync(t *testing.T, set *argo.ApplicationSet, env string, options ...client.PatchOption) error {
	t.Helper()
	return syncBy(t, set, env, guestbook.Once(guestbook.RollingSync()), options...)
}

// syncBy writes an operation.
func syncBy(
	t *testing.T, set *argo.ApplicationSet, env string, op *argo.Operation, options ...client.PatchOption,
) error {
	t.Helper()
	g := NewWithT(t)
	controller, err := shared.Client(cluster.ControllerAccount)
	g.Expect(err).NotTo(HaveOccurred())
	app := guestbook.Application(set, env)
	g.Expect(controller.Get(t.Context(), client.ObjectKeyFromObject(app), app)).To(Succeed())
	before := app.DeepCopy()
	app.Operation = op
	return controller.Patch(t.Context(), app, client.MergeFrom(before), options...)
}

// denied waits until the API server, which learns of a registration a moment after it is stored, calls both webhooks:
// it refuses a sync of prod, and not because the sync is not pinned.
func denied(t *testing.T, set *argo.ApplicationSet) {
	t.Helper()
	NewWithT(t).Eventually(func() error { return sync(t, set, "prod", client.DryRunAll) }).Should(
		MatchError(And(ContainSubstring("step 3 of ApplicationSet %s/guestbook may not sync yet", set.Namespace),
			Not(ContainSubstring("NotPinned")))))
}

// requests counts the calls of the validating webhook.
func requests(t *testing.T, replica *installed.Replica) float64 {
	t.Helper()
	n, err := replica.Metric(t.Context(), "stepgate_requests_total", "path", webhook.ValidatePath)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return n
}

// The demo, with stepgate under the chart's service account, arguments and RBAC.
func TestTheDemoPassesUnderTheChart(t *testing.T) {
	demo := exec.CommandContext(t.Context(), "go", "run", "./test/demo", "-chart")
	demo.Dir, demo.Env = shared.Root, append(os.Environ(), "CGO_ENABLED=0")
	text, err := demo.CombinedOutput()
	NewWithT(t).Expect(err).NotTo(HaveOccurred(), string(text))
	NewWithT(t).Expect(string(text)).To(ContainSubstring("installed from the chart"))
	NewWithT(t).Expect(string(text)).To(HaveSuffix(" 0 unexpected\n"))
}

// Two instances of Argo CD, each with a release: each sees the writes in its own namespaces and in no other, and may
// not even read there. A namespace that nobody lists is gated by nobody.
func TestTwoReleasesDoNotSeeEachOther(t *testing.T) {
	g := NewWithT(t)
	a, b, nobody := rollout(t, "apps-a"), rollout(t, "apps-b"), rollout(t, "apps-nobody")
	replicaA := serve(t, installed.Chart{
		Name: "stepgate-a", Namespace: "argocd-a", Values: []string{"argocd.applicationNamespaces={apps-a}"},
	})
	replicaB := serve(t, installed.Chart{
		Name: "stepgate-b", Namespace: "argocd-b", Values: []string{"argocd.applicationNamespaces={apps-b}"},
	})
	denied(t, a)
	denied(t, b)

	beforeA, beforeB := requests(t, replicaA), requests(t, replicaB)
	g.Expect(sync(t, a, "prod")).NotTo(Succeed())
	g.Expect(requests(t, replicaA)).To(Equal(beforeA + 1))
	g.Expect(requests(t, replicaB)).To(Equal(beforeB), "the other release is not called")
	g.Expect(sync(t, nobody, "prod")).To(Succeed())
	g.Expect(requests(t, replicaA) + requests(t, replicaB)).To(Equal(beforeA + beforeB + 1))

	for release, elsewhere := range map[string]string{"a": "apps-b", "b": "apps-a"} {
		reader, err := client.New(account(t, "argocd-"+release, "stepgate-"+release), client.Options{
			Scheme: shared.Admin.Scheme(), Mapper: shared.Admin.RESTMapper(),
		})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(reader.List(t.Context(), &argo.ApplicationList{}, client.InNamespace("apps-"+release))).To(Succeed())
		for _, namespace := range []string{elsewhere, "apps-nobody", ""} {
			err := reader.List(t.Context(), &argo.ApplicationList{}, client.InNamespace(namespace))
			g.Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%s in %q: %v", release, namespace, err)
		}
	}
}

// A registration that covers more than argocd.applicationNamespaces does not make stepgate admit writes that it cannot judge.
func TestAWriteOutsideOfTheNamespacesIsNotAdmitted(t *testing.T) {
	g, ctx := NewWithT(t), t.Context()
	inside, outside := rollout(t, "apps-inside"), rollout(t, "apps-outside")
	replica := serve(t, installed.Chart{
		Name: "stepgate", Namespace: "narrow", Values: []string{"argocd.applicationNamespaces={apps-inside}"},
	})
	denied(t, inside)
	g.Expect(sync(t, outside, "prod", client.DryRunAll)).To(Succeed(), "it is not registered there")
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	g.Expect(shared.Admin.Get(ctx, client.ObjectKey{Name: replica.Name}, configuration)).To(Succeed())
	before := configuration.DeepCopy()
	selector := configuration.Webhooks[0].NamespaceSelector
	for i := range selector.MatchExpressions {
		if e := &selector.MatchExpressions[i]; e.Key == corev1.LabelMetadataName {
			e.Values = append(e.Values, "apps-outside")
		}
	}
	g.Expect(shared.Admin.Patch(ctx, configuration, client.MergeFrom(before))).To(Succeed())

	g.Eventually(func() error { return sync(t, outside, "dev", client.DryRunAll) }).Should(
		MatchError(And(ContainSubstring("failed calling webhook"), ContainSubstring("stepgate cannot decide"))))
	g.Expect(sync(t, outside, "dev")).NotTo(Succeed(), "and it is not stored")
	g.Expect(replica.Log()).To(ContainSubstring("is forbidden"))
}

// helmTest runs helm test and does the kubelet's work: it runs the Pod's command under the Pod's service account.
func helmTest(t *testing.T, release, namespace string, extra ...string) (output string, err error) {
	t.Helper()
	g := NewWithT(t)
	finished := make(chan error, 1)
	go func() {
		_, err := helm.Run(t.Context(), "test", release, "--namespace="+namespace, "--timeout=60s")
		finished <- err
	}()
	pod := &corev1.Pod{}
	g.Eventually(func(g Gomega) {
		// Not the one of an earlier run, which helm deletes.
		g.Expect(shared.Admin.Get(t.Context(), client.ObjectKey{
			Namespace: namespace, Name: release + "-selftest",
		}, pod)).To(Succeed())
		g.Expect(pod.Status.Phase).To(Equal(corev1.PodPending))
	}).Should(Succeed())
	kubeconfig, err := shared.Kubeconfig(t.Context(), namespace, pod.Spec.ServiceAccountName, "")
	g.Expect(err).NotTo(HaveOccurred())
	args := append(append([]string{}, pod.Spec.Containers[0].Args...), "--kubeconfig="+kubeconfig)
	text, runErr := exec.CommandContext(t.Context(), shared.Webhook, append(args, extra...)...).CombinedOutput()
	pod.Status.Phase = corev1.PodSucceeded
	if runErr != nil {
		pod.Status.Phase = corev1.PodFailed
	}
	g.Expect(shared.Admin.Status().Update(t.Context(), pod)).To(Succeed())
	return string(text), <-finished
}

// helm test fails when a sync that must be refused is not, and leaves nothing behind when it passes.
func TestHelmTest(t *testing.T) {
	g, ctx := NewWithT(t), t.Context()
	replica := serve(t, installed.Chart{
		Name: "stepgate", Namespace: "tested",
	})
	before := stored(ctx, g)

	text, err := helmTest(t, "stepgate", "tested")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(text).To(HavePrefix(`passed: the API server answered: admission webhook "operation.stepgate.io" denied the request: ` +
		"step 2 of ApplicationSet tested/stepgate-selftest may not sync yet: stepgate-selftest-second (ContentUnknown"))
	g.Expect(text).To(HaveSuffix("; the mutating webhook answered, too\n"))
	g.Eventually(func(g Gomega) { g.Expect(stored(ctx, g)).To(Equal(before)) }).Should(Succeed())
	decisions, err := replica.Metric(ctx, "stepgate_decisions_total")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(decisions).To(BeZero(), "a server dry-run is not counted")

	// The same test with somebody's own kubeconfig.
	kubeconfig, err := shared.AdminKubeconfig()
	g.Expect(err).NotTo(HaveOccurred())
	own, err := exec.CommandContext(ctx, shared.Binary, "selftest", "--kubeconfig="+kubeconfig,
		"--namespace=tested").CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), string(own))
	g.Expect(string(own)).To(HavePrefix("passed: "))

	// Without the mutating webhook, the test fails and says so.
	mutating, err := installed.Mutating(ctx, shared, "stepgate")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(mutating.Delete(ctx, shared)).To(Succeed())
	g.Eventually(func() string {
		text, _ := helmTest(t, "stepgate", "tested", "--timeout=1s")
		return text
	}).WithTimeout(time.Minute).Should(
		ContainSubstring("the validating webhook answered, but the mutating webhook did not"),
	)
	g.Expect(mutating.Create(ctx, shared)).To(Succeed())
	_, err = helmTest(t, "stepgate", "tested")
	g.Expect(err).NotTo(HaveOccurred(), "stepgate has filled its caBundle")

	// The emergency switch: the sync is admitted, and the test says so.
	namespace := &corev1.Namespace{}
	g.Expect(shared.Admin.Get(ctx, client.ObjectKey{Name: "tested"}, namespace)).To(Succeed())
	labelled := namespace.DeepCopy()
	labelled.Labels["stepgate.io/ignore"] = "true"
	g.Expect(shared.Admin.Patch(ctx, labelled, client.MergeFrom(namespace))).To(Succeed())
	g.Eventually(func() string {
		text, _ := helmTest(t, "stepgate", "tested", "--timeout=1s")
		return text
	}).WithTimeout(time.Minute).Should(
		ContainSubstring("the sync was admitted: the API server does not call stepgate for namespace tested"),
	)
	_, err = helmTest(t, "stepgate", "tested", "--timeout=1s")
	g.Expect(err).To(HaveOccurred(), "helm test fails with it")
	g.Expect(shared.Admin.Delete(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "tested", Name: "stepgate-selftest"},
	})).To(Succeed())
	g.Eventually(func(g Gomega) { g.Expect(stored(ctx, g)).To(Equal(before)) }).Should(Succeed())
}

// In audit mode stepgate refuses nothing; the test looks for the API server's warning.
func TestHelmTestInAuditMode(t *testing.T) {
	g := NewWithT(t)
	serve(t, installed.Chart{Name: "stepgate", Namespace: "audited", Values: []string{"config.mode=audit"}})
	text, err := helmTest(t, "stepgate", "audited")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(text).To(
		MatchRegexp("^passed: stepgate is in audit mode; the API server warned: .*stepgate \\(audit mode\\) would deny " +
			"this sync: step 2 of ApplicationSet audited/stepgate-selftest"),
	)
	g.Expect(text).To(HaveSuffix("; the mutating webhook answered, too\n"))
}

// With patterns, the test runs in a namespace that one of them matches. If stepgate knows none, the test fails: it has
// tried nothing.
func TestHelmTestWithPatternsOfNamespaces(t *testing.T) {
	g := NewWithT(t)
	serve(t, installed.Chart{
		Name: "stepgate", Namespace: "matched", Values: []string{"argocd.applicationNamespaces={match*}"},
	})
	text, err := helmTest(t, "stepgate", "matched")
	g.Expect(err).NotTo(HaveOccurred(), text)
	g.Expect(text).To(HavePrefix("passed: "))
	notes, err := helm.Run(t.Context(), "upgrade", "stepgate", helm.Chart, "--namespace=matched",
		"--reset-then-reuse-values", "--set=argocd.applicationNamespaces={nothing-*}")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(notes).To(ContainSubstring("Set test.namespace to a namespace that argocd.applicationNamespaces matches"))
	text, err = helmTest(t, "stepgate", "matched")
	g.Expect(err).To(HaveOccurred())
	g.Expect(text).To(ContainSubstring("--namespace: name a namespace that stepgate gates"))
}

// Argo CD installs stepgate, and nothing serves the webhook: the sync that repairs it goes through if it is exempt, and
// no other does.
func TestABrokenStepgateCanBeRepaired(t *testing.T) {
	g, ctx := NewWithT(t), t.Context()
	set := rollout(t, "locked")
	install(t, "stepgate", "broken", "webhook.url=https://127.0.0.1:1/validate")
	refused := MatchError(ContainSubstring(`failed calling webhook "operation.stepgate.io"`))
	g.Eventually(func() error { return sync(t, set, "prod", client.DryRunAll) }).Should(refused)
	_, err := helm.Run(ctx, "upgrade", "stepgate", helm.Chart, "--namespace=broken", "--reset-then-reuse-values",
		"--set=webhook.exemptApplications[0].namespace=locked,webhook.exemptApplications[0].name="+guestbook.Application(set, "prod").Name)
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(func() error { return sync(t, set, "prod", client.DryRunAll) }).Should(Succeed())
	g.Expect(sync(t, set, "prod")).To(Succeed())
	g.Expect(sync(t, set, "qa")).To(refused)
	// The same by globs, of which one matches nothing.
	_, err = helm.Run(ctx, "upgrade", "stepgate", helm.Chart, "--namespace=broken", "--reset-then-reuse-values",
		"--set=webhook.exemptApplications[0].namespace=lock??,webhook.exemptApplications[0].name=*-[!a-p]a-guestbook",
		"--set=webhook.exemptApplications[1].namespace=argocd,webhook.exemptApplications[1].name=*")
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(func() error { return sync(t, set, "qa", client.DryRunAll) }).Should(Succeed())
	g.Expect(sync(t, set, "qa")).To(Succeed())
	g.Expect(sync(t, set, "dev", client.DryRunAll)).To(refused)
}
