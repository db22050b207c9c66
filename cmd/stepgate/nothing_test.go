// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// kubeconfigOf returns the path of a kubeconfig for a server.
func kubeconfigOf(t *testing.T, server string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"night",
"clusters":[{"name":"c","cluster":{"server":%q}}],"contexts":[{"name":"night","context":{"cluster":"c"}}]}`, server)
	NewWithT(t).Expect(os.WriteFile(path, []byte(text), 0o600)).To(Succeed())
	return path
}

// answering returns the URL of a server that gives every request the same answer.
func answering(t *testing.T, status int, contentType, body string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

const loginPage = "<!DOCTYPE html>\n<html><body><p>Please log in.</p></body></html>"

// refusing is the address of a port at which nobody listens.
func refusing(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	defer func() { _ = listener.Close() }()
	return "http://" + listener.Addr().String()
}

// Without an answer of an API server, no command says that all is well, or that something does not exist.
func TestNoAnswer(t *testing.T) {
	commands := []string{
		"get", "get -A", "get guestbook", "get -A --watch", "get -A --allow-empty", "audit", "audit -A", "audit guestbook", "audit -A --allow-empty",
		"explain guestbook-prod", "wait guestbook", "wait app/guestbook-prod", "lint -A", "simulate guestbook", "pause guestbook", "resume guestbook",
		"approve guestbook", "doctor", "doctor -o json", "doctor --emergency", "doctor --emergency -o json", "doctor --emergency --apply -n argocd -y",
	}
	for name, tc := range map[string]struct {
		server func(*testing.T) string
		says   string
	}{
		"nobody listens":              {refusing, "the API server does not answer: is it the right one (context night)"},
		"a login page":                {func(t *testing.T) string { return answering(t, 200, "text/html", loginPage) }, "a web page with HTTP status 200 came back"},
		"a page of an error":          {func(t *testing.T) string { return answering(t, 502, "text/html; charset=utf-8", loginPage) }, "a web page with HTTP status 502 came back"},
		"a page that is not found":    {func(t *testing.T) string { return answering(t, 404, "text/html", loginPage) }, "a web page with HTTP status 404 came back"},
		"a page that says it is text": {func(t *testing.T) string { return answering(t, 500, "text/plain", loginPage) }, "a web page with HTTP status 500 came back"},
		"a 404 of a load balancer":    {func(t *testing.T) string { return answering(t, 404, "text/plain", "404 page not found\n") }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			kubeconfig := kubeconfigOf(t, tc.server(t))
			for _, line := range commands {
				g := NewWithT(t)
				var stdout, stderr bytes.Buffer
				code := cmdline.Execute(t, append(strings.Fields(line), "--kubeconfig", kubeconfig), &stdout, &stderr)
				g.Expect(code).To(Equal(2), "%s: %s%s", line, stdout.String(), stderr.String())
				g.Expect(strings.Count(stderr.String(), "\n")).To(Equal(1), "%s: one line: %s", line, stderr.String())
				g.Expect(stderr.String()).To(And(ContainSubstring(tc.says), Not(ContainSubstring("<")),
					Not(ContainSubstring("no Application"))), line)
				g.Expect(stdout.String()).NotTo(ContainSubstring("<html"), line)
			}
		})
	}
}

// What answers in JSON and knows no version is no API server.
func TestTheDoctorOfSomethingElse(t *testing.T) {
	g := NewWithT(t)
	code, text := askDoctor(t, "--kubeconfig", kubeconfigOf(t, answering(t, 200, "application/json", `{"message":"log in"}`)))
	g.Expect(code).To(Equal(2))
	g.Expect(text).To(Equal("stepgate: nothing was checked: what answers is not an API server of Kubernetes: it says no " +
		"version; look at the server of the kubeconfig's context\n"))
}

// clusterOf is an API server without objects, but for ApplicationSets without steps and Applications with these names.
func clusterOf(t *testing.T, sets, apps []string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		path, names := r.URL.Path, []string(nil)
		switch {
		case strings.HasSuffix(path, "/selfsubjectaccessreviews"):
			_, _ = w.Write([]byte(`{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","status":{"allowed":true}}`))
			return
		case r.URL.Query().Get("watch") != "":
			<-r.Context().Done()
			return
		case strings.HasSuffix(path, "/applicationsets"):
			names = sets
		case strings.HasSuffix(path, "/applications"):
			names = apps
		case strings.Contains(path, "argoproj.io"):
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`))
			return
		}
		items := []any{}
		for _, name := range names {
			namespace, name, _ := strings.Cut(name, "/")
			if strings.Contains(path, "/namespaces/") && !strings.Contains(path, "/namespaces/"+namespace+"/") {
				continue
			}
			items = append(items, map[string]any{
				"metadata": map[string]any{"namespace": namespace, "name": name, "resourceVersion": "1"},
			})
		}
		kind, version := "ApplicationSetList", "argoproj.io/v1alpha1"
		if strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadataList") {
			kind, version = "PartialObjectMetadataList", "meta.k8s.io/v1"
		}
		_ = json.NewEncoder(w).Encode(map[string]any{
			"kind": kind, "apiVersion": version, "metadata": map[string]any{"resourceVersion": "1"}, "items": items,
		})
	}))
	t.Cleanup(server.Close)
	return kubeconfigOf(t, server.URL)
}

// Where a command saw no object, it says so, and where there is one, and the exit code is 2.
func TestNothingSeen(t *testing.T) {
	there := []string{"argocd/guestbook", "team-a/payments"}
	for name, tc := range map[string]struct {
		sets, apps []string
		args       string
		code       int
		says       string
	}{
		"get in an empty cluster": {args: "get -A", code: 2, says: "there is no ApplicationSet with steps of RollingSync in any namespace; is this the right cluster? The context is night"},
		"get in another namespace": {
			sets: there, args: "get", code: 2, says: "no ApplicationSet with steps of RollingSync in namespace default; did you mean -n argocd, -n team-a, or -A for all? (--allow-empty takes that for an answer)",
		},
		"get where none has steps":      {sets: there, args: "get -A", code: 2, says: "in any namespace; 2 without steps: --all shows them"},
		"get of those without steps":    {sets: there, args: "get -A --all", code: 0},
		"get where none is right":       {sets: there, args: "get --allow-empty", code: 0},
		"get for programs":              {args: "get -A -o json", code: 2, says: "nothing was looked at"},
		"watch in an empty cluster":     {args: "get -A --watch", code: 2, says: "there is no ApplicationSet with steps of RollingSync in any namespace"},
		"audit in an empty cluster":     {args: "audit -A", code: 2, says: "there is no ApplicationSet in any namespace; is this the right cluster?"},
		"audit in another namespace":    {sets: there[:1], args: "audit", code: 2, says: "there is no ApplicationSet in namespace default; did you mean -n argocd, or -A for all?"},
		"audit where none has steps":    {sets: there, args: "audit -A", code: 2, says: "there is no ApplicationSet with steps of RollingSync in any namespace; 2 without steps"},
		"audit where none is right":     {args: "audit -A --allow-empty", code: 0},
		"a name in another namespace":   {sets: there, args: "get payments", code: 2, says: `no ApplicationSet "payments" in namespace default; did you mean -n team-a, or -A for all?`},
		"a name that nobody has":        {sets: there, args: "audit nobody", code: 2, says: `no ApplicationSet "nobody" in namespace default; no other namespace has one either; -A is all namespaces`},
		"explain in another namespace":  {apps: []string{"argocd/prod"}, args: "explain prod", code: 2, says: `no Application "prod" in namespace default; did you mean -n argocd?`},
		"wait in another namespace":     {apps: []string{"argocd/prod"}, args: "wait prod", code: 2, says: `no Application or ApplicationSet "prod" in namespace default; did you mean -n argocd`},
		"wait for a set elsewhere":      {sets: there, args: "wait appset/payments", code: 2, says: "did you mean -n team-a"},
		"pause in another namespace":    {sets: there, args: "pause guestbook", code: 2, says: "did you mean -n argocd"},
		"resume in another namespace":   {sets: there, args: "resume guestbook", code: 2, says: "did you mean -n argocd"},
		"approve in another namespace":  {sets: there, args: "approve guestbook", code: 2, says: "did you mean -n argocd"},
		"approve in an empty cluster":   {args: "approve guestbook", code: 2, says: "no namespace has one: is this the right cluster? The context is night"},
		"lint in another namespace":     {sets: there, args: "lint guestbook", code: 2, says: `no ApplicationSet "guestbook" in namespace default; did you mean -n argocd, or -A for all?`},
		"simulate in another namespace": {sets: there, args: "simulate guestbook", code: 2, says: `no ApplicationSet "guestbook" in namespace default; did you mean -n argocd?`},
		"lint of a file here":           {sets: there, args: "lint main.go", code: 2, says: `no ApplicationSet "main.go" in namespace default; main.go is a file or directory here: did you mean stepgate lint -f main.go?`},
		"explain an ApplicationSet":     {sets: there, args: "explain guestbook -n argocd", code: 2, says: `no Application "guestbook" in namespace argocd; there is an ApplicationSet of this name: stepgate get guestbook -n argocd`},
		"get of an Application":         {apps: []string{"argocd/prod"}, sets: there, args: "get prod -n argocd", code: 2, says: `no ApplicationSet "prod" in namespace argocd; there is an Application of this name: stepgate explain prod -n argocd`},
		"a watch of a name that is not": {sets: there, args: "get payments --watch", code: 2, says: "did you mean -n team-a"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var stdout, stderr bytes.Buffer
			args := append(strings.Fields(tc.args), "--kubeconfig", clusterOf(t, tc.sets, tc.apps))
			g.Expect(cmdline.Execute(t, args, &stdout, &stderr)).To(Equal(tc.code), stderr.String())
			g.Expect(stderr.String()).To(ContainSubstring(tc.says))
			if tc.code == 0 {
				g.Expect(stderr.String()).To(BeEmpty())
			}
		})
	}
}

// In an emergency, nobody waits for an API server that does not answer.
func TestTheEmergencyHasATimeout(t *testing.T) {
	g := NewWithT(t)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer server.Close()
	var out bytes.Buffer
	d := &doctorCommand{
		cli: newCLI(genericiooptions.IOStreams{Out: &out, ErrOut: &out}), patience: 50 * time.Millisecond, way: "namespace", emergency: true,
	}
	*d.kube.KubeConfig = kubeconfigOf(t, server.URL)
	unknown := "it is not known whether stepgate is in the way here"
	g.Expect(d.run(t.Context(), nil)).To(MatchError(ContainSubstring(unknown)))
	g.Expect(out.String()).To(HavePrefix("Ways to let syncs through."))
	g.Expect(out.String()).To(ContainSubstring("kubectl label namespace argocd stepgate.io/ignore=true"))
	d.emergency = false
	g.Expect(d.run(t.Context(), nil)).To(MatchError(ContainSubstring("nothing was checked: ")))
}

// A namespace is labelled although nothing else can be read.
func TestTheEmergencyActsWithoutRights(t *testing.T) {
	g := NewWithT(t)
	var patched []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodPatch && r.URL.Path == "/api/v1/namespaces/argocd" {
			patched = append(patched, r.URL.Path)
			_, _ = w.Write([]byte(`{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"argocd"}}`))
			return
		}
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`))
	}))
	defer server.Close()
	code, text := askDoctor(t, "--emergency", "--apply", "-n", "argocd", "-y", "--kubeconfig", kubeconfigOf(t, server.URL))
	g.Expect(code).To(Equal(0), text)
	g.Expect(patched).To(HaveLen(1))
	g.Expect(text).To(HavePrefix("namespace/argocd labelled"))
	code, text = askDoctor(t, "--emergency", "--kubeconfig", kubeconfigOf(t, server.URL))
	g.Expect(code).To(Equal(2))
	g.Expect(text).To(HavePrefix("Ways to let syncs through."))
}
