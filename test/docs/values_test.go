// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"
)

var (
	// value is a value of the chart in a code span or in a command: argocd.applicationNamespaces={a,b}.
	value = regexp.MustCompile("(?:`|--set '?)([a-z][A-Za-z]*(?:\\.[A-Za-z]+)+)(?:`|=)")
	// foreign is the end of a domain or of a file.
	foreign = regexp.MustCompile(`\.(?:io|yaml)$`)
)

// valuesOf are the values that a page names; the first part of each is a key of the chart.
func valuesOf(page string, chart map[string]any) []string {
	var all []string
	for _, match := range value.FindAllStringSubmatch(page, -1) {
		key, _, _ := strings.Cut(match[1], ".")
		if _, ours := chart[key]; ours && !foreign.MatchString(match[1]) {
			all = append(all, match[1])
		}
	}
	return all
}

// has says that the chart has a value.
func has(chart map[string]any, path string) bool {
	key, rest, more := strings.Cut(path, ".")
	found, ok := chart[key]
	if !ok || !more {
		return ok
	}
	below, _ := found.(map[string]any)
	return has(below, rest)
}

func TestEveryValueThatAPageNamesExists(t *testing.T) {
	g, found := NewWithT(t), 0
	var chart map[string]any
	g.Expect(yaml.Unmarshal([]byte(read(g, "charts/stepgate/values.yaml")), &chart)).To(Succeed())
	for page, text := range pages(g) {
		for _, path := range valuesOf(text, chart) {
			found++
			g.Expect(has(chart, path)).To(BeTrue(), "%s names the value %s, which the chart does not have",
				page, path)
		}
	}
	g.Expect(found).To(BeNumerically(">", 100))
}

func TestValuesOfAPage(t *testing.T) {
	g := NewWithT(t)
	chart := map[string]any{"pin": map[string]any{"mode": "off"}, "hold": map[string]any{}, "argocd": map[string]any{}}
	g.Expect(valuesOf("`pin.mode=candidate`, `hold.stepgate.io`, `spec.source`, `argocd.namespaces` and --set 'pin.mod={a}'",
		chart)).To(Equal([]string{"pin.mode", "argocd.namespaces", "pin.mod"}))
	g.Expect(has(chart, "pin.mode")).To(BeTrue())
	g.Expect(has(chart, "pin.mod")).To(BeFalse())
	g.Expect(has(chart, "pin.mode.more")).To(BeFalse())
}
