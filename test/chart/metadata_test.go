// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/yaml"
)

// chartYAML are the fields of Chart.yaml that chart-testing's schema (v3.14.0, etc/chart_schema.yaml) allows for a chart
// without dependencies. Those that it requires, and those that a catalogue shows, must not be empty.
type chartYAML struct {
	APIVersion  string `json:"apiVersion"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Type        string `json:"type"`
	Version     string `json:"version"`
	AppVersion  string `json:"appVersion"`
	KubeVersion string `json:"kubeVersion"`
	Home        string `json:"home"`
	Icon        string `json:"icon"`
	Sources     []string
	Keywords    []string
	Maintainers []struct{ Name, Email, URL string }
	Annotations map[string]string
}

// categories are those of Artifact Hub (hub v1.22, docs/metadata).
var categories = []string{
	"ai-machine-learning", "database", "integration-delivery", "monitoring-logging", "networking", "security", "storage", "streaming-messaging",
}

// What `ct lint` looks at in Chart.yaml. It is not run itself: it starts yamale and yamllint, which are in Python, asks
// GitHub for the maintainers, and compares the version with a published one, which there is none of; `make
// release-check` compares the version with the tag.
func TestTheChartsMetadata(t *testing.T) {
	g := NewWithT(t)
	text, err := os.ReadFile(filepath.Join(helm.Chart, "Chart.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	var m chartYAML
	g.Expect(yaml.UnmarshalStrict(text, &m)).To(Succeed())
	g.Expect(m.APIVersion).To(Equal("v2"))
	g.Expect(m.Name).To(Equal(filepath.Base(helm.Chart)))
	g.Expect(m.Type).To(Equal("application"))
	g.Expect(m.Description).NotTo(BeEmpty())
	_, err = version.ParseSemantic(m.Version)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(m.AppVersion).To(Equal(m.Version), "they are released together")
	g.Expect(m.KubeVersion).To(HavePrefix(">="))
	g.Expect(m.Keywords).To(ContainElements("argocd", "applicationset"))
	g.Expect(m.Maintainers).NotTo(BeEmpty())
	for _, maintainer := range m.Maintainers {
		g.Expect(maintainer.Name).NotTo(BeEmpty())
		m.Sources = append(m.Sources, maintainer.URL)
	}
	for _, address := range append(m.Sources, m.Home, m.Icon) {
		u, err := url.Parse(address)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(u.Scheme).To(Equal("https"), address)
	}
	path, ours := strings.CutPrefix(m.Icon, "https://raw.githubusercontent.com/stepgate/stepgate/main/")
	g.Expect(ours).To(BeTrue())
	g.Expect(filepath.Join(shared.Root, path)).To(BeARegularFile())
	g.Expect(m.Annotations["artifacthub.io/category"]).To(BeElementOf(categories))
	g.Expect(m.Annotations["artifacthub.io/license"]).To(Equal("Apache-2.0"))
	var links []struct{ Name, URL string }
	g.Expect(yaml.UnmarshalStrict([]byte(m.Annotations["artifacthub.io/links"]), &links)).To(Succeed())
	g.Expect(links).NotTo(BeEmpty())
}

// lintings are the rules of chart-testing's yamllint (v3.14.0, etc/lintconf.yaml) that a regular expression can hold.
// Helm's own lint, and TestSchemaAndValuesAgree, refuse a key that is there twice.
var lintings = map[string]*regexp.Regexp{
	"trailing spaces":                      regexp.MustCompile(`(?m)[ \t]+$`),
	"a tab":                                regexp.MustCompile(`\t`),
	"a line end of Windows":                regexp.MustCompile(`\r`),
	"more than two empty lines":            regexp.MustCompile(`\n{4}`),
	"no new line at the end":               regexp.MustCompile(`[^\n]\z`),
	"empty lines at the end":               regexp.MustCompile(`\n\n\z`),
	"a comment without a space after #":    regexp.MustCompile(`(?m)^ *#[^ #\n]`),
	"a comment one space behind its value": regexp.MustCompile(`(?m)^[^#'"\n]*\S #`),
	"a space inside of braces":             regexp.MustCompile(`(?m)^[^#'"\n]*(: \{ | \}$)`),
	"a space before a comma or none after": regexp.MustCompile(`(?m)^[^#'"\n]*( ,|,[^ \n])`),
	"spaces before a colon":                regexp.MustCompile(`(?m)^ *[A-Za-z]+ +:`),
}

func TestTheChartsYAML(t *testing.T) {
	g := NewWithT(t)
	files, err := filepath.Glob(filepath.Join(helm.Chart, "ci", "*.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	for _, file := range append(files, filepath.Join(helm.Chart, "Chart.yaml"), filepath.Join(helm.Chart, "values.yaml")) {
		text, err := os.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		for name, rule := range lintings {
			g.Expect(rule.FindString(string(text))).To(BeEmpty(), file+": "+name)
		}
		var content map[string]any
		g.Expect(yaml.UnmarshalStrict(text, &content)).To(Succeed(), file)
	}
}
