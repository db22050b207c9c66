// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/installed"
)

// Two releases share the namespaces of one Argo CD: no object of one is an object of the other, each watches its own
// namespaces, and the writes that one cannot answer are those of its namespaces.
func TestTwoReleasesShareTheNamespacesOfOneArgoCD(t *testing.T) {
	g := NewWithT(t)
	names := map[string]bool{}
	for _, name := range []string{"share-a", "share-b"} {
		text, err := helm.Run(t.Context(), "template", name, helm.Chart, "--namespace=shares",
			"--set=config.mode=enforce,argocd.applicationNamespaces={"+name+"-1,"+name+"-2}",
			"--set=metrics.serviceMonitor.enabled=true,metrics.serviceMonitor.renderMode=alwaysRender,metrics.prometheusRule.enabled=true,metrics.grafanaDashboard.enabled=true")
		g.Expect(err).NotTo(HaveOccurred())
		for _, o := range decode(g, text) {
			key := o.GetKind() + " " + o.GetNamespace() + " " + o.GetName()
			g.Expect(names).NotTo(HaveKey(key))
			names[key] = true
		}
	}

	first, second := rollout(t, "share-a-1"), rollout(t, "share-b-1")
	for _, empty := range []string{"share-a-2", "share-b-2"} {
		g.Expect(shared.CreateNamespace(t.Context(), empty)).To(Succeed())
	}
	a := serve(t, installed.Chart{
		Name: "share-a", Namespace: "shares", Values: []string{"argocd.applicationNamespaces={share-a-1,share-a-2}"},
	})
	b := serve(t, installed.Chart{
		Name: "share-b", Namespace: "shares", Values: []string{"argocd.applicationNamespaces={share-b-1,share-b-2}"},
	})
	denied(t, first)
	denied(t, second)
	for replica, own := range map[*installed.Replica]string{a: "share-a", b: "share-b"} {
		text, err := replica.MetricsText(t.Context())
		g.Expect(err).NotTo(HaveOccurred())
		var watched []string
		for line := range strings.Lines(text) {
			if _, rest, ok := strings.Cut(line, `stepgate_watch_resource_version{resource="applications",`); ok {
				watched = append(watched, rest)
			}
		}
		g.Expect(watched).To(And(ContainElement(HavePrefix(`watched_namespace="`+own+`-1"`)),
			HaveEach(HavePrefix(`watched_namespace="`+own))))
	}

	_, err := helm.Run(t.Context(), "install", "share-a", helm.Chart, "--namespace=shares-elsewhere", "--create-namespace")
	g.Expect(err).To(MatchError(ContainSubstring("invalid ownership metadata")),
		"a second release of that name would take the first one's cluster-scoped objects")
	denied(t, first)

	later := rollout(t, "share-later")
	g.Expect(sync(t, later, "prod", client.DryRunAll)).To(Succeed(), "a namespace that no release names is not gated")
	g.Expect(diagnosis(t)).To(And(ContainSubstring("share-later"),
		ContainSubstring("No namespace is gated by more than one release.")))

	a.Kill()
	g.Expect(sync(t, first, "prod", client.DryRunAll)).To(MatchError(ContainSubstring("failed calling webhook")))
	denied(t, second)
}

// A namespace that two releases gate is decided by both, to the same effect, and the doctor names it.
func TestANamespaceOfTwoReleasesIsDecidedByBoth(t *testing.T) {
	g := NewWithT(t)
	both := rollout(t, "both")
	values := []string{"argocd.applicationNamespaces={both}"}
	a := serve(t, installed.Chart{Name: "both-a", Namespace: "both-a", Values: values})
	b := serve(t, installed.Chart{Name: "both-b", Namespace: "both-b", Values: values})
	g.Eventually(func() bool {
		beforeA, beforeB := requests(t, a), requests(t, b)
		denied(t, both)
		return requests(t, a) > beforeA && requests(t, b) > beforeB
	}).Should(BeTrue())
	g.Expect(diagnosis(t)).To(
		ContainSubstring(
			"Namespace both (by both-a and both-b): the API server asks each of these releases about every sync there",
		),
	)
}

// diagnosis is what the doctor says of the cluster, as JSON.
func diagnosis(t *testing.T) string {
	t.Helper()
	g := NewWithT(t)
	kubeconfig, err := shared.AdminKubeconfig()
	g.Expect(err).NotTo(HaveOccurred())
	var stdout bytes.Buffer
	command := exec.CommandContext(t.Context(), shared.Binary, "doctor", "--kubeconfig="+kubeconfig, "-o", "json")
	command.Stdout = &stdout
	_ = command.Run() // other tests leave things that it finds
	return stdout.String()
}
