// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// prometheusOperator is the last version whose module has the CRDs in it.
const prometheusOperator = "github.com/prometheus-operator/prometheus-operator@v0.85.0"

// crds are the CRDs of cert-manager (the module that go.mod names) and prometheus-operator.
func crds(t *testing.T) []string {
	t.Helper()
	g := NewWithT(t)
	dir := func(args ...string) string {
		command := exec.CommandContext(t.Context(), "go", args...)
		command.Dir = shared.Root
		text, err := command.Output()
		g.Expect(err).NotTo(HaveOccurred(), strings.Join(command.Args, " "))
		var module struct{ Dir string }
		g.Expect(json.Unmarshal(text, &module)).To(Succeed())
		return module.Dir
	}
	certManager := filepath.Join(dir("list", "-m", "-json", "github.com/cert-manager/cert-manager"), "deploy", "crds")
	prometheus := filepath.Join(dir("mod", "download", "-json", prometheusOperator), "example", "prometheus-operator-crd")
	return []string{
		filepath.Join(certManager, "cert-manager.io_certificates.yaml"),
		filepath.Join(certManager, "cert-manager.io_issuers.yaml"),
		filepath.Join(certManager, "cert-manager.io_clusterissuers.yaml"),
		filepath.Join(certManager, "cert-manager.io_certificaterequests.yaml"),
		filepath.Join(prometheus, "monitoring.coreos.com_servicemonitors.yaml"),
		filepath.Join(prometheus, "monitoring.coreos.com_prometheusrules.yaml"),
	}
}

// installCRDs installs them for good. To remove CRDs takes the API server minutes now and then: it tries several times
// to delete instances, although there are none. So the one test that needs a cluster without them is the first of the
// package.
func installCRDs(t *testing.T) {
	t.Helper()
	// The ten seconds of envtest are not enough on a busy machine.
	_, err := envtest.InstallCRDs(shared.Config, envtest.CRDInstallOptions{
		Paths: crds(t), ErrorIfPathMissing: true, MaxTime: 2 * time.Minute,
	})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
}

// Every object of every set of values is accepted by the API server, and none has a field that it does not know.
// Without the CRDs of prometheus-operator its objects are left out; with them they are created. It is the first test of
// the package: see installCRDs.
func TestEveryObjectIsAccepted(t *testing.T) {
	g, ctx := NewWithT(t), t.Context()
	g.Expect(served(g, "ServiceMonitor")).To(BeFalse(), "another test has installed the CRDs before this one")
	sets := valueSets(t)
	for _, namespace := range []string{"accepted", "argocd", "team-a"} {
		g.Expect(shared.CreateNamespace(ctx, namespace)).To(Succeed())
	}
	install := func(name string) error {
		_, err := helm.Run(ctx, "install", "accepted", helm.Chart, "--namespace=accepted", "--values="+sets[name])
		if err == nil {
			accept(g, t, sets[name])
			_, err = helm.Run(ctx, "uninstall", "accepted", "--namespace=accepted")
		}
		return err
	}
	withoutCRDs := map[string]string{
		"cert-manager": `no matches for kind "Certificate"`, "issuer": `no matches for kind "Certificate"`,
	}
	for name := range sets {
		if text := withoutCRDs[name]; text != "" {
			g.Expect(install(name)).To(MatchError(ContainSubstring(text)), name)
		} else {
			g.Expect(install(name)).To(Succeed(), name)
		}
	}
	installCRDs(t)
	for _, name := range []string{"cert-manager", "issuer", "monitoring", "default"} {
		g.Expect(install(name)).To(Succeed(), name)
	}
}

// accept sends every object of the release to the API server once more, as a dry run. A server-side apply refuses
// unknown fields.
func accept(g *WithT, t *testing.T, values string) {
	t.Helper()
	admin := client.NewDryRunClient(administrator(g))
	text, err := helm.Run(t.Context(), "get", "manifest", "accepted", "--namespace=accepted")
	g.Expect(err).NotTo(HaveOccurred())
	kinds := map[string]bool{}
	for _, o := range decode(g, text) {
		kinds[o.GetKind()] = true
		if o.GetNamespace() == "" && namespaced(g, o.GroupVersionKind()) {
			o.SetNamespace("accepted")
		}
		g.Expect(admin.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(o), client.FieldOwner("strict"),
			client.ForceOwnership)).To(Succeed(), o.GetKind())
	}
	if strings.HasSuffix(values, "monitoring-values.yaml") {
		g.Expect(kinds["ServiceMonitor"]).To(Equal(served(g, "ServiceMonitor")))
		g.Expect(kinds["PrometheusRule"]).To(Equal(served(g, "ServiceMonitor")))
		g.Expect(kinds["ConfigMap"]).To(BeTrue())
	}
}

// administrator is a new client, which knows the CRDs of the moment.
func administrator(g Gomega) client.Client {
	admin, err := shared.Client("")
	g.Expect(err).NotTo(HaveOccurred())
	return admin
}

func namespaced(g *WithT, kind schema.GroupVersionKind) bool {
	mapping, err := administrator(g).RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
	g.Expect(err).NotTo(HaveOccurred())
	return mapping.Scope.Name() == "namespace"
}

func served(g *WithT, kind string) bool {
	_, err := administrator(g).RESTMapper().RESTMapping(schema.GroupKind{Group: "monitoring.coreos.com", Kind: kind})
	return err == nil
}

// The API server accepts every object of every combination, and none has a field that it does not know. This takes the
// place of kubeconform: its schemas come from the network, and know neither CEL nor the names of ports. `make
// kubernetes-versions` runs it on the oldest Kubernetes and on the newest.
func TestEveryObjectOfEveryCombinationIsAccepted(t *testing.T) {
	g, ctx := NewWithT(t), t.Context()
	installCRDs(t)
	for _, namespace := range []string{"gates", "argocd", "team-a", "monitoring"} {
		g.Expect(shared.CreateNamespace(ctx, namespace)).To(Succeed())
	}
	admin, sent := client.NewDryRunClient(administrator(g)), map[string]bool{}
	for name, r := range renderings(t) {
		if r.version() != "" {
			continue // its API versions are those of another Kubernetes
		}
		for _, o := range r.objects {
			text, err := o.MarshalJSON()
			g.Expect(err).NotTo(HaveOccurred())
			if sent[string(text)] {
				continue
			}
			sent[string(text)] = true
			g.Expect(admin.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), client.FieldOwner("strict"),
				client.ForceOwnership)).To(Succeed(), "%s: %s %s", name, o.GetKind(), o.GetName())
		}
	}
	g.Expect(len(sent)).To(BeNumerically(">", 200))
}
