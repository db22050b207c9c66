package chart

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/stepgate/stepgate/test/release"
)

// alert is one alert of files/alerts.yaml.
type alert struct {
	Alert, Expr         string
	Labels, Annotations map[string]string
}

func alerts(g *WithT) []alert {
	text, err := os.ReadFile(filepath.Join(helm.Chart, "files", "alerts.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	var all []alert
	g.Expect(yaml.Unmarshal(text, &all)).To(Succeed())
	return all
}

// expressions are the expressions of the alerts and of the dashboard, by their place.
func expressions(g *WithT) map[string]string {
	all := map[string]string{}
	for _, a := range alerts(g) {
		all["alert "+a.Alert] = a.Expr
	}
	text, err := os.ReadFile(filepath.Join(helm.Chart, "files", "dashboard.json"))
	g.Expect(err).NotTo(HaveOccurred())
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr, RefID string }
		}
	}
	g.Expect(json.Unmarshal(text, &dashboard)).To(Succeed())
	for _, p := range dashboard.Panels {
		g.Expect(p.Targets).NotTo(BeEmpty(), p.Title)
		for _, target := range p.Targets {
			all["panel "+p.Title+" "+target.RefID] = target.Expr
		}
	}
	return all
}

var (
	metricName = regexp.MustCompile(`\b(stepgate|apiserver|process|go)_[a-z0-9_]+`)
	quoted     = regexp.MustCompile(`"[^"]*"`)
	labelValue = regexp.MustCompile(`(\w+)=~?"([^"$]*)"`)
)

// Every metric that an alert or a panel names is one that a real stepgate, or a real API server that has called it, has;
// and so is every label value that they select by.
func TestAlertsAndDashboardNameRealMetrics(t *testing.T) {
	g := NewWithT(t)
	text := observedMetrics(t)
	names := map[string]bool{}
	for where, expression := range expressions(g) {
		for _, name := range metricName.FindAllString(quoted.ReplaceAllString(expression, ""), -1) {
			names[name] = true
			g.Expect(regexp.MatchString(`(?m)^`+name+`[ {]`, text)).To(BeTrue(), "%s: there is no metric %s", where, name)
		}
		for _, match := range labelValue.FindAllStringSubmatch(expression, -1) {
			if match[1] == "job" {
				continue // given by Prometheus
			}
			for _, value := range strings.Split(match[2], "|") {
				if value == "apiserver_internal_error" {
					continue // a failure inside of the API server, which cannot be provoked
				}
				g.Expect(strings.Contains(text, match[1]+`="`+value+`"`)).To(BeTrue(), "%s: there is no label %s=%q", where, match[1], value)
			}
		}
	}
	g.Expect(len(names)).To(BeNumerically(">", 15), "the expressions were found")
}

// observedMetrics are the metrics of stepgate and of the API server after a denial, one of a sync that was not pinned, a
// bypass, a call that failed under either policy, a read that failed and an annotation that cannot be read.
func observedMetrics(t *testing.T) string {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	set := rollout(t, "observed")
	replica := serve(t, release.Chart{Name: "stepgate", Namespace: "observed", Values: []string{"argocd.namespaces={observed}"}})
	denied(t, set)
	g.Expect(sync(t, set, "prod")).NotTo(Succeed())
	mutating, err := release.Mutating(ctx, shared, "stepgate")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(mutating.Delete(ctx, shared)).To(Succeed())
	g.Eventually(func() error { return sync(t, set, "prod") }).Should(MatchError(ContainSubstring("NotPinned")))
	g.Expect(mutating.Create(ctx, shared)).To(Succeed())
	denied(t, set)
	annotate := func(key, value string) {
		g.Expect(shared.Admin.Get(ctx, client.ObjectKeyFromObject(set), set)).To(Succeed())
		set.Annotations = map[string]string{key: value}
		g.Expect(shared.Admin.Update(ctx, set)).To(Succeed())
	}
	annotate("stepgate.io/mode", "none")
	g.Expect(sync(t, set, "prod")).NotTo(Succeed())
	g.Eventually(func() (float64, error) { return replica.Metric(ctx, "stepgate_events_total", "result", "sent") }).Should(BeNumerically(">", 0))
	since, err := replica.Metric(ctx, "stepgate_applicationset_blocked_since_timestamp_seconds")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(since).To(BeNumerically(">", 1e9))
	bypass(t, set)
	g.Expect(sync(t, set, "qa")).To(Succeed())
	var bypassed string
	g.Eventually(func() (string, error) {
		bypassed, err = replica.MetricsText(ctx)
		return bypassed, err
	}).Should(ContainSubstring(`stepgate_exemption{applicationset="guestbook",applicationset_namespace="observed",kind="bypass"} 1`))
	// A read that fails: the roles are gone.
	annotate("stepgate.io/mode", "enforce")
	_, err = helm.Run(ctx, "upgrade", "stepgate", helm.Chart, "--namespace=observed", "--reuse-values", "--set=rbac.create=false")
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(func() (float64, error) {
		_ = sync(t, set, "prod")
		return replica.Metric(ctx, "stepgate_decisions_total", "outcome", "error")
	}).Should(BeNumerically(">", 0))
	own, err := replica.MetricsText(ctx)
	g.Expect(err).NotTo(HaveOccurred())
	replica.Kill()
	g.Expect(sync(t, set, "prod")).NotTo(Succeed(), "failurePolicy Fail")
	_, err = helm.Run(ctx, "upgrade", "stepgate", helm.Chart, "--namespace=observed", "--reuse-values", "--set=webhook.failurePolicy=Ignore")
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
	set.Annotations = map[string]string{"stepgate.io/bypass-until": time.Now().Add(time.Hour).UTC().Format(time.RFC3339), "stepgate.io/bypass-reason": "INC-1"}
	g.Expect(shared.Admin.Update(t.Context(), set)).To(Succeed())
}

// Every alert has a section in the runbook, and every section an alert.
func TestEveryAlertHasARunbook(t *testing.T) {
	g := NewWithT(t)
	text, err := os.ReadFile(filepath.Join(shared.Root, "docs", "runbook.md"))
	g.Expect(err).NotTo(HaveOccurred())
	sections := map[string]bool{}
	for _, match := range regexp.MustCompile(`(?m)^## (\w+)$`).FindAllStringSubmatch(string(text), -1) {
		sections[match[1]] = true
	}
	for _, a := range alerts(g) {
		g.Expect(sections).To(HaveKey(a.Alert))
		delete(sections, a.Alert)
		g.Expect(a.Annotations).To(HaveKeyWithValue("runbook_url", HaveSuffix("/docs/runbook.md#"+strings.ToLower(a.Alert))))
		g.Expect(a.Annotations).To(HaveKey("summary"))
		g.Expect(a.Annotations).To(HaveKey("description"))
		g.Expect([]string{"info", "warning", "critical"}).To(ContainElement(a.Labels["severity"]))
	}
	g.Expect(slices.Collect(maps.Keys(sections))).To(BeEmpty())
}
