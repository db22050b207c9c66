// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/stepgate/stepgate/test/scenario"
	"github.com/stepgate/stepgate/webhook/record"
	"github.com/stepgate/stepgate/webhook/settings"
)

// scoped is a Scope. It gates all that it is asked about, or nothing.
type scoped struct {
	ignored, ungated []string
	elsewhere        bool
	err              error
}

func (s scoped) Gated(string) bool                         { return !s.elsewhere }
func (s scoped) Ignored(context.Context) ([]string, error) { return s.ignored, s.err }
func (s scoped) Ungated(context.Context) ([]string, error) { return s.ungated, s.err }

// exemptions are the samples of the metric.
func exemptions(t *testing.T, config settings.Config, c *scenario.Cluster, namespaces record.Scope) string {
	t.Helper()
	g := NewWithT(t)
	registry := prometheus.NewRegistry()
	registry.MustRegister(record.NewExemptions(settings.NewParser(config, scenario.AtNoon), scenario.Watched{Cluster: c},
		namespaces, logr.Discard()))
	problems, err := testutil.GatherAndLint(registry)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(problems).To(BeEmpty())
	families, err := registry.Gather()
	g.Expect(err).NotTo(HaveOccurred())
	var samples []string
	for _, family := range families {
		if family.GetName() != "stepgate_exemption" {
			continue
		}
		for _, m := range family.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetValue())
			}
			samples = append(samples, strings.TrimSpace(strings.Join(labels, " ")))
		}
	}
	slices.Sort(samples)
	return strings.Join(samples, ", ")
}

func TestExemptions(t *testing.T) {
	later, passed := scenario.Noon.Add(time.Hour).Format(time.RFC3339), scenario.Noon.Add(-time.Hour).Format(time.RFC3339)
	for name, tc := range map[string]struct {
		annotations map[string]string
		config      func(*settings.Config)
		want        string
	}{
		"nothing":         {},
		"off":             {annotations: map[string]string{settings.ModeAnnotation: "off"}, want: "guestbook argocd off"},
		"audit":           {annotations: map[string]string{settings.ModeAnnotation: "audit"}, want: "guestbook argocd audit"},
		"audit, as usual": {annotations: map[string]string{settings.ModeAnnotation: "audit"}, config: func(c *settings.Config) { c.Mode = settings.Audit }},
		"a bypass":        {annotations: map[string]string{settings.BypassAnnotation: later + " INC-1"}, want: "guestbook argocd bypass"},
		"a bypass, ended": {annotations: map[string]string{settings.BypassAnnotation: passed + " INC-1"}},
		"an exclusion":    {annotations: map[string]string{settings.ExcludeAnnotation: "dev " + later + " INC-1"}, want: "guestbook argocd exclusion"},
		"not allowed":     {annotations: map[string]string{settings.ModeAnnotation: "off"}, config: func(c *settings.Config) { c.IgnoredAnnotations = settings.Annotations() }},
	} {
		t.Run(name, func(t *testing.T) {
			c, config := scenario.Of("1:dev=Healthy@b 2:qa=Healthy@b 3:prod=Healthy@b"), scenario.Config()
			c.Sets[0].Annotations = tc.annotations
			if tc.config != nil {
				tc.config(&config)
			}
			NewWithT(t).Expect(exemptions(t, config, c, scoped{})).To(Equal(tc.want))
			NewWithT(t).Expect(exemptions(t, config, c, scoped{elsewhere: true})).To(BeEmpty(), "it is not gated")
		})
	}
}

func TestExemptionsOfNamespaces(t *testing.T) {
	g := NewWithT(t)
	c := scenario.Of("1:dev=Healthy@b")
	g.Expect(exemptions(t, scenario.Config(), c, scoped{
		ignored: []string{"team-a"}, ungated: []string{"team-b"},
	})).To(Equal("team-a ignored_namespace, team-b ungated_namespace"))
	g.Expect(exemptions(t, scenario.Config(), c, scoped{err: errors.New("forbidden")})).To(BeEmpty())
}

// TestExemptionsStayWhileTheyCannotBeListed has the API server fail after it has answered.
func TestExemptionsStayWhileTheyCannotBeListed(t *testing.T) {
	g := NewWithT(t)
	namespaces := &scoped{ignored: []string{"team-a"}, ungated: []string{"team-b"}}
	var log []string
	registry := prometheus.NewRegistry()
	registry.MustRegister(record.NewExemptions(settings.NewParser(scenario.Config(), scenario.AtNoon),
		scenario.Watched{Cluster: scenario.Of("1:dev=Healthy@b")}, namespaces,
		funcr.New(func(_, args string) { log = append(log, args) }, funcr.Options{})))
	g.Expect(testutil.GatherAndCount(registry, "stepgate_exemption")).To(Equal(2))
	*namespaces = scoped{err: errors.New("the API server does not answer")}
	g.Expect(testutil.GatherAndCount(registry, "stepgate_exemption")).To(Equal(2))
	g.Expect(log).To(HaveLen(2))
	*namespaces = scoped{}
	g.Expect(testutil.GatherAndCount(registry, "stepgate_exemption")).To(BeZero())
}

// TestExemptionsWithoutProgressiveSyncs counts an ApplicationSet whose controller records nothing. By waves, it need not.
func TestExemptionsWithoutProgressiveSyncs(t *testing.T) {
	for recorded, want := range map[string]string{"": "1", "dev": "0", "waves": "0"} {
		c := scenario.Of("1:dev=Healthy@b 2:prod=Healthy@b")
		c.Sets[0].Status.ApplicationStatus = nil
		if recorded == "waves" {
			c = scenario.Waves("1:dev=Healthy@b 2:prod=Healthy@b")
		} else if recorded != "" {
			c.Sets[0].Status.ApplicationStatus = []argo.ApplicationSetApplicationStatus{{Application: recorded, Step: "1"}}
		}
		registry := prometheus.NewRegistry()
		registry.MustRegister(record.NewExemptions(settings.NewParser(scenario.Config(), scenario.AtNoon),
			scenario.Watched{Cluster: c}, scoped{}, logr.Discard()))
		NewWithT(t).Expect(testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP stepgate_applicationsets_without_progressive_syncs ApplicationSets with RollingSync whose controller records no step of any Application: it may run without progressive syncs.
# TYPE stepgate_applicationsets_without_progressive_syncs gauge
stepgate_applicationsets_without_progressive_syncs `+want+`
`), "stepgate_applicationsets_without_progressive_syncs")).To(Succeed(), recorded)
	}
}
