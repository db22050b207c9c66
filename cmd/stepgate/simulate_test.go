// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/stepgate/stepgate/cmd/command"
	"github.com/stepgate/stepgate/cmd/simulate"
)

const (
	simulated       = "../simulate/testdata/guestbook.yaml"
	simulatedParent = "../simulate/testdata/platform.yaml"
)

// ran is what came of a command line.
type ran struct {
	code     int
	out, err string
}

func runWith(in string, args ...string) ran {
	var out, errOut bytes.Buffer
	code := run(context.Background(), append([]string{"stepgate"}, args...), genericiooptions.IOStreams{
		In: strings.NewReader(in), Out: &out, ErrOut: &errOut,
	})
	return ran{code, out.String(), errOut.String()}
}

// The exit code is 0 if the rollout completes in order, 1 if it does not, and 2 if that is not known.
func TestSimulateExitCodes(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		code int
		want string
	}{
		"in order":           {[]string{"-f", simulated}, 0, "complete after 2m43s, in order: 4 Applications"},
		"one fails":          {[]string{"-f", simulated, "--fail", "guestbook-dev=sync"}, command.ExitFound, "the sync has failed, after 5 retries"},
		"without stepgate":   {[]string{"-f", simulated, "--without-gate"}, command.ExitFound, "2 Applications start too early: guestbook-prod-eu and guestbook-prod-us"},
		"its name":           {[]string{"-f", simulated, "guestbook"}, 0, "complete"},
		"another name":       {[]string{"-f", simulated, "podinfo"}, command.ExitError, "the files have no ApplicationSet podinfo, but guestbook"},
		"no such file":       {[]string{"-f", "nothing.yaml"}, command.ExitError, "nothing.yaml: no such file"},
		"a directory":        {[]string{"-f", "testdata/inputs"}, command.ExitError, "testdata/inputs/02-tabs.yaml:4 (document 1): not valid YAML"},
		"a parent":           {[]string{"-f", simulatedParent}, 0, "complete after 2m39s, in order: 6 Applications"},
		"waves alone":        {[]string{"-f", simulatedParent, "--without-gate"}, command.ExitFound, "3 Applications start too early"},
		"a child's name":     {[]string{"-f", simulatedParent, "crds"}, command.ExitError, "the Application crds does not order its children"},
		"nothing":            {nil, command.ExitUsage, "simulate needs a file, -f FILE, or the name of an ApplicationSet in the cluster"},
		"mode":               {[]string{"-f", simulated, "--mode", "off"}, command.ExitUsage, `--mode: "off" is not one of enforce, audit`},
		"fail":               {[]string{"-f", simulated, "--fail", "a=b"}, command.ExitUsage, `--fail: "a=b" is not APP, APP=health or APP=sync`},
		"an unknown Argo CD": {[]string{"-f", simulated, "--argocd", "2.9"}, command.ExitUsage, `--argocd: "2.9" is not one of`},
		"seed":               {[]string{"-f", simulated, "--seed", "-1"}, command.ExitUsage, `invalid argument "-1" for "--seed" flag`},
		"output":             {[]string{"-f", simulated, "-o", "wide"}, command.ExitUsage, `--output: "wide" is not one of json, yaml`},
		"two names":          {[]string{"a", "b"}, command.ExitUsage, `unexpected argument "b"; see stepgate simulate --help`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			r := runWith("", append([]string{"simulate"}, tc.args...)...)
			g.Expect(r.code).To(Equal(tc.code), r.err)
			g.Expect(r.out + r.err).To(ContainSubstring(tc.want))
			if tc.code == command.ExitError {
				g.Expect(r.out).To(BeEmpty())
				g.Expect(strings.Count(r.err, "\n")).To(Equal(1), r.err)
			}
		})
	}
}

// Standard input is a file, too, and -o json and yaml give the report.
func TestSimulateReadsStandardInput(t *testing.T) {
	g := NewWithT(t)
	text, err := os.ReadFile(simulated)
	g.Expect(err).NotTo(HaveOccurred())
	r := runWith(string(text), "simulate", "-f", "-", "-o", "json", "--fail", "guestbook-qa")
	g.Expect(r.code).To(Equal(command.ExitFound), r.err)
	var report simulate.Report
	g.Expect(json.Unmarshal([]byte(r.out), &report)).To(Succeed())
	g.Expect(report.Complete).To(BeFalse())
	g.Expect(report.Waiting).To(HaveLen(3))
	r = runWith(string(text), "simulate", "-f", "-", "-o", "yaml")
	g.Expect(r.code).To(Equal(0), r.err)
	g.Expect(r.out).To(HavePrefix("apiVersion: cli.stepgate.io/v1alpha1\n"))
}

// From a cluster, the Applications are those that the ApplicationSet controls. Nothing but get and list is called.
func TestSimulateFromCluster(t *testing.T) {
	g := NewWithT(t)
	text, err := os.ReadFile(simulated)
	g.Expect(err).NotTo(HaveOccurred())
	var objects simulate.Objects
	g.Expect(read(&objects, text)).To(Succeed())
	set := objects.Sets[0]
	set.UID = "u1"
	list := argo.ApplicationList{TypeMeta: metav1.TypeMeta{APIVersion: "argoproj.io/v1alpha1", Kind: "ApplicationList"}}
	yes := true
	for _, name := range []string{"dev", "qa", "other"} {
		owner := metav1.OwnerReference{
			APIVersion: "argoproj.io/v1alpha1", Kind: "ApplicationSet", Name: "guestbook", UID: "u1", Controller: &yes,
		}
		if name == "other" {
			owner.UID = "u2"
		}
		list.Items = append(list.Items, argo.Application{
			TypeMeta:   metav1.TypeMeta{APIVersion: "argoproj.io/v1alpha1", Kind: "Application"},
			ObjectMeta: metav1.ObjectMeta{Namespace: "argocd", Name: name, Labels: map[string]string{"env": name}, OwnerReferences: []metav1.OwnerReference{owner}},
		})
	}
	var calls []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls = append(calls, r.Method+" "+r.URL.Path)
		w.Header().Set("Content-Type", "application/json")
		answers := map[string]any{
			"/apis/argoproj.io/v1alpha1/namespaces/argocd/applicationsets/guestbook": set, "/apis/argoproj.io/v1alpha1/namespaces/argocd/applications": list,
		}
		answer, found := answers[r.URL.Path]
		if !found {
			w.WriteHeader(http.StatusNotFound)
			answer = metav1.Status{
				Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Message: "not found", Code: http.StatusNotFound,
			}
		}
		g.Expect(json.NewEncoder(w).Encode(answer)).To(Succeed())
	}))
	defer server.Close()
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))

	r := runWith("", "simulate", "guestbook", "-n", "argocd", "--server", server.URL)
	g.Expect(r.err).To(BeEmpty())
	g.Expect(r.code).To(Equal(command.ExitFound))
	g.Expect(r.out).To(ContainSubstring("in order: 2 Applications"))
	g.Expect(r.out).To(ContainSubstring("But step 3 has no Application."))
	g.Expect(calls).To(Equal([]string{
		"GET /apis/argoproj.io/v1alpha1/namespaces/argocd/applicationsets/guestbook",
		"GET /apis/argoproj.io/v1alpha1/namespaces/argocd/applications",
	}))

	r = runWith("", "simulate", "podinfo", "-n", "argocd", "--server", server.URL)
	g.Expect(r.code).To(Equal(command.ExitError))
	g.Expect(r.err).To(ContainSubstring("get ApplicationSet podinfo in namespace argocd: "))
}

// From a cluster, the children of a parent are those that Argo CD tracks. A child that is an ApplicationSet lends its
// Applications.
func TestSimulateAParentFromCluster(t *testing.T) {
	app := func(name string, annotations map[string]string) *argo.Application {
		return &argo.Application{ObjectMeta: metav1.ObjectMeta{Namespace: "argocd", Name: name, Annotations: annotations}}
	}
	tracked := func(kind, name, wave string) map[string]string {
		return map[string]string{
			"argocd.argoproj.io/tracking-id": "platform:argoproj.io/" + kind + ":argocd/" + name,
			"argocd.argoproj.io/sync-wave":   wave,
		}
	}
	fleet := &argo.ApplicationSet{ObjectMeta: metav1.ObjectMeta{
		Namespace: "argocd", Name: "fleet", UID: "u1", Annotations: tracked("ApplicationSet", "fleet", "7"),
	}}
	lent, yes := app("eu", nil), true
	lent.OwnerReferences = []metav1.OwnerReference{
		{APIVersion: "argoproj.io/v1alpha1", Kind: "ApplicationSet", Name: "fleet", UID: "u1", Controller: &yes},
	}
	scheme := runtime.NewScheme()
	NewWithT(t).Expect(argo.AddToScheme(scheme)).To(Succeed())
	orders := map[string]string{"stepgate.io/waves": "true"}
	name := types.NamespacedName{Namespace: "argocd", Name: "platform"}
	for text, tc := range map[string]struct {
		objects []client.Object
		want    []string
		err     string
	}{
		"children": {
			objects: []client.Object{app("platform", orders), app("crds", tracked("Application", "crds", "-1")), app("other", nil), fleet, lent},
			want:    []string{"crds", "eu"},
		},
		"no children": {
			objects: []client.Object{app("platform", orders), app("other", nil)},
			err:     "no Application in namespace argocd is tracked by Argo CD as a child of platform",
		},
		"no annotation": {
			objects: []client.Object{app("platform", nil), app("crds", tracked("Application", "crds", "-1"))},
			err:     `the Application platform does not order its children: set its annotation stepgate.io/waves: "true"`,
		},
		"nothing": {err: "platform"},
	} {
		t.Run(text, func(t *testing.T) {
			g := NewWithT(t)
			var objects simulate.Objects
			err := fetchChildren(t.Context(), fake.NewClientBuilder().WithScheme(scheme).WithObjects(tc.objects...).Build(),
				&objects, name)
			var r *simulate.Rollout
			if err == nil {
				r, err = objects.Rollout("platform")
			}
			if tc.err != "" {
				g.Expect(err).To(MatchError(ContainSubstring(tc.err)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			var names []string
			for _, app := range r.Applications {
				names = append(names, app.Name)
			}
			g.Expect(names).To(Equal(tc.want))
			g.Expect(r.Applications[1].Annotations).To(HaveKeyWithValue("argocd.argoproj.io/sync-wave", "7"))
		})
	}
}

// read reads text as a file is read.
func read(objects *simulate.Objects, text []byte) error {
	objects.Text("guestbook.yaml", text)
	return objects.Take()
}
