// SPDX-License-Identifier: Apache-2.0

package doctor_test

import (
	"errors"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stepgate/stepgate/cmd/doctor"
	"github.com/stepgate/stepgate/webhook/record"
	"github.com/stepgate/stepgate/webhook/settings"
)

func errText(text string) error { return errors.New(text) }

func callRows() map[string]row {
	failed := func(cause string) error {
		return errText(`Internal error occurred: failed calling webhook "operation.stepgate.io": failed to call webhook: Post "https://stepgate.stepgate.svc:443/validate?timeout=5s": ` + cause)
	}
	early, pin := calling+"early sync", calling+"pin"
	return map[string]row{
		"an early sync goes through":               {func(_ *testing.T, w *world) { w.refuse = answer{} }, early, doctor.Problem, "lets one of a copy of argocd/guestbook-prod-eu through", nil},
		"an early sync goes through in audit mode": {func(_ *testing.T, w *world) { audit(w); w.refuse = answer{} }, early, doctor.Unknown, "nothing had to be refused", []string{running + "mode"}},
		"calls time out":                           {func(_ *testing.T, w *world) { w.refuse.err = failed("context deadline exceeded") }, early, doctor.Problem, "the network does not let the API server reach the Pods", nil},
		"calls are not trusted": {func(_ *testing.T, w *world) {
			w.refuse.err = failed("tls: failed to verify certificate: x509: certificate signed by unknown authority")
		}, early, doctor.Problem, "the caBundle does not verify", nil},
		"another webhook fails": {func(_ *testing.T, w *world) {
			w.pin.err = errText(`Internal error occurred: failed calling webhook "validate.kyverno.svc": EOF`)
		}, pin, doctor.Unknown, "Another webhook, validate.kyverno.svc", nil},
		"another webhook denies": {func(_ *testing.T, w *world) {
			w.pin.err = errText(`admission webhook "validate.kyverno.svc" denied the request: no`)
		}, pin, doctor.Unknown, "Another webhook, validate.kyverno.svc", nil},
		"the mutating webhook does not answer": {func(_ *testing.T, w *world) { w.pin = answer{} }, pin, doctor.Problem, "did not answer for argocd/guestbook-", nil},
		"another webhook takes the pin out":    {func(_ *testing.T, w *world) { w.pin.err = denial("step 2 ... (NotPinned)") }, pin, doctor.Problem, "another one that is called later", nil},
		"no revision":                          {func(_ *testing.T, w *world) { w.pin.revision = "" }, pin, doctor.Unknown, "no revision", nil},
		"no right to create": {func(_ *testing.T, w *world) {
			w.refuse.err = forbidden("create", "applications", "argoproj.io", "argocd")
		}, early, doctor.Unknown, "you may not create applications.argoproj.io in namespace argocd", nil},
		"no Application to try with":                                   {func(_ *testing.T, w *world) { w.apps = w.apps[:1] }, early, doctor.Unknown, "none of 1 ApplicationSet has an Application in step 2 or later", nil},
		"the selftest's way is named, where the ApplicationSet is off": {func(_ *testing.T, w *world) { w.guestbook.Annotations[settings.ModeAnnotation] = "off" }, early, doctor.Unknown, "no ApplicationSet with RollingSync or waves is gated here", []string{exempt + "ApplicationSets"}},
	}
}

func argoRows() map[string]row {
	container := func(p *corev1.PodTemplateSpec) *corev1.Container { return &p.Spec.Containers[0] }
	return map[string]row{
		"progressive syncs are off": {func(_ *testing.T, w *world) { w.params.Data = nil }, ": progressive syncs", doctor.Warning, "They are off", nil},
		"a flag overrides the ConfigMap": {func(_ *testing.T, w *world) {
			container(&w.sets.Spec.Template).Args = []string{"--enable-progressive-syncs=false"}
		}, ": progressive syncs", doctor.Warning, "They are off", nil},
		"nothing is recorded":   {func(_ *testing.T, w *world) { w.guestbook.Status.ApplicationStatus = nil }, ": progressive syncs", doctor.Warning, "records no step of ApplicationSet guestbook", nil},
		"Argo CD does not poll": {func(_ *testing.T, w *world) { w.cm.Data["timeout.reconciliation"] = "0s" }, ": polling", doctor.Warning, "timeout.reconciliation is 0", nil},
		"Argo CD polls once an hour": {func(_ *testing.T, w *world) {
			container(&w.controller.Spec.Template).Args = []string{"--app-resync", "3600"}
		}, ": polling", doctor.Warning, "is 60m", nil},
		"an image without a version": {func(_ *testing.T, w *world) {
			container(&w.sets.Spec.Template).Image = "registry.example.com/argocd:stable"
		}, ": refresh barrier", doctor.Unknown, "no version", nil},
		"another account of argocd-server":   {func(_ *testing.T, w *world) { w.server.Spec.Template.Spec.ServiceAccountName = "cd" }, ": server account", doctor.Warning, "runs as system:serviceaccount:argocd:cd", nil},
		"another account of ApplicationSets": {func(_ *testing.T, w *world) { w.sets.Spec.Template.Spec.ServiceAccountName = "appsets" }, ": appset account", doctor.Warning, "denies its early syncs instead of holding them", nil},
		"no argocd-server":                   {func(_ *testing.T, w *world) { w.server = nil }, ": server account", doctor.Unknown, "there is no server", nil},
		"no Argo CD":                         {func(_ *testing.T, w *world) { w.server, w.sets, w.controller = nil, nil, nil }, ": instances", doctor.Unknown, "No Deployment", nil},
		"namespaces that nobody gates": {func(_ *testing.T, w *world) {
			w.params.Data["applicationsetcontroller.namespaces"] = "argocd, team-a"
			gateOnly(w, "argocd")
		}, ": namespaces", doctor.Warning, "ApplicationSets of team-a, which no release", nil},
	}
}

// waves has sync waves be the steps of the ApplicationSet, and gives one to each of its Applications.
func (w *world) waves(waves ...string) {
	w.guestbook.Spec.Strategy, w.guestbook.Status.ApplicationStatus = nil, nil
	w.guestbook.Annotations[settings.WavesAnnotation] = "true"
	for i, wave := range waves {
		w.apps[i].Annotations = map[string]string{"argocd.argoproj.io/sync-wave": wave}
	}
}

// The dry-runs are about an Application that is not in the lowest wave, and the copy is in the same one.
func TestWaves(t *testing.T) {
	for name, tc := range map[string]struct {
		waves []string // of dev, prod-eu and qa, in the order in which they are read
		want  string
	}{
		"the first one that is later": {[]string{"0", "5", "7"}, "prod-eu"},
		"the lowest comes later":      {[]string{"0", "0", "-1"}, "dev"},
	} {
		t.Run(name, func(t *testing.T) {
			g, w := NewWithT(t), healthy(t)
			w.waves(tc.waves[0], tc.waves[2], tc.waves[1])
			report := w.sources(t).Gather(t.Context()).Examine()
			g.Expect(report.Found()).To(BeFalse())
			var found []string
			for _, c := range report.Checks {
				g.Expect(c.Result).To(Or(Equal(doctor.OK), Equal(doctor.Skipped)), "%+v", c)
				found = append(found, c.Found)
			}
			g.Expect(found).To(ContainElement("stepgate refuses one of a copy of argocd/guestbook-" + tc.want + "."))
			g.Expect(found).To(ContainElement("1 ApplicationSet has RollingSync or waves; none is switched off or bypassed."))
			g.Expect(found).To(ContainElement("Every namespace with ApplicationSets with RollingSync or waves is gated."))
			i := slices.Index([]string{"dev", "prod-eu", "qa"}, tc.want)
			g.Expect(w.created.Annotations).To(HaveKeyWithValue("argocd.argoproj.io/sync-wave", tc.waves[i]))
		})
	}
}

// gateOnly restricts the release to a namespace, as the chart does.
func gateOnly(w *world, namespace string) {
	w.settings.Namespaces, w.settings.Gated = []string{namespace}, func(n string) bool { return n == namespace }
	only := metav1.LabelSelectorRequirement{
		Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpIn, Values: []string{namespace},
	}
	for _, s := range []*metav1.LabelSelector{w.validating.Webhooks[0].NamespaceSelector,
		w.mutating.Webhooks[0].NamespaceSelector} {
		s.MatchExpressions = append(s.MatchExpressions, only)
	}
}

func exemptRows() map[string]row {
	annotate := func(annotations ...string) func(*testing.T, *world) {
		return func(_ *testing.T, w *world) {
			for i := 0; i < len(annotations); i += 2 {
				w.guestbook.Annotations[annotations[i]] = annotations[i+1]
			}
		}
	}
	sets, early := exempt+"ApplicationSets", []string{calling + "early sync"}
	return map[string]row{
		"mode off":   {annotate(settings.ModeAnnotation, "off"), sets, doctor.Warning, "argocd/guestbook: off.", early},
		"mode audit": {annotate(settings.ModeAnnotation, "audit"), sets, doctor.Warning, "argocd/guestbook: audit.", early},
		"a bypass": {annotate(settings.BypassAnnotation, "2026-11-21T05:00:00Z INC-1"), sets, doctor.Warning,
			"argocd/guestbook: bypass until 2026-11-21T05:00:00Z: INC-1", early},
		"an exclusion": {annotate(settings.ExcludeAnnotation, "guestbook-dev 2026-11-21T05:00:00Z INC-1"), sets, doctor.Warning,
			"exclusion guestbook-dev until 2026-11-21T05:00:00Z: INC-1", nil},
		"a bypass without a reason": {annotate(settings.BypassAnnotation, "2026-11-21T05:00:00Z"), sets, doctor.Warning, "stepgate.io/bypass is not valid", nil},
		"the emergency switch is on": {func(_ *testing.T, w *world) { w.namespaces["argocd"].Labels[record.IgnoreLabel] = "true" }, exempt + "switched off", doctor.Warning,
			"Namespace argocd has the label stepgate.io/ignore=true", early},
		"the emergency switch is misspelt": {func(_ *testing.T, w *world) { w.namespaces["argocd"].Labels[record.IgnoreLabel] = "false" }, exempt + "switched off", doctor.Warning,
			"The label stepgate.io/ignore of namespace argocd (false) has no effect", nil},
		"a namespace that is not gated": {func(_ *testing.T, w *world) { gateOnly(w, "team-a") }, exempt + "not gated", doctor.Warning, "Namespace argocd has RollingSync ApplicationSets",
			append([]string{": namespaces"}, early...)},
		"a namespace with waves that is not gated": {func(_ *testing.T, w *world) {
			w.waves("0", "1", "2")
			gateOnly(w, "team-a")
		}, exempt + "not gated", doctor.Warning, "Namespace argocd has ApplicationSets with RollingSync or waves",
			append([]string{": namespaces"}, early...)},
		"waves, and mode off": {func(_ *testing.T, w *world) {
			w.waves("0", "1", "2")
			w.guestbook.Annotations[settings.ModeAnnotation] = "off"
		}, sets, doctor.Warning, "argocd/guestbook: off.", early},
		"one wave only": {func(_ *testing.T, w *world) { w.waves("7", "7", "7") }, early[0], doctor.Unknown, "or in a later wave than others", nil},
	}
}

func rightRows() map[string]row {
	lacks := func(verb, resource string) func(*testing.T, *world) {
		return func(_ *testing.T, w *world) {
			w.mayNot = func(v, r, user string) bool { return user == "" && v == verb && r == resource }
		}
	}
	const mine = ": rights"
	return map[string]row{
		"stepgate may not patch": {func(_ *testing.T, w *world) {
			w.mayNot = func(verb, resource, user string) bool {
				return user != "" && verb == "patch" && resource == "applications"
			}
		}, "Rights: service account", doctor.Problem,
			"system:serviceaccount:stepgate:stepgate may not patch applications.argoproj.io", nil},
		"you may not see mutating configurations": {lacks("list", "mutatingwebhookconfigurations"), mine, doctor.Unknown, "You lack 1 of the 16",
			[]string{mutatingGroup + "registered"}},
		"you may not see namespaces":   {lacks("list", "namespaces"), mine, doctor.Unknown, "You lack 1 of the 16", []string{validatingGroup + "selectors", mutatingGroup + "selectors", exempt + "switched off"}},
		"you may not see Pods":         {lacks("list", "pods"), mine, doctor.Unknown, "You lack 1 of the 16", []string{certificate + "served chain"}},
		"you may not forward":          {lacks("create", "pods/portforward"), mine, doctor.Unknown, "You lack 1 of the 16", []string{certificate + "served chain"}},
		"you may not see ConfigMaps":   {lacks("get", "configmaps"), mine, doctor.Unknown, "You lack 1 of the 16", []string{": progressive syncs", ": polling", ": namespaces"}},
		"you may not see the ledger":   {lacks("list", "configmaps"), mine, doctor.Unknown, "You lack 1 of the 16", []string{running + "ledger"}},
		"you may not see StatefulSets": {lacks("list", "statefulsets"), mine, doctor.Unknown, "You lack 1 of the 16", []string{": instances"}},
		"you may not see endpoints":    {lacks("list", "endpointslices"), mine, doctor.Unknown, "You lack 1 of the 16", []string{running + "endpoints"}},
		"you may not see budgets":      {lacks("list", "poddisruptionbudgets"), mine, doctor.Unknown, "You lack 1 of the 16", []string{running + "disruption budget"}},
		"you may not ask for others":   {lacks("create", "subjectaccessreviews"), mine, doctor.Unknown, "You lack 1 of the 16", []string{"Rights: service account"}},
		"you may not create":           {lacks("create", "applications"), mine, doctor.Unknown, "You lack 1 of the 16", []string{calling + "early sync"}},
		"you may not patch":            {lacks("patch", "applications"), mine, doctor.Unknown, "You lack 1 of the 16", []string{calling + "pin"}},
		"you may not see Applications": {lacks("list", "applications"), mine, doctor.Unknown, "You lack 1 of the 16", []string{calling + "early sync", "Order: after", waves}},
	}
}
