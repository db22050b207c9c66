// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/test/installed"
)

// TestConfigIsTheChart has kustomize build the folders of config/, and compares the objects with those that Helm
// renders from the chart.
func TestConfigIsTheChart(t *testing.T) {
	monitoring := []string{
		"metrics.serviceMonitor.enabled=true", "metrics.serviceMonitor.renderMode=alwaysRender", "metrics.prometheusRule.enabled=true", "metrics.grafanaDashboard.enabled=true",
	}
	for name, tc := range map[string]struct {
		folder     string
		components []string
		values     []string
	}{
		"audit":                              {folder: "."},
		"enforce":                            {folder: "enforce", values: []string{"config.mode=enforce"}},
		"cert-manager":                       {folder: "cert-manager", values: []string{"certs.mode=certManager"}},
		"cert-manager, enforce":              {folder: "cert-manager/enforce", values: []string{"certs.mode=certManager", "config.mode=enforce"}},
		"enforce, with monitoring":           {folder: "enforce", components: []string{"monitoring"}, values: append([]string{"config.mode=enforce"}, monitoring...)},
		"the components the other way round": {folder: "base", components: []string{"enforce", "cert-manager"}, values: []string{"certs.mode=certManager", "config.mode=enforce"}},
		"audit, with monitoring as a kustomization": {folder: "base", components: []string{"monitoring"}, values: monitoring},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			folder := filepath.Join(shared.Root, "config", tc.folder)
			if len(tc.components) > 0 {
				folder = overlay(t, folder, tc.components)
			}
			built, err := installed.Kustomize(folder)
			g.Expect(err).NotTo(HaveOccurred())
			args := []string{"template", "stepgate", helm.Chart, "--namespace=stepgate", "--kube-version=1.30", "--skip-tests"}
			for _, value := range tc.values {
				args = append(args, "--set="+value)
			}
			rendered, err := helm.Run(t.Context(), args...)
			g.Expect(err).NotTo(HaveOccurred())
			got, want := byName(g, built), byName(g, []byte(rendered))
			g.Expect(got).To(HaveKey("Namespace /stepgate"))
			delete(got, "Namespace /stepgate")
			g.Expect(got).To(HaveLen(len(want)))
			for key := range want {
				g.Expect(got[key]).To(Equal(want[key]), key)
			}
		})
	}
}

// overlay is a kustomization of a user, with components.
func overlay(t *testing.T, base string, components []string) string {
	t.Helper()
	g, dir := NewWithT(t), t.TempDir()
	relative := func(path string) string {
		r, err := filepath.Rel(dir, path)
		g.Expect(err).NotTo(HaveOccurred())
		return r
	}
	text := "resources: [" + relative(base) + "]\ncomponents:\n"
	for _, c := range components {
		text += "- " + relative(filepath.Join(shared.Root, "config", "components", c)) + "\n"
	}
	g.Expect(os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o600)).To(Succeed())
	return dir
}

// byName are the objects of a manifest, without the labels of Helm.
func byName(g Gomega, text []byte) map[string]map[string]any {
	all, err := installed.Objects(text)
	g.Expect(err).NotTo(HaveOccurred())
	objects := map[string]map[string]any{}
	for _, o := range all {
		withoutHelm(o)
		metadata := o["metadata"].(map[string]any)
		namespace, _ := metadata["namespace"].(string)
		objects[fmt.Sprintf("%s %s/%s", o["kind"], namespace, metadata["name"])] = o
	}
	return objects
}

// withoutHelm takes the labels away that say that Helm is at work.
func withoutHelm(value any) {
	switch v := value.(type) {
	case map[string]any:
		delete(v, "helm.sh/chart")
		delete(v, "app.kubernetes.io/managed-by")
		for _, field := range v {
			withoutHelm(field)
		}
	case []any:
		for _, item := range v {
			withoutHelm(item)
		}
	}
}
