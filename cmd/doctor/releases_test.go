package doctor_test

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stepgate/stepgate/cmd/doctor"
)

// A second release is checked by itself: what it lacks is said of it, and of nobody else.
func TestTwoReleases(t *testing.T) {
	g, w := NewWithT(t), healthy(t)
	sources := w.sources(t)
	second := w.validating.DeepCopy()
	second.Name, second.Labels["app.kubernetes.io/instance"] = "stepgate-b", "stepgate-b"
	second.Webhooks[0].ClientConfig.Service.Namespace, second.Webhooks[0].ClientConfig.Service.Name = "argocd-b", "stepgate-b"
	_, err := sources.Kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(t.Context(), second, metav1.CreateOptions{})
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
