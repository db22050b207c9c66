// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/cmd/audit"
)

// whereItsGateIs are the reads that find the stepgate whose ledger an audit reads: here there is none.
var whereItsGateIs = []string{
	"/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", "/api/v1/namespaces", "/apis/apps/v1/deployments",
}

func TestAudit(t *testing.T) {
	for name, tc := range map[string]struct {
		args     string
		code     int
		contains string // of standard output, or of the error for code 2
		lists    []string
	}{
		"something was found": {
			args: "audit", code: 1, contains: "guestbook-prod (step 2) started 50s before guestbook-dev (step 1) had finished",
			lists: append([]string{"/namespaces/argocd/applicationsets", "/namespaces/argocd/applications", "/namespaces/argocd/applications"}, whereItsGateIs...),
		},
		"an empty namespace": {args: "audit -n empty", code: 2, contains: "nothing was looked at: there is no ApplicationSet in namespace empty; did you mean -n argocd, or -A for all?"},
		"an empty namespace that may be": {
			args: "audit -n empty --allow-empty", contains: "There is no ApplicationSet here", lists: []string{"/namespaces/empty/applicationsets"},
		},
		"all namespaces": {
			args: "audit -A guestbook -o wide", code: 1, contains: "What the records cannot show", lists: append([]string{"/applicationsets", "/applications", "/applications"}, whereItsGateIs...),
		},
		"too long ago":             {args: "audit --since 1d12h", code: 2, contains: "nothing was looked at: there is no rollout on record in namespace argocd"},
		"too long ago, and it may": {args: "audit --since 1d12h --allow-empty", contains: "There is no rollout to look at."},
		"a page":                   {args: "audit -o html", code: 1, contains: "<!DOCTYPE html>"},
		"YAML":                     {args: "audit -o yaml", code: 1, contains: "kind: Audit\n"},
		"no such set":              {args: "audit guestbok payments", code: 2, contains: `no ApplicationSet "guestbok, payments" in namespace argocd`},
		"no such set there":        {args: "audit x -A", code: 2, contains: `no ApplicationSet "x" in any namespace`},
		"not a duration":           {args: "audit --since 7", code: 2, contains: `--since: "7" is not a duration such as 2w, 7d, 24h or 90m`},
		"not a format":             {args: "audit -o xml", code: 2, contains: `--output: "xml" is not one of json, yaml, html, wide`},
		"no right to read":         {args: "audit -n secret", code: 2, contains: "ask for the right to get and list applications and applicationsets"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			api := &argoAPI{}
			t.Setenv("KUBECONFIG", api.start(t))
			var stdout, stderr bytes.Buffer
			g.Expect(cmdline.Execute(t, strings.Fields(tc.args), &stdout, &stderr)).To(Equal(tc.code), stderr.String())
			text := stdout.String()
			if tc.code == 2 {
				text = stderr.String()
			}
			g.Expect(text).To(ContainSubstring(tc.contains))
			if tc.lists != nil {
				g.Expect(api.lists).To(Equal(tc.lists))
			}
		})
	}
}

// Scripts read the JSON. It says where and when it was made.
func TestAuditJSON(t *testing.T) {
	g := NewWithT(t)
	t.Setenv("KUBECONFIG", (&argoAPI{}).start(t))
	var stdout, stderr bytes.Buffer
	g.Expect(cmdline.Execute(t, []string{"audit", "-o", "json"}, &stdout, &stderr)).To(Equal(1), stderr.String())
	var report audit.Report
	g.Expect(json.Unmarshal(stdout.Bytes(), &report)).To(Succeed())
	g.Expect(report.APIVersion).To(Equal("cli.stepgate.io/v1alpha1"))
	g.Expect(report.Context).To(Equal("test-cluster"))
	g.Expect(report.Totals).To(Equal(audit.Totals{Rollouts: 1, OutOfOrder: 1, LongestSeconds: 50}))
}

// argoAPI is an API server with an ApplicationSet of two Applications, each on a page of its own.
type argoAPI struct{ lists []string }

// start returns the path of a kubeconfig.
func (a *argoAPI) start(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"test-cluster",
"clusters":[{"name":"c","cluster":{"server":%q}}],"contexts":[{"name":"test-cluster","context":{"cluster":"c","namespace":"argocd"}}]}`, server.URL)
	NewWithT(t).Expect(os.WriteFile(path, []byte(text), 0o600)).To(Succeed())
	return path
}

func (a *argoAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, "/apis/argoproj.io/v1alpha1")
	a.lists = append(a.lists, path)
	w.Header().Set("Content-Type", "application/json")
	var list any
	switch {
	case strings.HasPrefix(path, "/namespaces/secret/"):
		w.WriteHeader(http.StatusForbidden)
		list = metav1.Status{
			TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Reason: metav1.StatusReasonForbidden, Code: http.StatusForbidden, Message: "forbidden",
		}
	case r.Method != http.MethodGet || r.URL.Query().Get("limit") == "":
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	case strings.HasSuffix(path, "/applicationsets"):
		list = argo.ApplicationSetList{
			TypeMeta: metav1.TypeMeta{Kind: "ApplicationSetList", APIVersion: "argoproj.io/v1alpha1"}, Items: twoSteps(path),
		}
	default:
		page := argo.ApplicationList{TypeMeta: metav1.TypeMeta{Kind: "ApplicationList", APIVersion: "argoproj.io/v1alpha1"}}
		if r.URL.Query().Get("continue") == "" {
			page.Continue, page.Items = "dev", []argo.Application{synced("prod", 0)}
		} else {
			page.Items = []argo.Application{synced("dev", 40)}
		}
		list = page
	}
	_ = json.NewEncoder(w).Encode(list)
}

func twoSteps(path string) []argo.ApplicationSet {
	if strings.Contains(path, "/empty/") {
		return nil
	}
	set := argo.ApplicationSet{ObjectMeta: metav1.ObjectMeta{Namespace: "argocd", Name: "guestbook", UID: "guestbook"}}
	set.Spec.Strategy = &argo.ApplicationSetStrategy{
		Type: "RollingSync", RollingSync: &argo.ApplicationSetRolloutStrategy{},
	}
	for _, env := range []string{"dev", "prod"} {
		set.Spec.Strategy.RollingSync.Steps = append(set.Spec.Strategy.RollingSync.Steps, argo.ApplicationSetRolloutStep{
			MatchExpressions: []argo.ApplicationMatchExpression{{Key: "env", Operator: "In", Values: []string{env}}},
		})
	}
	return slices.Clip([]argo.ApplicationSet{set})
}

// synced is an Application whose only sync began so many seconds after the first and took 10.
func synced(env string, second int) argo.Application {
	yes, began := true, time.Date(2020, 3, 2, 14, 0, second, 0, time.UTC)
	started := metav1.NewTime(began)
	app := argo.Application{ObjectMeta: metav1.ObjectMeta{
		Namespace: "argocd", Name: "guestbook-" + env, Labels: map[string]string{"env": env}, CreationTimestamp: metav1.NewTime(began.Add(-time.Hour)),
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "argoproj.io/v1alpha1", Kind: "ApplicationSet", Name: "guestbook", UID: types.UID("guestbook"), Controller: &yes}},
	}}
	app.Status.History = argo.RevisionHistories{{
		Revision: strings.Repeat("a1b2c3d4", 5), DeployStartedAt: &started, DeployedAt: metav1.NewTime(began.Add(10 * time.Second)),
		Source: argo.ApplicationSource{RepoURL: "https://github.com/acme/guestbook", Path: env}, InitiatedBy: argo.OperationInitiator{Automated: true},
	}}
	return app
}
