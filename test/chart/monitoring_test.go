// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/guestbook"
	"github.com/stepgate/stepgate/test/installed"
)

// rule is one rule of the PrometheusRule.
type rule struct {
	Alert       string            `json:"alert,omitempty"`
	Record      string            `json:"record,omitempty"`
	Expr        string            `json:"expr"`
	For         string            `json:"for,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// monitoring renders the objects of a release by their kind, with everything for Prometheus and Grafana that the chart
// has.
func monitoring(t *testing.T, name, namespace string, values ...string) map[string]*unstructured.Unstructured {
	t.Helper()
	g := NewWithT(t)
	args := []string{"template", name, helm.Chart, "--namespace=" + namespace,
		"--set=metrics.serviceMonitor.renderMode=alwaysRender,metrics.serviceMonitor.enabled=true," +
			"metrics.prometheusRule.enabled=true,metrics.prometheusRule.argocdAlerts=true,metrics.grafanaDashboard.enabled=true,notifications.enabled=true"}
	for _, value := range values {
		args = append(args, "--set="+value)
	}
	text, err := helm.Run(t.Context(), args...)
	g.Expect(err).NotTo(HaveOccurred())
	objects := map[string]*unstructured.Unstructured{}
	for _, o := range decode(g, text) {
		if componentOf(o) != reporter {
			objects[o.GetKind()] = o
		}
	}
	return objects
}

// rulesOf are the rules of a release.
func rulesOf(g *WithT, objects map[string]*unstructured.Unstructured) []rule {
	var rules []rule
	groups, _, err := unstructured.NestedSlice(objects["PrometheusRule"].Object, "spec", "groups")
	g.Expect(err).NotTo(HaveOccurred())
	for _, group := range groups {
		text, err := json.Marshal(group.(map[string]any)["rules"])
		g.Expect(err).NotTo(HaveOccurred())
		var some []rule
		g.Expect(json.Unmarshal(text, &some)).To(Succeed())
		rules = append(rules, some...)
	}
	g.Expect(rules).NotTo(BeEmpty())
	return rules
}

// intervals puts durations in the place of Grafana's variables.
var intervals = strings.NewReplacer("$__rate_interval", "5m", "$__range", "1d")

// expressionsOf are the expressions of the alerts, of the dashboard's panels and of its variables, by their place.
func expressionsOf(g *WithT, objects map[string]*unstructured.Unstructured) map[string]string {
	all := map[string]string{}
	for _, r := range rulesOf(g, objects) {
		all["alert "+r.Alert] = r.Expr
	}
	text, _, err := unstructured.NestedString(objects["ConfigMap"].Object, "data", "stepgate.json")
	g.Expect(err).NotTo(HaveOccurred())
	var dashboard struct {
		Templating struct {
			List []struct {
				Name  string
				Query any
			}
		}
		Panels []struct {
			Title, Type string
			Targets     []struct{ Expr, RefID string }
		}
	}
	g.Expect(json.Unmarshal([]byte(text), &dashboard)).To(Succeed())
	for _, p := range dashboard.Panels {
		if p.Type == "row" {
			continue // a title
		}
		g.Expect(p.Targets).NotTo(BeEmpty(), p.Title)
		for _, target := range p.Targets {
			all["panel "+p.Title+" "+target.RefID] = intervals.Replace(target.Expr)
		}
	}
	for _, v := range dashboard.Templating.List {
		if query, ok := v.Query.(map[string]any); ok {
			match := regexp.MustCompile(`^label_values\((.*), (\w+)\)$`).FindStringSubmatch(query["query"].(string))
			g.Expect(match).NotTo(BeNil(), v.Name)
			g.Expect(match[2]).To(Equal(v.Name))
			all["variable "+v.Name] = match[1]
		}
	}
	return all
}

// selectorsOf are the selectors of expressions, by place.
func selectorsOf(t *testing.T, expressions map[string]string) map[string][]selector {
	t.Helper()
	places := slices.Sorted(maps.Keys(expressions))
	var texts []string
	for _, place := range places {
		texts = append(texts, expressions[place])
	}
	all := map[string][]selector{}
	for i, found := range selectors(t, texts) {
		NewWithT(t).Expect(found).NotTo(BeEmpty(), places[i])
		all[places[i]] = found
	}
	return all
}

// elsewhere are the metrics that the rollout of this test does not have, with the place that was read, or the test that
// looks for them.
var elsewhere = map[string]string{
	"kube_deployment_status_replicas_available": "kube-state-metrics, docs/metrics/workload/deployment-metrics.md (stable)",
	"stepgate_reporter_build_info":              "cmd/stepgate-reporter, whose tests look for it",
	"argocd_app_sync_total":                     "argo-cd v3.5.7, controller/metrics/metrics.go",
	"stepgate_rollout_failures_total":           "webhook/rollouts, TestMetrics: there is none before the first failure",
	"stepgate_rollout_lead_time_seconds_bucket": "webhook/rollouts, TestMetrics: there is none before a step is complete",
	"stepgate_rollout_repair_seconds_bucket":    "webhook/rollouts, TestMetrics: there is none before a failure is repaired",
}

// Prometheus can parse every expression. Every metric that an alert or a panel names is one that a real stepgate, or a
// real API server that has called it, has; and so is every label value that they select by.
func TestAlertsAndDashboardNameRealMetrics(t *testing.T) {
	g := NewWithT(t)
	all := selectorsOf(t, expressionsOf(g, monitoring(t, "stepgate", "stepgate")))
	text := observedMetrics(t)
	names := map[string]bool{}
	for where, found := range all {
		for _, s := range found {
			names[s.Metric] = true
			if elsewhere[s.Metric] != "" {
				continue
			}
			samples := strings.Join(regexp.MustCompile(`(?m)^`+s.Metric+`[ {].*$`).FindAllString(text, -1), "\n")
			g.Expect(samples).NotTo(BeEmpty(), "%s: there is no metric %s", where, s.Metric)
			for _, m := range s.Matchers {
				if m.Name == "namespace" || m.Name == "release" || strings.HasPrefix(m.Type, "!") {
					continue // Prometheus gives the first two
				}
				for _, value := range strings.Split(m.Value, "|") {
					if value == "apiserver_internal_error" {
						continue // a failure inside of the API server, which cannot be provoked
					}
					if m.Type == "=" {
						value = regexp.QuoteMeta(value)
					}
					g.Expect(samples).To(MatchRegexp(`[{,]%s="%s"`, m.Name, value), "%s: %s has no label %s=%q", where, s.Metric,
						m.Name, m.Value)
				}
			}
		}
	}
	g.Expect(len(names)).To(BeNumerically(">", 15), "the expressions were found")
	for name := range elsewhere {
		g.Expect(names).To(HaveKey(name), "it is not used")
	}
}

// observedMetrics are the metrics of stepgate and of the API server after a denial, one of a sync that was not pinned,
// a bypass, a call that failed under either policy, a read that failed and an annotation that cannot be read.
func observedMetrics(t *testing.T) string {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	set := rollout(t, "observed")
	replica := serve(t, installed.Chart{
		Name: "stepgate", Namespace: "observed", Values: []string{"argocd.applicationNamespaces={observed}"},
	})
	denied(t, set)
	g.Expect(sync(t, set, "prod")).NotTo(Succeed())
	mutating, err := installed.Mutating(ctx, shared, "stepgate")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(mutating.Delete(ctx, shared)).To(Succeed())
	g.Eventually(func() error {
		return syncBy(t, set, "prod", guestbook.RollingSync())
	}).Should(MatchError(ContainSubstring("NotPinned")))
	g.Expect(mutating.Create(ctx, shared)).To(Succeed())
	denied(t, set)
	annotate := func(key, value string) {
		g.Expect(shared.Admin.Get(ctx, client.ObjectKeyFromObject(set), set)).To(Succeed())
		set.Annotations = map[string]string{key: value}
		g.Expect(shared.Admin.Update(ctx, set)).To(Succeed())
	}
	annotate("stepgate.io/mode", "none")
	g.Expect(sync(t, set, "prod")).NotTo(Succeed())
	g.Eventually(func() (float64, error) {
		return replica.Metric(ctx, "stepgate_events_total", "result", "sent")
	}).Should(BeNumerically(">", 0))
	g.Eventually(func() (float64, error) {
		return replica.Metric(ctx, "stepgate_applicationset_blocked_since_timestamp_seconds")
	}).Should(BeNumerically(">", 1e9))
	bypass(t, set)
	g.Expect(sync(t, set, "qa")).To(Succeed())
	var bypassed string
	g.Eventually(func() (text string, err error) {
		bypassed, err = replica.MetricsText(ctx)
		return bypassed, err
	}).Should(ContainSubstring(
		`stepgate_exemption{applicationset="guestbook",applicationset_namespace="observed",kind="bypass"} 1`,
	))
	// A read that fails: the roles are gone.
	annotate("stepgate.io/mode", "enforce")
	_, err = helm.Run(ctx, "upgrade", "stepgate", helm.Chart, "--namespace=observed", "--reuse-values",
		"--set=rbac.create=false")
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(func() (float64, error) {
		_ = sync(t, set, "prod")
		return replica.Metric(ctx, "stepgate_decisions_total", "outcome", "error")
	}).Should(BeNumerically(">", 0))
	own, err := replica.MetricsText(ctx)
	g.Expect(err).NotTo(HaveOccurred())
	replica.Kill()
	g.Expect(sync(t, set, "prod")).NotTo(Succeed(), "failurePolicy Fail")
	_, err = helm.Run(ctx, "upgrade", "stepgate", helm.Chart, "--namespace=observed", "--reuse-values",
		"--set=webhook.failurePolicy=Ignore")
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(func() error { return sync(t, set, "prod") }).Should(Succeed())
	clients, err := kubernetes.NewForConfig(shared.Config)
	g.Expect(err).NotTo(HaveOccurred())
	server, err := clients.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	g.Expect(err).NotTo(HaveOccurred())
	return bypassed + own + string(server)
}

// bypass lets an ApplicationSet through for an hour.
func bypass(t *testing.T, set *argo.ApplicationSet) {
	t.Helper()
	g := NewWithT(t)
	g.Expect(shared.Admin.Get(t.Context(), client.ObjectKeyFromObject(set), set)).To(Succeed())
	set.Annotations = map[string]string{
		"stepgate.io/bypass": time.Now().Add(time.Hour).UTC().Format(time.RFC3339) + " INC-1",
	}
	g.Expect(shared.Admin.Update(t.Context(), set)).To(Succeed())
}
