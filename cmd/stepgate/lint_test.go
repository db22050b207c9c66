// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

const linted = `{"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet", "metadata": {"name": "guestbook", "namespace": "argocd", "uid": "1"}, "spec": {
  "generators": [{"clusters": {}}], "template": {"metadata": {"name": "x", "labels": {"env": "{{name}}"}}, "spec": {"project": "default", "destination": {}}},
  "strategy": {"type": "RollingSync", "rollingSync": {"steps": [
    {"matchExpressions": [{"key": "env", "operator": "In", "values": ["dev"]}]}, {"matchExpressions": [{"key": "env", "operator": "In", "values": ["prod"]}], "maxUpdate": 0}]}}},
  "status": {"applicationStatus": [{"application": "guestbook-dev", "step": "1", "status": "Healthy", "message": "", "targetRevisions": []}]}}`

const lintedApp = `{"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"name": "guestbook-dev", "namespace": "argocd", "labels": {"env": "dev"},
  "ownerReferences": [{"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet", "name": "guestbook", "uid": "1", "controller": true}]}, "spec": {}}`

// lintCommand runs stepgate lint with a kubeconfig.
func lintCommand(t *testing.T, kubeconfig, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	t.Setenv("KUBECONFIG", kubeconfig)
	t.Setenv("COLUMNS", "")
	var out, errOut bytes.Buffer
	code = run(t.Context(), append([]string{"stepgate", "lint"}, args...), genericiooptions.IOStreams{
		In: strings.NewReader(stdin), Out: &out, ErrOut: &errOut,
	})
	return code, out.String(), errOut.String()
}

func TestLintFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		name = filepath.Join(dir, name)
		NewWithT(t).Expect(os.MkdirAll(filepath.Dir(name), 0o700)).To(Succeed())
		NewWithT(t).Expect(os.WriteFile(name, []byte(text), 0o600)).To(Succeed())
		return name
	}
	broken := write("broken.yaml", "a: [")
	empty := write("empty.yaml", "# nothing\n")
	write("tree/set.yaml", linted)
	write("tree/chart/templates/set.yaml", "{{ if .Values.x }}\na: b\n{{ end }}\n")
	write("tree/values-dev.yaml", "a: [")
	tree := filepath.Join(dir, "tree")
	for name, tc := range map[string]struct {
		args   []string
		want   int
		out    string
		errOut string
	}{
		"a note does not count":                      {[]string{"-f", "-"}, 0, "manual-step", ""},
		"unless one says so":                         {[]string{"-f", "-", "--severity", "note"}, 1, "manual-step", ""},
		"the same as JSON":                           {[]string{"-f", "-", "-o", "json"}, 0, `"kind": "LintReport"`, ""},
		"the same as YAML":                           {[]string{"-f", "-", "-o", "yaml"}, 0, "rule: manual-step", ""},
		"the same as SARIF":                          {[]string{"-f", "-", "-o", "sarif"}, 0, `"ruleId": "manual-step"`, ""},
		"the same for GitHub":                        {[]string{"-f", "-", "-o", "github"}, 0, "::notice title=manual-step::", ""},
		"a file that is broken, and one that is not": {[]string{"-f", broken, "-f", "-"}, 2, "broken.yaml:1 (document 1): not valid YAML: did not find expected node content", "1 document was not read"},
		"a file that is not there":                   {[]string{"-f", "nothing.yaml"}, 2, "nothing.yaml: no such file or directory", "1 document was not read"},
		"an unknown severity":                        {[]string{"-f", "-", "--severity", "fatal"}, 2, "", `--severity: "fatal" is not one of error, warning, note`},
		"an unknown format":                          {[]string{"-f", "-", "-o", "html"}, 2, "", `--output: "html" is not one of json, yaml, sarif, github`},
		"a broken file as JSON":                      {[]string{"-f", broken, "-o", "json"}, 2, `"failures"`, "broken.yaml:1 (document 1): not valid YAML"},
		"a file and a name":                          {[]string{"-f", "-", "guestbook"}, 2, "", "-f goes neither with names of ApplicationSets nor with -A"},
		"an empty file":                              {[]string{"-f", empty}, 2, "", "nothing was looked at: the files have no ApplicationSet"},
		"an empty file, which may be":                {[]string{"-f", empty, "--allow-empty"}, 0, "0 ApplicationSets", ""},
		"a directory":                                {[]string{"-f", tree}, 2, "values-dev.yaml:1", "not read"},
		"the same without what is no manifest":       {[]string{"-f", tree, "--exclude", "chart", "--exclude", "values-*.yaml"}, 0, "manual-step", ""},
		"the same by paths":                          {[]string{"-f", tree, "--exclude", "chart/templates/*", "--exclude", "values-*"}, 0, "manual-step", ""},
		"all namespaces and a name":                  {[]string{"-A", "guestbook"}, 2, "", "-A does not go with names of ApplicationSets"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			code, out, errOut := lintCommand(t, os.DevNull, linted, tc.args...)
			g.Expect(code).To(Equal(tc.want), errOut)
			g.Expect(out).To(ContainSubstring(tc.out))
			g.Expect(errOut).To(ContainSubstring(tc.errOut))
			g.Expect(strings.Count(errOut, "\n")).To(BeNumerically("<=", 1))
		})
	}
}

func TestLintLive(t *testing.T) {
	forbidden := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		status := func(code int, reason string) {
			w.WriteHeader(code)
			_ = json.NewEncoder(w).Encode(map[string]any{
				"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": code, "message": reason,
			})
		}
		text := ""
		switch r.URL.Path {
		case "/apis/argoproj.io/v1alpha1/namespaces/argocd/applicationsets", "/apis/argoproj.io/v1alpha1/applicationsets":
			text = `{"kind": "ApplicationSetList", "apiVersion": "argoproj.io/v1alpha1", "metadata": {}, "items": [` + linted +
				`]}`
		case "/apis/argoproj.io/v1alpha1/namespaces/default/applicationsets":
			text = `{"kind": "ApplicationSetList", "apiVersion": "argoproj.io/v1alpha1", "metadata": {}, "items": []}`
		case "/apis/argoproj.io/v1alpha1/namespaces/default/applications":
			text = `{"kind": "ApplicationList", "apiVersion": "argoproj.io/v1alpha1", "metadata": {}, "items": []}`
		case "/apis/argoproj.io/v1alpha1/namespaces/argocd/applicationsets/guestbook":
			text = linted
		case "/apis/argoproj.io/v1alpha1/namespaces/argocd/applications", "/apis/argoproj.io/v1alpha1/applications":
			if forbidden {
				status(http.StatusForbidden, "Forbidden")
				return
			}
			text = `{"kind": "ApplicationList", "apiVersion": "argoproj.io/v1alpha1", "metadata": {}, "items": [` + lintedApp +
				`]}`
		default:
			status(http.StatusNotFound, "NotFound")
			return
		}
		_, _ = w.Write([]byte(text))
	}))
	defer server.Close()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	NewWithT(t).Expect(os.WriteFile(kubeconfig,
		[]byte(`{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: a, namespace: argocd}}], clusters: [{name: a, cluster: {server: "`+server.URL+`"}}]}`), 0o600)).To(Succeed())

	for name, tc := range map[string]struct {
		args      []string
		forbidden bool
		want      int
		out       string
		errOut    string
	}{
		"the namespace of the context":  {nil, false, 1, "Step 2 has no Application: it selects none of the 1 that exist.", ""},
		"a name":                        {[]string{"guestbook"}, false, 1, "ApplicationSet argocd/guestbook (2 steps, 1 Application)", ""},
		"all namespaces":                {[]string{"-A"}, false, 1, "1 warning, 1 note in 1 ApplicationSet\n", ""},
		"errors only":                   {[]string{"--severity", "error"}, false, 0, "step-without-applications", ""},
		"a name that does not exist":    {[]string{"payments"}, false, 2, "", `no ApplicationSet "payments" in namespace argocd`},
		"no right to list Applications": {nil, true, 0, "not checked: the live Applications: you have no right to list applications.argoproj.io", ""},
		"a namespace without any": {
			[]string{"-n", "default"}, false, 2, "",
			"nothing was looked at: there is no ApplicationSet in namespace default; ",
		},
		"a namespace that may have none":  {[]string{"-n", "default", "--allow-empty"}, false, 0, "0 ApplicationSets", ""},
		"another namespace, with nothing": {[]string{"-n", "other"}, false, 2, "", "list ApplicationSets in namespace other"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			forbidden = tc.forbidden
			code, out, errOut := lintCommand(t, kubeconfig, "", tc.args...)
			g.Expect(code).To(Equal(tc.want), out+errOut)
			g.Expect(out).To(ContainSubstring(tc.out))
			g.Expect(errOut).To(ContainSubstring(tc.errOut))
		})
	}
}
