// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
)

// programs are the programs that alerts need metrics of, and how the names of their metrics begin.
var programs = []struct{ name, prefix string }{
	{"stepgate", "stepgate_"}, {"API server", "apiserver_"}, {"kube-state-metrics", "kube_"}, {"Argo CD", "argocd_"},
}

// needs are the programs that selectors need metrics of.
func needs(found ...selector) []string {
	var names []string
	for _, p := range programs {
		if slices.ContainsFunc(found, func(s selector) bool { return strings.HasPrefix(s.Metric, p.prefix) }) {
			names = append(names, p.name)
		}
	}
	return names
}

// The rules of a release select the series of this release only: those with the labels that its ServiceMonitor gives
// them.
func TestReleasesSelectTheirOwnSeries(t *testing.T) {
	for _, r := range alike {
		t.Run(r.namespace+"/"+r.name, func(t *testing.T) {
			g := NewWithT(t)
			objects := monitoring(t, r.name, r.namespace, "fullnameOverride="+r.fullname)
			monitor := objects["ServiceMonitor"]
			g.Expect(monitor.GetNamespace()).To(Equal(r.namespace))
			endpoints, _, err := unstructured.NestedSlice(monitor.Object, "spec", "endpoints")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(endpoints).To(HaveLen(1))
			g.Expect(endpoints[0]).To(HaveKeyWithValue("relabelings", ConsistOf(
				map[string]any{"action": "replace", "targetLabel": "release", "replacement": r.name})))

			expressions := map[string]string{}
			for _, rule := range rulesOf(g, objects) {
				expressions[rule.Alert] = rule.Expr
				g.Expect(rule.Labels).To(And(HaveKeyWithValue("namespace", r.namespace), HaveKeyWithValue("release", r.name)),
					rule.Alert)
			}
			for alert, found := range selectorsOf(t, expressions) {
				for _, s := range found {
					switch strings.Join(needs(s), "") {
					case "stepgate":
						g.Expect(s.matches("namespace", r.namespace) && s.matches("release", r.name)).To(BeTrue(), "%s: %v", alert, s)
					case "kube-state-metrics":
						g.Expect(objects["Deployment"].GetName()).To(Equal(r.fullname))
						g.Expect(s.matches("namespace", r.namespace) &&
							s.matches("deployment", r.fullname)).To(BeTrue(), "%s: %v", alert, s)
					case "Argo CD":
						g.Expect(s.matches("namespace", "argocd")).To(BeTrue(), "%s: %v", alert, s)
					case "API server": // It does not tell releases apart.
						g.Expect(s.matches("name", "operation.stepgate.io")).To(BeTrue(), "%s: %v", alert, s)
					default:
						t.Errorf("%s: nobody knows whose metric %s is", alert, s.Metric)
					}
				}
			}
		})
	}
}

// A ServiceMonitor selects the Service of its release only.
func TestServiceMonitorsSelectTheirOwnService(t *testing.T) {
	g := NewWithT(t)
	for _, r := range alike {
		matching, _, err := unstructured.NestedStringMap(monitoring(t, r.name, r.namespace,
			"fullnameOverride="+r.fullname)["ServiceMonitor"].Object, "spec", "selector", "matchLabels")
		g.Expect(err).NotTo(HaveOccurred())
		var selected []string
		for _, other := range alike {
			if other.namespace != r.namespace {
				continue
			}
			text, err := helm.Run(t.Context(), "template", other.name, helm.Chart, "--namespace="+other.namespace,
				"--set=fullnameOverride="+other.fullname)
			g.Expect(err).NotTo(HaveOccurred())
			for _, o := range decode(g, text) {
				if o.GetKind() == "Service" && labels.SelectorFromSet(matching).Matches(labels.Set(o.GetLabels())) {
					selected = append(selected, o.GetName())
				}
			}
		}
		g.Expect(selected).To(ConsistOf(r.fullname + "-metrics"))
	}
}

// Every panel selects by the variables namespace and release, unless it shows metrics of the API server.
func TestDashboardSelectsByRelease(t *testing.T) {
	g := NewWithT(t)
	for where, found := range selectorsOf(t, expressionsOf(g, monitoring(t, "stepgate", "stepgate"))) {
		for _, s := range found {
			if !strings.HasPrefix(where, "panel ") || slices.Contains(needs(s), "API server") {
				continue
			}
			for _, name := range []string{"namespace", "release"} {
				g.Expect(s.Matchers).To(ContainElement(struct{ Name, Type, Value string }{name, "=~", "$" + name}), where)
			}
		}
	}
}

// apiServerAlerts and argocdAlerts leave out the alerts that need metrics of these programs, and no other.
func TestAlertsThatAreOff(t *testing.T) {
	g := NewWithT(t)
	all := needsOfAlerts(t)
	for value, program := range map[string]string{"apiServerAlerts": "API server", "argocdAlerts": "Argo CD"} {
		want := maps.Clone(all)
		maps.DeleteFunc(want, func(_ string, names []string) bool { return slices.Contains(names, program) })
		g.Expect(len(want)).To(BeNumerically("<", len(all)))
		g.Expect(needsOfAlerts(t, "metrics.prometheusRule."+value+"=false")).To(Equal(want))
	}
}

// needsOfAlerts are the programs that each alert needs metrics of.
func needsOfAlerts(t *testing.T, values ...string) map[string][]string {
	t.Helper()
	expressions, all := map[string]string{}, map[string][]string{}
	for _, r := range rulesOf(NewWithT(t), monitoring(t, "stepgate", "stepgate", values...)) {
		expressions[r.Alert] = r.Expr
	}
	for alert, found := range selectorsOf(t, expressions) {
		all[alert] = needs(found...)
	}
	return all
}

// Every alert says how bad it is, what it means and where the runbook helps. The runbook has a section about every
// alert and no other, and says whose metrics the alert needs.
func TestEveryAlertHasARunbook(t *testing.T) {
	g := NewWithT(t)
	text, err := os.ReadFile(filepath.Join(shared.Root, "docs", "runbook.md"))
	g.Expect(err).NotTo(HaveOccurred())
	var sections, alerts []string
	for _, match := range regexp.MustCompile(`(?m)^## (\w+)$`).FindAllStringSubmatch(string(text), -1) {
		sections = append(sections, match[1])
	}
	for _, r := range rulesOf(g, monitoring(t, "stepgate", "stepgate")) {
		alerts = append(alerts, r.Alert)
		g.Expect(r.Annotations).To(And(HaveKeyWithValue("summary", Not(BeEmpty())),
			HaveKeyWithValue("description", Not(BeEmpty()))), r.Alert)
		g.Expect(r.Annotations).To(HaveKeyWithValue("runbook_url",
			"https://github.com/stepgate/stepgate/blob/main/docs/runbook.md#"+strings.ToLower(r.Alert)))
		g.Expect([]string{"info", "warning", "critical"}).To(ContainElement(r.Labels["severity"]), r.Alert)
	}
	g.Expect(sections).To(ConsistOf(alerts))
	for alert, names := range needsOfAlerts(t) {
		row := fmt.Sprintf("| [%s](#%s) | %s |", alert, strings.ToLower(alert), strings.Join(names, ", "))
		g.Expect(strings.Split(string(text), "\n")).To(ContainElement(row), "the table of the runbook")
	}
}
