// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/installed"
)

// Patterns are matched by the API server as Argo CD matches them. A namespace that is made later is gated if a pattern
// matches it.
func TestPatternsOfNamespaces(t *testing.T) {
	g := NewWithT(t)
	outside := rollout(t, "my-pattern-a")
	replica := serve(t, installed.Chart{
		Name: "stepgate", Namespace: "patterns", Values: []string{"argocd.applicationNamespaces={argocd-p,pattern-?,/^regexp-[a-c]+$/}"},
	})
	for _, namespace := range []string{"argocd-p", "pattern-b", "regexp-abc"} {
		denied(t, rollout(t, namespace))
	}
	for _, namespace := range []string{"pattern-bb", "regexp-d"} {
		g.Expect(sync(t, rollout(t, namespace), "prod", client.DryRunAll)).To(Succeed(), namespace)
	}
	g.Expect(sync(t, outside, "prod", client.DryRunAll)).To(Succeed())
	g.Eventually(func() (string, error) { return replica.MetricsText(t.Context()) }).Should(And(
		ContainSubstring(
			`stepgate_exemption{applicationset="",applicationset_namespace="my-pattern-a",kind="ungated_namespace"} 1`,
		),
		Not(ContainSubstring(`applicationset_namespace="pattern-b",kind="ungated_namespace"`))))
}

// Whoever lists namespaces forgets one some day. A metric names those that have ApplicationSets and are not gated,
// unless that is not wanted.
func TestNamespacesThatAreNotGatedAreShown(t *testing.T) {
	g := NewWithT(t)
	rollout(t, "listed")
	rollout(t, "forgotten")
	const shown = `stepgate_exemption{applicationset="",applicationset_namespace="forgotten",kind="ungated_namespace"} 1`
	replica := serve(t, installed.Chart{
		Name: "stepgate", Namespace: "lists", Values: []string{"argocd.applicationNamespaces={listed}"},
	})
	g.Eventually(func() (string, error) { return replica.MetricsText(t.Context()) }).Should(And(ContainSubstring(shown),
		Not(ContainSubstring(`"listed",kind="ungated_namespace"`))))

	silent := serve(t, installed.Chart{
		Name: "silent", Namespace: "lists-silent", Values: []string{"argocd.applicationNamespaces={listed}", "metrics.ungatedNamespaces=false"},
	})
	g.Eventually(func() (string, error) { return silent.MetricsText(t.Context()) }).Should(And(
		ContainSubstring("\nstepgate_applicationsets_without_progressive_syncs "),
		Not(ContainSubstring("ungated_namespace"))))
	g.Expect(silent.Log()).NotTo(ContainSubstring("cannot be listed"))
}
