// SPDX-License-Identifier: Apache-2.0

package doctor_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/argoproj/argo-cd/v3/common"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/cmd/doctor"
	"github.com/stepgate/stepgate/webhook/ledger"
	"github.com/stepgate/stepgate/webhook/settings"
)

// audit makes an installation one in audit mode.
func audit(w *world) {
	ignore := admissionv1.Ignore
	w.settings.Gate.Mode = settings.Audit
	w.validating.Webhooks[0].FailurePolicy = &ignore
	w.refuse = answer{
		warnings: []string{"stepgate (audit mode) would deny this sync: step 2 of ApplicationSet argocd/guestbook may not sync yet"},
	}
}

func TestTheHealthyInstallationIsFine(t *testing.T) {
	g := NewWithT(t)
	report := healthy(t).sources(t).Gather(t.Context()).Examine()
	for _, c := range report.Checks {
		g.Expect(c.Result).To(Or(Equal(doctor.OK), Equal(doctor.Skipped)), "%+v", c)
	}
	g.Expect(report.Found()).To(BeFalse())
}

// row is a world in which one thing is different from the healthy one.
type row struct {
	change func(*testing.T, *world)
	check  string
	result doctor.Result
	found  string
	// also are other checks that are not fine then.
	also []string
}

func TestOneThingIsWrong(t *testing.T) {
	for name, tc := range rows() {
		t.Run(name, func(t *testing.T) {
			g, w := NewWithT(t), healthy(t)
			tc.change(t, w)
			report := w.sources(t).Gather(t.Context()).Examine()
			var bad []string
			for _, c := range report.Checks {
				if c.Result == doctor.OK || c.Result == doctor.Skipped {
					continue
				}
				label := c.Group + ": " + c.Name
				bad = append(bad, label)
				g.Expect(c.Remedy+list(c.Commands)).NotTo(BeEmpty(), "every finding has a remedy: %+v", c)
				if label == tc.check {
					g.Expect(c.Result).To(Equal(tc.result), "%+v", c)
					g.Expect(c.Found).To(ContainSubstring(tc.found))
				}
			}
			slices.Sort(bad)
			g.Expect(slices.Compact(bad)).To(ConsistOf(append(tc.also, tc.check)), "exactly that is named")
		})
	}
}

func list(texts []string) (all string) {
	for _, t := range texts {
		all += t
	}
	return all
}

const (
	validatingGroup = "Validating webhook: "
	waves           = "Order: waves"
	mutatingGroup   = "Mutating webhook: "
	approvals       = "Approvals: "
	running         = "Running: "
	certificate     = "Certificate: "
	calling         = "Calls of the API server (dry-runs): "
	exempt          = "Off or exempt: "
)

func rows() map[string]row {
	all := map[string]row{}
	for _, some := range []map[string]row{
		webhookRows(), runningRows(), callerRows(), certificateRows(), callRows(), argoRows(),
		exemptRows(), rightRows()} {
		for name, r := range some {
			all[name] = r
		}
	}
	return all
}

func webhookRows() map[string]row {
	v := func(change func(*admissionv1.ValidatingWebhook)) func(*testing.T, *world) {
		return func(_ *testing.T, w *world) { change(&w.validating.Webhooks[0]) }
	}
	m := func(change func(*admissionv1.MutatingWebhook)) func(*testing.T, *world) {
		return func(_ *testing.T, w *world) { change(&w.mutating.Webhooks[0]) }
	}
	one, long := int32(1), int32(30)
	ignore, fail, exact, never, none := admissionv1.Ignore, admissionv1.Fail, admissionv1.Exact,
		admissionv1.NeverReinvocationPolicy, admissionv1.SideEffectClassNone
	elsewhere := metav1.LabelSelectorRequirement{
		Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpIn, Values: []string{"elsewhere"},
	}
	return map[string]row{
		"the validating configuration is missing": {func(_ *testing.T, w *world) { w.validating = nil }, validatingGroup + "registered", doctor.Problem, "every sync goes through", nil},
		"the mutating configuration is missing":   {func(_ *testing.T, w *world) { w.mutating = nil }, mutatingGroup + "registered", doctor.Problem, "NotPinned", nil},
		"no webhook for approvals":                {func(_ *testing.T, w *world) { w.validating.Webhooks = w.validating.Webhooks[:1] }, approvals + "approval", doctor.Problem, "in the name of anybody", nil},
		"approvals with failurePolicy Ignore": {func(_ *testing.T, w *world) { w.validating.Webhooks[1].FailurePolicy = &ignore },
			approvals + "approval", doctor.Warning, "Ignore: while stepgate does not answer", nil},
		"approvals without the emergency switch": {func(_ *testing.T, w *world) { w.validating.Webhooks[1].NamespaceSelector = nil }, approvals + "approval", doctor.Warning, "the emergency switch does nothing", nil},
		"no webhook for annotations":             {func(_ *testing.T, w *world) { w.mutating.Webhooks = w.mutating.Webhooks[:1] }, approvals + "annotations", doctor.Problem, "nobody can approve", nil},
		"no webhook for annotations in audit mode": {func(_ *testing.T, w *world) {
			audit(w)
			w.mutating.Webhooks = w.mutating.Webhooks[:1]
		}, approvals + "annotations", doctor.Problem, "nobody can approve", []string{running + "mode"}},
		"no mutating webhook in audit mode": {func(_ *testing.T, w *world) {
			audit(w)
			w.mutating = nil
		}, mutatingGroup + "registered", doctor.Problem, "is missing", []string{running + "mode"}},
		"annotations without the emergency switch": {func(_ *testing.T, w *world) { w.mutating.Webhooks[1].NamespaceSelector = nil }, approvals + "annotations", doctor.Warning, "the emergency switch does nothing", nil},
		"no CREATE": {v(func(w *admissionv1.ValidatingWebhook) {
			w.Rules[0].Operations = []admissionv1.OperationType{admissionv1.Update}
		}), validatingGroup + "rules", doctor.Problem, "They leave out CREATE", nil},
		"another version of the API": {v(func(w *admissionv1.ValidatingWebhook) { w.Rules[0].APIVersions = []string{"v1beta1"} }), validatingGroup + "rules", doctor.Problem, "They leave out CREATE and UPDATE", nil},
		"a condition is missing":     {v(func(w *admissionv1.ValidatingWebhook) { w.MatchConditions = w.MatchConditions[1:] }), validatingGroup + "match conditions", doctor.Problem, "operation-set is missing", nil},
		"a condition is changed":     {m(func(w *admissionv1.MutatingWebhook) { w.MatchConditions[2].Expression = "true" }), mutatingGroup + "match conditions", doctor.Problem, "owned-by-applicationset differs", nil},
		"a condition of somebody": {v(func(w *admissionv1.ValidatingWebhook) {
			w.MatchConditions = append(w.MatchConditions, admissionv1.MatchCondition{
				Name: "not-on-fridays", Expression: "false",
			})
		}), validatingGroup + "match conditions", doctor.Warning, "not-on-fridays is not of the chart", nil},
		"an exempt Application": {v(func(w *admissionv1.ValidatingWebhook) {
			w.MatchConditions = append(w.MatchConditions, admissionv1.MatchCondition{
				Name: "not-exempt", Expression: "!(has(object.metadata.name) && (request.namespace + '/' + object.metadata.name) in\n['argocd/stepgate'])",
			})
		}), validatingGroup + "match conditions", doctor.Warning, "never gated: argocd/stepgate.", nil},
		"exempt Applications by globs": {v(func(w *admissionv1.ValidatingWebhook) {
			w.MatchConditions = append(w.MatchConditions, admissionv1.MatchCondition{
				Name: "not-exempt", Expression: "!(has(object.metadata.name) && ((request.namespace + '/' + object.metadata.name) in\n" +
					"['argocd/stepgate', 'team-a/a.b']\n" +
					"|| (request.namespace + '/' + object.metadata.name).matches(r'^argocd/cni-.*$')\n" +
					`|| (request.namespace + '/' + object.metadata.name).matches(r'^team-./dns\.[^a-c]$')))`,
			})
		}), validatingGroup + "match conditions", doctor.Warning,
			"never gated: argocd/stepgate, team-a/a.b, argocd/cni-*, team-?/dns.[!a-c].", nil},
		"failurePolicy Ignore":                       {v(func(w *admissionv1.ValidatingWebhook) { w.FailurePolicy = &ignore }), validatingGroup + "failure policy", doctor.Warning, "every sync goes through", nil},
		"failurePolicy Fail of the mutating webhook": {m(func(w *admissionv1.MutatingWebhook) { w.FailurePolicy = &fail }), mutatingGroup + "failure policy", doctor.Warning, "Fail", nil},
		"failurePolicy Fail in audit mode": {func(_ *testing.T, w *world) {
			audit(w)
			w.validating.Webhooks[0].FailurePolicy = &fail
		}, validatingGroup + "failure policy", doctor.Warning, "Fail in audit mode", []string{running + "mode"}},
		"a timeout of 1 s":         {v(func(w *admissionv1.ValidatingWebhook) { w.TimeoutSeconds = &one }), validatingGroup + "timeout", doctor.Warning, "1 s", nil},
		"a timeout of 30 s":        {m(func(w *admissionv1.MutatingWebhook) { w.TimeoutSeconds = &long }), mutatingGroup + "timeout", doctor.Warning, "30 s", nil},
		"every version of the API": {v(func(w *admissionv1.ValidatingWebhook) { w.Rules[0].APIVersions = []string{"*"} }), validatingGroup + "options", doctor.Warning, "apiVersions is *: a write in another version of the API is not converted", nil},
		"matchPolicy Exact":        {v(func(w *admissionv1.ValidatingWebhook) { w.MatchPolicy = &exact }), validatingGroup + "options", doctor.Warning, "matchPolicy is Exact", nil},
		"sideEffects None":         {v(func(w *admissionv1.ValidatingWebhook) { w.SideEffects = &none }), validatingGroup + "options", doctor.Warning, "sideEffects", nil},
		"no reinvocation":          {m(func(w *admissionv1.MutatingWebhook) { w.ReinvocationPolicy = &never }), mutatingGroup + "options", doctor.Warning, "reinvocationPolicy", nil},
		"a narrower selector": {v(func(w *admissionv1.ValidatingWebhook) {
			w.NamespaceSelector.MatchExpressions = append(w.NamespaceSelector.MatchExpressions, elsewhere)
		}), validatingGroup + "selectors", doctor.Problem, "leaves out namespace argocd", nil},
		"a selector that nothing matches now, and no ApplicationSet": {func(_ *testing.T, w *world) {
			w.guestbook.Spec.Strategy = nil
			w.mutating.Webhooks[0].NamespaceSelector.MatchExpressions = append(
				w.mutating.Webhooks[0].NamespaceSelector.MatchExpressions, elsewhere,
			)
		}, calling + "early sync", doctor.Unknown, "no ApplicationSet with RollingSync", nil},
		"no emergency switch": {v(func(w *admissionv1.ValidatingWebhook) { w.NamespaceSelector = &metav1.LabelSelector{} }), validatingGroup + "selectors", doctor.Warning, "the emergency switch does nothing", nil},
		"an object selector": {m(func(w *admissionv1.MutatingWebhook) {
			w.ObjectSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"gated": "yes"}}
		}), mutatingGroup + "selectors", doctor.Warning, "gated=yes", nil},
		"an empty caBundle":     {m(func(w *admissionv1.MutatingWebhook) { w.ClientConfig.CABundle = nil }), mutatingGroup + "caBundle", doctor.Problem, "It is empty", []string{certificate + "served chain"}},
		"garbage in a caBundle": {v(func(w *admissionv1.ValidatingWebhook) { w.ClientConfig.CABundle = []byte("x") }), validatingGroup + "caBundle", doctor.Problem, "no certificate", []string{certificate + "served chain"}},
	}
}

func runningRows() map[string]row {
	zero, oneReplica := int32(0), int32(1)
	no := false
	return map[string]row{
		"an older version":    {func(_ *testing.T, w *world) { w.version = "v0.2.0" }, running + "version", doctor.Warning, "v0.1.0, and this command line is v0.2.0", nil},
		"one of two is ready": {func(_ *testing.T, w *world) { w.deployment.Status.ReadyReplicas = 1 }, running + "replicas", doctor.Warning, "1 of 2", nil},
		"none is ready": {func(_ *testing.T, w *world) {
			w.deployment.Status.ReadyReplicas = 0
			w.pods[0].Status.ContainerStatuses = []corev1.ContainerStatus{
				{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "Back-off pulling image"}}},
			}
		}, running + "replicas", doctor.Problem, "ImagePullBackOff Back-off pulling image", nil},
		"scaled to 0": {func(_ *testing.T, w *world) { w.deployment.Spec.Replicas = &zero }, running + "replicas", doctor.Problem, "scaled to 0", nil},
		"one replica": {func(_ *testing.T, w *world) {
			w.deployment.Spec.Replicas = &oneReplica
			w.deployment.Status.ReadyReplicas = 1
		}, running + "replicas", doctor.Warning, "only one", nil},
		"no endpoints": {func(_ *testing.T, w *world) { w.slice = nil }, running + "endpoints", doctor.Problem, "Service stepgate/stepgate has no ready endpoint", nil},
		"none is ready to be called": {func(_ *testing.T, w *world) {
			for i := range w.slice.Endpoints {
				w.slice.Endpoints[i].Conditions.Ready = &no
			}
		}, running + "endpoints", doctor.Problem, "no ready endpoint", nil},
		"no disruption budget": {func(_ *testing.T, w *world) { w.budget = nil }, running + "disruption budget", doctor.Warning, "There is none", nil},
		"a part of the ledger that was cut off": {func(_ *testing.T, w *world) {
			text := w.ledger[0].BinaryData[ledger.CompletionsKey]
			w.ledger[0].BinaryData[ledger.CompletionsKey] = text[:len(text)/2]
		}, running + "ledger", doctor.Warning, "Of 1 ConfigMap, 1 cannot be used", nil},
		"a part of the ledger of another ApplicationSet": {func(_ *testing.T, w *world) {
			w.ledger = append(w.ledger, part("1f", "7d2c5a1e"))
		}, running + "ledger", doctor.Warning, "Of 2 ConfigMaps, 1 cannot be used", nil},
		"a ConfigMap that somebody has labelled": {func(_ *testing.T, w *world) {
			w.ledger[0].Labels[ledger.Label] = "else"
		}, running + "ledger", doctor.Warning, "Of 1 ConfigMap, 1 cannot be used", nil},
		"no part of the ledger": {func(_ *testing.T, w *world) { w.ledger = nil }, running + "ledger", doctor.Warning,
			"Nothing is kept of 1 ApplicationSet", nil},
		"a budget of others": {func(_ *testing.T, w *world) {
			w.budget.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
		}, running + "disruption budget", doctor.Warning, "There is none", nil},
		"audit mode":      {func(_ *testing.T, w *world) { audit(w) }, running + "mode", doctor.Warning, "refuses none", nil},
		"without release": {func(_ *testing.T, w *world) { w.settings.Gate.Release = false }, running + "mode", doctor.Warning, "without release", nil},
		"Kubernetes 1.29": {func(_ *testing.T, w *world) { w.kubernetes = "v1.29.4-eks-036c24b" }, ": Kubernetes", doctor.Warning, "no ValidatingAdmissionPolicy", nil},
		"Kubernetes 1.27": {func(_ *testing.T, w *world) { w.kubernetes = "v1.27.1" }, ": Kubernetes", doctor.Problem, "no match conditions", nil},
		"the Deployment is gone": {func(_ *testing.T, w *world) { w.deployment, w.settings, w.pods = nil, nil, nil }, running + "version", doctor.Problem, "no Deployment", []string{
			validatingGroup + "match conditions", validatingGroup + "failure policy", mutatingGroup + "match conditions",
			certificate + "served chain", exempt + "not gated", running + "mode", running + "ledger", running + "lists",
		}},
		"arguments of another version": {func(_ *testing.T, w *world) { w.settings = nil }, running + "mode", doctor.Unknown, "Not checked", []string{
			validatingGroup + "match conditions", validatingGroup + "failure policy", mutatingGroup + "match conditions",
			"Rights: service account", exempt + "not gated", running + "ledger", running + "lists", running + "callers",
		}},
		"long lists": {func(_ *testing.T, w *world) { crowd(w, 101); w.settings.Barrier.Name = "" }, running + "lists", doctor.Warning,
			"Namespace argocd has 101 Applications. For every sync that it allows, stepgate lists", nil},
		"long lists, and a watch of each namespace": {func(_ *testing.T, w *world) {
			crowd(w, 101)
			w.settings.Barrier.Name, w.settings.NamesOnly, w.settings.Namespaces = "", true, []string{"argocd", "team-a"}
		}, running + "lists", doctor.Warning, "Namespace argocd has 101 Applications", nil},
		"no Application for the barrier": {func(_ *testing.T, w *world) { w.settings.Barrier.Name = "other" }, running + "lists", doctor.Warning,
			"Application stepgate/other does not exist, so there is no write barrier", nil},
	}
}

func certificateRows() map[string]row {
	leaf := func(host string, left, lived int) func(*testing.T, *world) {
		return func(t *testing.T, w *world) {
			g := NewWithT(t)
			ca := newAuthority(g, now.Add(-100*day), now.Add(265*day))
			w.validating.Webhooks[0].ClientConfig.CABundle, w.mutating.Webhooks[0].ClientConfig.CABundle = ca.pem(), ca.pem()
			w.chain[0] = ca.leaf(g, host, now.AddDate(0, 0, -lived), now.AddDate(0, 0, left))
		}
	}
	return map[string]row{
		"another CA": {func(t *testing.T, w *world) {
			w.mutating.Webhooks[0].ClientConfig.CABundle = newAuthority(NewWithT(t), now.Add(-day), now.Add(day)).pem()
		}, certificate + "served chain", doctor.Problem,
			"MutatingWebhookConfiguration stepgate does not verify the certificate of Pod stepgate-6d5f9c7b8-5nq7c: x509", nil},
		"another name":        {leaf("stepgate.elsewhere.svc", 5, 2), certificate + "served chain", doctor.Problem, "valid for stepgate.elsewhere.svc, not stepgate.stepgate.svc", nil},
		"should be renewed":   {leaf("stepgate.stepgate.svc", 1, 6), certificate + "age", doctor.Warning, "It expires in 24 hours", nil},
		"expired":             {leaf("stepgate.stepgate.svc", -1, 8), certificate + "age", doctor.Problem, "It has expired at 2026-11-20T03:00:00Z", []string{certificate + "served chain"}},
		"no right to forward": {func(_ *testing.T, w *world) { w.chainErr = forbidden("create", "pods/portforward", "", "stepgate") }, certificate + "served chain", doctor.Unknown, "you may not create pods/portforward in namespace stepgate", nil},
		"no right to forward, as a port-forward says it": {func(_ *testing.T, w *world) {
			w.chainErr = errText(
				`error upgrading connection: pods "stepgate-6d5f9c7b8-5nq7c" is forbidden: User "jane" cannot create resource "pods/portforward" in API group "" in the namespace "stepgate"`,
			)
		}, certificate + "served chain", doctor.Unknown, "you may not create pods/portforward in namespace stepgate", nil},
		"the port is closed": {func(_ *testing.T, w *world) { w.chainErr = errText("lost connection to pod") }, certificate + "served chain", doctor.Unknown, "lost connection to pod", nil},
		"no Pod runs":        {func(_ *testing.T, w *world) { w.pods = nil }, certificate + "served chain", doctor.Unknown, "no Pod runs", nil},
		"after a namespace that is not allowed": {func(_ *testing.T, w *world) {
			w.apps = append(w.apps, alone("lone", "platform/base"))
		}, "Order: after", doctor.Problem,
			"1 annotation cannot be read, and nothing of it starts (no other namespace may be named)", nil},
		"after something that does not exist": {func(_ *testing.T, w *world) {
			w.guestbook.Annotations["stepgate.io/after"] = "infra"
		}, "Order: after", doctor.Warning, "stepgate.io/after has 1 name that does not exist or closes a circle", nil},
		"after each other": {func(_ *testing.T, w *world) {
			w.guestbook.Annotations["stepgate.io/after"] = "lone"
			w.apps = append(w.apps, alone("lone", "guestbook"))
		}, "Order: after", doctor.Warning, "stepgate.io/after has 2 names that do not exist or close a circle", nil},
		"waves that nobody orders": {func(_ *testing.T, w *world) {
			w.platform(map[string]string{"crds": "0", "dns": "1"})
			w.settings.Gate.Waves = false
		}, waves, doctor.Warning, "1 Application has stepgate.io/waves, and this release orders the children of none.", nil},
		"a wave that is no number": {func(_ *testing.T, w *world) {
			w.platform(map[string]string{"crds": "0", "dns": "first"})
		}, waves, doctor.Warning, "1 thing is wrong with sync waves.", nil},
		"waves that are neither true nor false": {func(_ *testing.T, w *world) {
			w.platform(map[string]string{"crds": "0", "dns": "1"}).Annotations[settings.WavesAnnotation] = "yes"
		}, waves, doctor.Warning, "1 thing is wrong with sync waves.", nil},
		"a limit of waves that is no number": {func(_ *testing.T, w *world) {
			w.platform(map[string]string{"crds": "0", "dns": "1"}).Annotations[settings.MaxUpdateAnnotation] = "1=few"
		}, waves, doctor.Warning, "1 thing is wrong with sync waves.", nil},
		"a parent without children": {func(_ *testing.T, w *world) {
			w.platform(nil)
		}, waves, doctor.Warning, "1 thing is wrong with sync waves.", nil},
		"a circle of parents": {func(_ *testing.T, w *world) {
			w.platform(map[string]string{"crds": "0", "dns": "1"}).Annotations[common.AnnotationKeyAppInstance] =
				"dns:argoproj.io/Application:argocd/platform"
		}, waves, doctor.Warning, "2 things are wrong with sync waves.", nil},
		"waves of an ApplicationSet beside RollingSync": {func(_ *testing.T, w *world) {
			w.guestbook.Annotations[settings.WavesAnnotation] = "true"
		}, waves, doctor.Warning, "1 thing is wrong with sync waves.", nil},
		"an annotation of a parent that cannot be read": {func(_ *testing.T, w *world) {
			w.platform(map[string]string{"crds": "0", "dns": "1"}).Annotations[settings.SoakAnnotation] = "1=long"
		}, exempt + "ApplicationSets", doctor.Warning, "argocd/platform: stepgate.io/soak is ", nil},
		"a parent that is off": {func(_ *testing.T, w *world) {
			w.platform(map[string]string{"crds": "0", "dns": "1"}).Annotations[settings.ModeAnnotation] = "off"
		}, exempt + "ApplicationSets", doctor.Warning, "argocd/platform: off.", nil},
		"the CA should be new": {func(t *testing.T, w *world) {
			g := NewWithT(t)
			ca := newAuthority(g, now.Add(-300*day), now.Add(30*day))
			w.validating.Webhooks[0].ClientConfig.CABundle, w.mutating.Webhooks[0].ClientConfig.CABundle = ca.pem(), ca.pem()
			w.chain[0] = ca.leaf(g, "stepgate.stepgate.svc", now.Add(-2*day), now.Add(5*day))
		}, certificate + "age of the CA", doctor.Warning, "It expires in 30 days", nil},
	}
}

// platform adds a parent Application with waves, which a release orders, and its children, by their sync waves.
func (w *world) platform(waves map[string]string) (parent *argo.Application) {
	w.settings.Gate.Waves = true
	parent = alone("platform", "")
	parent.Annotations = map[string]string{settings.WavesAnnotation: "true"}
	w.apps = append(w.apps, parent)
	for name, wave := range waves {
		child := alone(name, "")
		child.Annotations = map[string]string{
			common.AnnotationKeyAppInstance: "platform:argoproj.io/Application:argocd/" + name,
			"argocd.argoproj.io/sync-wave":  wave,
		}
		w.apps = append(w.apps, child)
	}
	return parent
}

// alone is an Application that no ApplicationSet controls.
func alone(name, after string) *argo.Application {
	return &argo.Application{ObjectMeta: metav1.ObjectMeta{
		Namespace: "argocd", Name: name, UID: types.UID(name), Annotations: map[string]string{"stepgate.io/after": after},
	}}
}

// TestWavesAreFine has a parent, and says which child is a part of an Application that is not there.
func TestWavesAreFine(t *testing.T) {
	g, w := NewWithT(t), healthy(t)
	w.platform(map[string]string{"crds": "0", "dns": "1", "lost": "2"})
	lost := w.apps[slices.IndexFunc(w.apps, func(a *argo.Application) bool { return a.Name == "lost" })]
	lost.Annotations[common.AnnotationKeyAppInstance] = "nobody:argoproj.io/Application:argocd/lost"
	checks := w.sources(t).Gather(t.Context()).Examine().Checks
	found := map[string]doctor.Check{}
	for _, c := range checks {
		found[c.Group+": "+c.Name] = c
	}
	g.Expect(found[waves].Result).To(Equal(doctor.OK), "%+v", found[waves])
	g.Expect(found[waves].Found).To(Equal("Sync waves order 0 ApplicationSets, and the children of 1 Application."))
	g.Expect(found[waves].Details).To(Equal([]string{
		"Application argocd/lost: It is a part of Application nobody, which is not known.",
	}))
	g.Expect(found[exempt+"ApplicationSets"].Found).To(Equal(
		"1 ApplicationSet has RollingSync, and 1 parent Application has waves; none is switched off or bypassed."))
	g.Expect(found[exempt+"not gated"].Found).To(Equal(
		"Every namespace with ApplicationSets or parent Applications with an order is gated."))
}

// TestOrderIsFine has an Application that comes after an ApplicationSet of the healthy cluster.
func TestOrderIsFine(t *testing.T) {
	g, w := NewWithT(t), healthy(t)
	w.apps = append(w.apps, alone("lone", "guestbook"))
	checks := w.sources(t).Gather(t.Context()).Examine().Checks
	i := slices.IndexFunc(checks, func(c doctor.Check) bool { return c.Name == "after" })
	g.Expect(checks[i].Result).To(Equal(doctor.OK), "%+v", checks[i])
	g.Expect(checks[i].Found).To(Equal("1 object comes after others that exist (no other namespace may be named)."))
}

// TestReportedApplicationsAreCounted where there are any: their syncs are judged by what somebody else says of them.
func TestReportedApplicationsAreCounted(t *testing.T) {
	for text, want := range map[string]string{
		"true": "1 Application is reported by an agent (argocd.argoproj.io/skip-reconcile), judged by what that says, and never pinned.", "false": "",
	} {
		g, w := NewWithT(t), healthy(t)
		w.apps[0].Annotations = map[string]string{common.AnnotationKeyAppSkipReconcile: text}
		found := ""
		for _, c := range w.sources(t).Gather(t.Context()).Examine().Checks {
			if c.Name == "reported" {
				g.Expect(c.Result).To(Equal(doctor.OK))
				found = c.Found
			}
		}
		g.Expect(found).To(Equal(want))
	}
}

// crowd gives the ApplicationSet's namespace that many Applications.
func crowd(w *world, n int) {
	for _, app := range w.apps {
		if app.Namespace == "argocd" {
			n--
		}
	}
	for i := range n {
		app := alone(fmt.Sprintf("crowd-%d", i), "")
		app.Annotations = nil
		w.apps = append(w.apps, app)
	}
}

// TestLongListsAndNamesOnly says with which value one watch sees the same namespaces.
func TestLongListsAndNamesOnly(t *testing.T) {
	g, w := NewWithT(t), healthy(t)
	crowd(w, 101)
	w.settings.Barrier.Name, w.settings.NamesOnly, w.settings.Namespaces = "", true, []string{"argocd", "team-a"}
	checks := w.sources(t).Gather(t.Context()).Examine().Checks
	i := slices.IndexFunc(checks, func(c doctor.Check) bool { return c.Name == "lists" })
	g.Expect(strings.Join(checks[i].Commands, "\n")).
		To(ContainSubstring("argocd.applicationNamespaces={/^(argocd|team-a)$/}"))
}

// TestListsAreNotLong has no warning where nothing of this release lists that many Applications.
func TestListsAreNotLong(t *testing.T) {
	without := func(w *world) { w.settings.Barrier = types.NamespacedName{} }
	for name, change := range map[string]func(*world){
		"with the write barrier": func(w *world) { crowd(w, 500) },
		"without steps":          func(w *world) { crowd(w, 500); without(w); w.guestbook.Spec.Strategy = nil },
		"in another release":     func(w *world) { crowd(w, 500); without(w); gateOnly(w, "other") },
		"with a hundred":         func(w *world) { crowd(w, 100); without(w) },
	} {
		t.Run(name, func(t *testing.T) {
			w := healthy(t)
			change(w)
			report := w.sources(t).Gather(t.Context()).Examine()
			i := slices.IndexFunc(report.Checks, func(c doctor.Check) bool { return c.Name == "lists" })
			NewWithT(t).Expect(report.Checks[i].Result).To(Or(Equal(doctor.OK), Equal(doctor.Skipped)), "%+v", report.Checks[i])
		})
	}
}
