// SPDX-License-Identifier: Apache-2.0

package doctor_test

import (
	"testing"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stepgate/stepgate/cmd/doctor"
)

// A remedy is one of the installer: what to commit for Argo CD, and otherwise a command. If the installer is not known,
// there are both, Argo CD's first.
func TestRemediesAreOfTheInstaller(t *testing.T) {
	const (
		helm = "helm upgrade stepgate CHART --namespace stepgate --reset-then-reuse-values " +
			"--set webhook.failurePolicy=Fail"
		values    = "webhook:\n  failurePolicy: Fail"
		ofUnknown = "the values of stepgate's Application, if Argo CD has installed it"
	)
	const trackingID = "argocd.argoproj.io/tracking-id"
	for name, tc := range map[string]struct {
		annotations, labels map[string]string
		// resource is a resource in the status of an Application argocd/stepgate, if there is one.
		resource string
		into     string
		commands []string
	}{
		"Helm": {
			annotations: map[string]string{"meta.helm.sh/release-name": "stepgate"}, commands: []string{helm},
		},
		"Argo CD": {
			annotations: map[string]string{trackingID: "gate:admissionregistration.k8s.io/ValidatingWebhookConfiguration:stepgate/stepgate"},
			into:        "the values of Application gate",
		},
		"Argo CD, by an Application in another namespace": {
			annotations: map[string]string{trackingID: "team-a_gate:admissionregistration.k8s.io/ValidatingWebhookConfiguration:stepgate/stepgate"},
			into:        "the values of Application team-a/gate",
		},
		"Argo CD, with a label of its own": {
			labels: map[string]string{"argocd.argoproj.io/instance": "gate"}, into: "the values of Application gate",
		},
		"Argo CD, of a release that Helm had installed": {
			annotations: map[string]string{"meta.helm.sh/release-name": "stepgate", trackingID: "gate:a/b:c/d"}, into: "the values of Application gate",
		},
		"Argo CD, with the label of the chart": {resource: "stepgate", into: "the values of Application argocd/stepgate"},
		"an Application of the same name that has other resources": {
			resource: "guestbook", into: ofUnknown, commands: []string{helm + "  # if Helm has installed it"},
		},
		"nobody who leaves a mark": {into: ofUnknown, commands: []string{helm + "  # if Helm has installed it"}},
		"config/": {
			labels:   map[string]string{"app.kubernetes.io/managed-by": ""},
			commands: []string{"kubectl apply -k CONFIG  # with webhook.failurePolicy=Fail"},
		},
		"config/, by Argo CD": {
			annotations: map[string]string{trackingID: "gate:a/b:c/d"}, labels: map[string]string{"app.kubernetes.io/managed-by": ""},
			commands: []string{"argocd app sync gate  # after a commit with webhook.failurePolicy=Fail"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			g, w := NewWithT(t), healthy(t)
			ignore := admissionv1.Ignore
			w.validating.Webhooks[0].FailurePolicy, w.validating.Annotations = &ignore, tc.annotations
			for key, value := range tc.labels {
				w.validating.Labels[key], w.mutating.Labels[key] = value, value
			}
			if tc.resource != "" {
				app := &argo.Application{ObjectMeta: metav1.ObjectMeta{Namespace: "argocd", Name: "stepgate"}}
				app.Status.Resources = []argo.ResourceStatus{{Kind: "ValidatingWebhookConfiguration", Name: tc.resource}}
				w.apps = append(w.apps, app)
			}
			var checks []doctor.Check
			for _, c := range w.sources(t).Gather(t.Context()).Examine().Checks {
				if c.Result == doctor.Warning {
					checks = append(checks, c)
				}
			}
			g.Expect(checks).To(HaveLen(1))
			var commits []doctor.Commit
			if tc.into != "" {
				commits = []doctor.Commit{{Into: tc.into, Values: values}}
			}
			g.Expect(checks[0].Commits).To(Equal(commits))
			g.Expect(checks[0].Commands).To(Equal(tc.commands))
		})
	}
}

// If no value is wrong, the Application is synced, and there is nothing to commit.
func TestNothingToCommit(t *testing.T) {
	for name, tc := range map[string]struct {
		annotations map[string]string
		commands    []string
	}{
		"Argo CD": {
			annotations: map[string]string{"argocd.argoproj.io/tracking-id": "gate:a/b:c/d"}, commands: []string{"argocd app sync gate"},
		},
		"nobody who leaves a mark": {commands: []string{
			"argocd app sync APPLICATION  # if Argo CD has installed it",
			"helm upgrade stepgate CHART --namespace stepgate --reset-then-reuse-values  # if Helm has installed it",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			g, w := NewWithT(t), healthy(t)
			w.validating.Annotations, w.mutating = tc.annotations, nil
			for _, c := range w.sources(t).Gather(t.Context()).Examine().Checks {
				if c.Group == "Mutating webhook" && c.Name == "registered" {
					g.Expect(c.Commands).To(Equal(tc.commands))
					g.Expect(c.Commits).To(BeEmpty())
				}
			}
		})
	}
}

// Values are printed as YAML, with their types.
func TestValuesToCommit(t *testing.T) {
	g, w := NewWithT(t), healthy(t)
	byArgoCD(w)
	w.settings.Gate.ServerAccounts, w.budget = nil, nil
	values := map[string]string{}
	for _, c := range w.sources(t).Gather(t.Context()).Examine().Checks {
		for _, commit := range c.Commits {
			values[c.Name] = commit.Values
		}
	}
	g.Expect(values).To(Equal(map[string]string{
		"server account":    "argocd:\n  serverAccounts:\n  - system:serviceaccount:argocd:argocd-server",
		"disruption budget": "podDisruptionBudget:\n  enabled: true",
	}))
}
