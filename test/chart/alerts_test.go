// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// alike are releases that are hard to tell apart: two with the same name, and two in the same namespace.
var alike = []struct{ name, namespace, fullname string }{
	{"stepgate", "team-a", "stepgate"},
	{"stepgate", "team-b", "gate-b"},
	{"stepgate-c", "team-a", "stepgate-c"},
}

// firstScrape is when the series of test/tools/promql begin.
var firstScrape = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// healthy are the series, by minutes, while all is well. $R stands for the labels that Prometheus gives to the series
// of a release.
func healthy(minutes int) map[string]string {
	all := map[string]string{
		`apiserver_admission_webhook_request_total{name="operation.stepgate.io"}`: fmt.Sprintf("10+3x%d", minutes),
		`argocd_app_sync_total{namespace="argocd",name="guestbook"}`:              fmt.Sprintf("10+3x%d", minutes),
	}
	for _, r := range alike {
		for series, values := range map[string]string{
			`stepgate_build_info{$R}`:          "1x",
			`stepgate_reporter_build_info{$R}`: "1x",
			`stepgate_ca_bundle_in_sync{$R}`:   "1x",
			`stepgate_certificate_expiration_timestamp_seconds{$R,certificate="serving"}`:              expiry(5),
			`stepgate_certificate_expiration_timestamp_seconds{$R,certificate="ca"}`:                   expiry(300),
			`stepgate_requests_total{$R,path="/validate",code="200"}`:                                  "10+1x",
			`stepgate_decisions_total{$R,outcome="deny",reason="NotPinned"}`:                           "0x",
			`stepgate_decisions_total{$R,outcome="notgated",reason="Bypassed"}`:                        "0x",
			`kube_deployment_status_replicas_available{namespace="$NAMESPACE",deployment="$FULLNAME"}`: "2x",
		} {
			all[strings.NewReplacer("$R", labelsOf(r.name, r.namespace), "$NAMESPACE", r.namespace, "$FULLNAME",
				r.fullname).Replace(series)] = values + fmt.Sprint(minutes)
		}
	}
	return all
}

func labelsOf(name, namespace string) string {
	return fmt.Sprintf(`namespace="%s",release="%s",job="%s",pod="pod",instance="10.0.0.1:8080"`, namespace, name, name)
}

// expiry is a constant value, some days after the first scrape.
func expiry(days int) string { return fmt.Sprintf("%dx", firstScrape.AddDate(0, 0, days).Unix()) }

// Each alert fires when it should, in the release that it is about, and no other alert fires with it. In wanted texts,
// a is team-a/stepgate. $R stands for its labels, and a series without values does not exist.
func TestAlertsFire(t *testing.T) {
	g := NewWithT(t)
	var rules []rule
	for _, r := range alike {
		rules = append(rules, rulesOf(g, monitoring(t, r.name, r.namespace, "fullnameOverride="+r.fullname))...)
	}
	validate := `stepgate_requests_total{$R,path="/validate",code="200"}`
	bypassed := `stepgate_decisions_total{$R,outcome="notgated",reason="Bypassed"}`
	replicas := `kube_deployment_status_replicas_available{namespace="team-a",deployment="stepgate"}`
	failedOpen, rejected := `apiserver_admission_webhook_fail_open_count{name="%s.stepgate.io"}`,
		`apiserver_admission_webhook_rejection_count{name="operation.stepgate.io",error_type="%s"}`
	all := map[string]bool{}
	for name, tc := range map[string]struct {
		series  map[string]string
		minutes int
		want    []string
	}{
		"all is well":                                            {nil, 60, nil},
		"a replica starts":                                       {map[string]string{`stepgate_decisions_total{$R,node="new",outcome="notgated",reason="Bypassed"}`: "_x55 0x5"}, 60, nil},
		"nothing is scraped":                                     {map[string]string{`stepgate_build_info{$R}`: "1x40"}, 60, []string{"StepgateDown a"}},
		"no reporter is scraped":                                 {map[string]string{`stepgate_reporter_build_info{$R}`: "1x40"}, 60, []string{"StepgateReporterDown a"}},
		"nothing has been scraped for 5 minutes":                 {map[string]string{`stepgate_build_info{$R}`: "1x54"}, 60, nil},
		"the label release is missing":                           {map[string]string{`stepgate_build_info{$R}`: "", `stepgate_build_info{namespace="team-a"}`: "1x60"}, 60, []string{"StepgateDown a"}},
		"no replica is ready":                                    {map[string]string{replicas: "2x50 0x9"}, 60, []string{"StepgateNotReady a"}},
		"no replica has been ready for 3 minutes":                {map[string]string{replicas: "2x56 0x3"}, 60, nil},
		"no replica is ready again, for 3 minutes":               {map[string]string{replicas: "2x30 0x20 1x4 0x3"}, 60, nil},
		"one replica is ready":                                   {map[string]string{replicas: "1x60"}, 60, nil},
		"errors":                                                 {map[string]string{`stepgate_requests_total{$R,path="/mutate",code="500"}`: "_x30 1+1x29"}, 60, []string{"StepgateErrors a"}},
		"an error 5 minutes ago":                                 {map[string]string{`stepgate_requests_total{$R,path="/validate",code="503"}`: "0x54 1x5"}, 60, nil},
		"an error half an hour ago":                              {map[string]string{`stepgate_requests_total{$R,path="/validate",code="503"}`: "0x30 1x29"}, 60, nil},
		"requests that cannot be read":                           {map[string]string{`stepgate_requests_total{$R,path="/validate",code="400"}`: "0+1x60"}, 60, nil},
		"the certificate expires in 20 hours":                    {map[string]string{`stepgate_certificate_expiration_timestamp_seconds{$R,certificate="serving"}`: fmt.Sprintf("%dx60", firstScrape.Add(20*time.Hour).Unix())}, 60, []string{"StepgateCertificateExpiring a"}},
		"the certificate has had less than a day for 10 minutes": {map[string]string{`stepgate_certificate_expiration_timestamp_seconds{$R,certificate="serving"}`: fmt.Sprintf("%dx60", firstScrape.Add(24*time.Hour+50*time.Minute).Unix())}, 60, nil},
		"the CA expires in 20 days":                              {map[string]string{`stepgate_certificate_expiration_timestamp_seconds{$R,certificate="ca"}`: expiry(20) + "60"}, 60, []string{"StepgateCertificateExpiring a"}},
		"the bundle is out of sync":                              {map[string]string{`stepgate_ca_bundle_in_sync{$R}`: "1x50 0x9"}, 60, []string{"StepgateBundleOutOfSync a"}},
		"the bundle has been out of sync for 3 minutes":          {map[string]string{`stepgate_ca_bundle_in_sync{$R}`: "1x56 0x3"}, 60, nil},
		"syncs are not pinned":                                   {map[string]string{`stepgate_decisions_total{$R,outcome="deny",reason="NotPinned"}`: "0x30 1+1x29"}, 60, []string{"StepgateNotPinned a"}},
		"one sync is not pinned":                                 {map[string]string{`stepgate_decisions_total{$R,outcome="deny",reason="NotPinned"}`: "0x56 1x3"}, 60, nil},
		"an ApplicationSet is blocked for an hour":               {map[string]string{`stepgate_applicationset_blocked_since_timestamp_seconds{$R}`: expiry(0) + "60"}, 60, []string{"StepgateApplicationSetBlocked a"}},
		"an ApplicationSet is blocked for 20 minutes":            {map[string]string{`stepgate_applicationset_blocked_since_timestamp_seconds{$R}`: expiry(0) + "20"}, 20, nil},
		"a bypass":                                    {map[string]string{bypassed: "0x50 1x9"}, 60, []string{"StepgateBypassUsed a"}},
		"a bypass, the first event of its kind":       {map[string]string{bypassed: "_x50 1x9"}, 60, []string{"StepgateBypassUsed a"}},
		"a bypass half an hour ago":                   {map[string]string{bypassed: "0x30 1x29"}, 60, nil},
		"an ignored namespace":                        {map[string]string{`stepgate_exemption{$R,kind="ignored_namespace",applicationset_namespace="argocd"}`: "1x60"}, 60, []string{"StepgateExempt a"}},
		"a namespace has been ignored for 50 minutes": {map[string]string{`stepgate_exemption{$R,kind="ignored_namespace",applicationset_namespace="argocd"}`: "_x10 1x49"}, 60, nil},
		"a namespace of another release":              {map[string]string{`stepgate_exemption{$R,kind="ungated_namespace",applicationset_namespace="team-x"}`: "1x60"}, 60, nil},
		// The API server does not say which release it could not call.
		"a call fails open":                           {map[string]string{fmt.Sprintf(failedOpen, "operation"): "_x50 1x9"}, 60, []string{"StepgateFailingOpen a", "StepgateFailingOpen b", "StepgateFailingOpen c"}},
		"a call of the mutating webhook fails":        {map[string]string{fmt.Sprintf(failedOpen, "hold"): "0+1x60"}, 60, nil},
		"calls fail":                                  {map[string]string{fmt.Sprintf(rejected, "calling_webhook_error"): "_x30 1+1x29"}, 60, []string{"StepgateCallsFailing a", "StepgateCallsFailing b", "StepgateCallsFailing c"}},
		"a call has failed 3 minutes ago":             {map[string]string{fmt.Sprintf(rejected, "calling_webhook_error"): "_x57 1x2"}, 60, nil},
		"denials":                                     {map[string]string{fmt.Sprintf(rejected, "no_error"): "0+1x60"}, 60, nil},
		"no metrics of the API server":                {map[string]string{`apiserver_admission_webhook_request_total{name="operation.stepgate.io"}`: "", validate: "10x130"}, 130, []string{"StepgateAPIServerMetricsMissing b", "StepgateAPIServerMetricsMissing c"}},
		"no metrics of the API server for 50 minutes": {map[string]string{`apiserver_admission_webhook_request_total{name="operation.stepgate.io"}`: ""}, 50, nil},
		"Argo CD syncs without calls":                 {map[string]string{validate: "10x450"}, 450, []string{"StepgateNotCalled a"}},
		"Argo CD syncs without calls, at first":       {map[string]string{validate: ""}, 300, nil},
		"Argo CD syncs, and there never was a call":   {map[string]string{validate: ""}, 450, []string{"StepgateNotCalled a"}},
		"Argo CD syncs, and there is one call":        {map[string]string{validate: "_x400 1x49"}, 450, nil},
		"a ConfigMap of the ledger cannot be read":    {map[string]string{`stepgate_ledger_problems{$R,problem="unreadable"}`: "0x30 1x30"}, 60, []string{"StepgateLedgerUnreadable a"}},
		"it could not, 10 minutes ago":                {map[string]string{`stepgate_ledger_problems{$R,problem="unreadable"}`: "0x40 1x10 0x10"}, 60, nil},
		"a part of the ledger is lost":                {map[string]string{`stepgate_ledger_problems{$R,problem="lost"}`: "1x60"}, 60, nil},
		"no calls, and Argo CD has synced nothing":    {map[string]string{validate: "10x450", `argocd_app_sync_total{namespace="argocd",name="guestbook"}`: "10x450"}, 450, nil},
	} {
		for _, alert := range tc.want {
			all[strings.Fields(alert)[0]] = true
		}
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(fire(t, rules, tc.series, tc.minutes)).To(ConsistOf(tc.want))
		})
	}
	for _, r := range rules {
		g.Expect(all).To(HaveKey(r.Alert), "no row makes it fire")
	}
}

// fire gives the alerts that fire when the series of the first release differ from the healthy ones, each with its
// release: a, b or c.
func fire(t *testing.T, rules []rule, different map[string]string, minutes int) []string {
	t.Helper()
	g := NewWithT(t)
	series := healthy(minutes)
	for name, values := range different {
		series[strings.ReplaceAll(name, "$R", labelsOf(alike[0].name, alike[0].namespace))] = values
	}
	s := situation{Rules: rules, Minutes: minutes}
	for _, name := range slices.Sorted(maps.Keys(series)) {
		if series[name] != "" {
			s.Series = append(s.Series, name+" "+series[name])
		}
	}
	var names []string
	for _, f := range firings(t, s) {
		i := slices.IndexFunc(alike, func(r struct{ name, namespace, fullname string }) bool {
			return f.Labels["release"] == r.name && f.Labels["namespace"] == r.namespace
		})
		g.Expect(i).To(BeNumerically(">=", 0), "%s has the labels %v", f.Alert, f.Labels)
		for name, text := range f.Annotations {
			g.Expect(text).NotTo(Or(ContainSubstring("  "), ContainSubstring("<"), ContainSubstring("$")), "%s: %s", f.Alert,
				name)
		}
		names = append(names, f.Alert+" "+string("abc"[i]))
	}
	return names
}
