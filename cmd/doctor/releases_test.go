// SPDX-License-Identifier: Apache-2.0

package doctor_test

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stepgate/stepgate/cmd/doctor"
)

// A second release is checked by itself: what it lacks is said of it, and of nobody else.
func TestTwoReleases(t *testing.T) {
	g, w := NewWithT(t), healthy(t)
	sources := w.sources(t)
	second := w.validating.DeepCopy()
	second.Name, second.Labels["app.kubernetes.io/instance"] = "stepgate-b", "stepgate-b"
	second.Webhooks[0].ClientConfig.Service.Namespace, second.Webhooks[0].ClientConfig.Service.Name = "argocd-b",
		"stepgate-b"
	_, err := sources.Kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(t.Context(), second,
		metav1.CreateOptions{})
	g.Expect(err).NotTo(HaveOccurred())

	report := sources.Gather(t.Context()).Examine()
	var bad []string
	for _, c := range report.Checks {
		if c.Result != doctor.OK && c.Result != doctor.Skipped {
			bad = append(bad, c.Subject)
		}
		if c.Name == "stepgate" {
			g.Expect(c.Found).To(Equal("2 releases found."))
		}
	}
	g.Expect(slices.Compact(bad)).To(Equal([]string{"Release stepgate-b, namespace argocd-b"}))
	ways := sources.GatherInstalled(t.Context()).Ways(nil)
	g.Expect(ways[len(ways)-1].Commands).To(Equal([]string{
		"kubectl delete validatingwebhookconfiguration,mutatingwebhookconfiguration stepgate",
		"kubectl delete validatingwebhookconfiguration,mutatingwebhookconfiguration stepgate-b",
	}))
}

// Two releases share the namespaces: that none is gated by both, and none by nobody, is a check of the whole cluster.
func TestReleasesThatShareTheNamespaces(t *testing.T) {
	for name, tc := range map[string]struct {
		first, second []string // argocd.applicationNamespaces
		result        doctor.Result
		found         string
	}{
		"each has its own": {[]string{"argocd"}, []string{"team-a"}, doctor.OK, "No namespace is gated by more than one release."},
		"one gates all":    {[]string{"argocd"}, nil, doctor.Warning, "Namespace argocd (by stepgate and stepgate-b)"},
		"both name one":    {[]string{"argocd", "team-a"}, []string{"argocd"}, doctor.Warning, "Namespace argocd (by stepgate and stepgate-b)"},
		"one without ApplicationSets is gated by both": {[]string{"argocd", "team-a"}, []string{"team-a"}, doctor.OK, "No namespace is gated by more than one release."},
	} {
		t.Run(name, func(t *testing.T) {
			g, w := NewWithT(t), healthy(t)
			second, deployment := w.validating.DeepCopy(), w.deployment.DeepCopy()
			second.Name, second.Labels["app.kubernetes.io/instance"] = "stepgate-b", "stepgate-b"
			second.Webhooks[0].ClientConfig.Service.Namespace = "argocd-b"
			deployment.Namespace, deployment.Name, deployment.Labels["app.kubernetes.io/instance"] = "argocd-b", "stepgate-b",
				"stepgate-b"
			sources := w.sources(t)
			_, err := sources.Kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(t.Context(), second,
				metav1.CreateOptions{})
			g.Expect(err).NotTo(HaveOccurred())
			_, err = sources.Kube.AppsV1().Deployments("argocd-b").Create(t.Context(), deployment, metav1.CreateOptions{})
			g.Expect(err).NotTo(HaveOccurred())
			sources.Parse = func(d *appsv1.Deployment) (*doctor.Flags, error) {
				settings := *w.settings
				settings.Namespaces = tc.first
				if d.Name == "stepgate-b" {
					settings.Namespaces = tc.second
				}
				settings.Gated = func(n string) bool {
					return len(settings.Namespaces) == 0 || slices.Contains(settings.Namespaces, n)
				}
				return &settings, nil
			}
			checks := sources.Gather(t.Context()).Examine().Checks
			i := slices.IndexFunc(checks, func(c doctor.Check) bool { return c.Name == "gated twice" })
			g.Expect(checks[i].Subject).To(Equal("This cluster"))
			g.Expect(checks[i].Result).To(Equal(tc.result), checks[i].Found)
			g.Expect(checks[i].Found).To(HavePrefix(tc.found))
		})
	}
}
