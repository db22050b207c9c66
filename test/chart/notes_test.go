package chart

import (
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/stepgate/stepgate/test/environment"
	"github.com/stepgate/stepgate/test/release"
)

// unrestricted is how the notes begin to say that no policy restricts stepgate's account.
const unrestricted = "WARNING: this cluster has no ValidatingAdmissionPolicy"

// On an API server as it comes, the chart can be installed with its defaults. The notes warn if the API server has no
// ValidatingAdmissionPolicies: Kubernetes 1.28 and 1.29. The cluster of the other tests has them in any case.
func TestTheNotesSayThatNothingRestrictsTheAccount(t *testing.T) {
	g, ctx, e, helm := NewWithT(t), t.Context(), shared, helm
	g.Expect(shared.CreateNamespace(ctx, "notes")).To(Succeed())
	if !shared.HasAdmissionPolicies() {
		var err error
		e, err = environment.Start(ctx, environment.Options{})
		g.Expect(err).NotTo(HaveOccurred())
		t.Cleanup(func() { g.Expect(e.Stop()).To(Succeed()) })
		helm, err = release.NewHelm(e)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(e.CreateNamespace(ctx, "argocd")).To(Succeed())
	}
	text, err := helm.Run(ctx, "install", "notes", helm.Chart, "--namespace=notes", "--create-namespace")
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() {
		_, err := helm.Run(contextOfCleanup(), "uninstall", "notes", "--namespace=notes")
		g.Expect(err).NotTo(HaveOccurred())
	})
	validating := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	g.Expect(e.Admin.Get(ctx, client.ObjectKey{Name: "notes-stepgate"}, validating)).To(Succeed())
	for _, w := range validating.Webhooks {
		g.Expect(w.MatchConditions).NotTo(BeEmpty(),
			"an API server that drops match conditions sends every status write: %s", w.Name)
	}
	if shared.HasAdmissionPolicies() {
		g.Expect(text).NotTo(ContainSubstring(unrestricted))
	} else {
		g.Expect(text).To(ContainSubstring(unrestricted))
	}
}
