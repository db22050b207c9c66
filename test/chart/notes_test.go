// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/stepgate/stepgate/test/environment"
	"github.com/stepgate/stepgate/test/installed"
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
		helm, err = installed.NewHelm(e)
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

// The notes say what a stranger could do, if something other than an answer comes of his call.
func TestTheNotesSayWhatAStrangerCouldDo(t *testing.T) {
	const keep = "config.maxUpdate=true"
	for name, tc := range map[string]struct {
		values []string
		want   bool
	}{
		"the defaults":                   {nil, false},
		"maxUpdate is kept":              {[]string{keep}, true},
		"and the port has a policy":      {[]string{keep, "networkPolicy.enabled=true"}, true},
		"and the policy names who calls": {[]string{keep, "networkPolicy.enabled=true", "networkPolicy.ingress[0].from[0].ipBlock.cidr=10.0.0.1/32"}, false},
		"and callers need a certificate": {[]string{keep, "webhook.clientCA.configMap=clients"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			args := []string{"install", "notes", helm.Chart, "--namespace=notes", "--dry-run=client"}
			for _, value := range tc.values {
				args = append(args, "--set="+value)
			}
			text, err := helm.Run(t.Context(), args...)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(text).To(ContainSubstring("If syncs must go through at once"), "these are the notes")
			says := ContainSubstring("WARNING: whoever reaches the webhook's port can hold up the syncs")
			if !tc.want {
				says = Not(says)
			}
			g.Expect(text).To(says)
		})
	}
}
