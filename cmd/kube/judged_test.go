// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/webhook/argocd"
)

// newer is an API server whose Applications have a field that only a newer version of Argo CD knows: prod-1 in its list,
// and prod-2 in its watch.
func newer(rw http.ResponseWriter, r *http.Request) {
	const app = `{"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "spec": {"source":
		{"repoURL": "https://x", "new": 1}}, "metadata": {"namespace": "argocd", "name": %q, "uid": %[1]q, "resourceVersion": "7"}}`
	rw.Header().Set("Content-Type", "application/json")
	path := strings.Split(r.URL.Path, "/")
	switch last := path[len(path)-1]; {
	case r.URL.Query().Get("sendInitialEvents") != "":
		rw.WriteHeader(http.StatusUnprocessableEntity) // it cannot stream a list
		_, _ = fmt.Fprint(rw, `{"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "Invalid", "code": 422}`)
	case r.URL.Query().Get("watch") != "":
		if last == "applications" {
			_, _ = fmt.Fprintf(rw, `{"type": "ADDED", "object": `+app+`}`, "prod-2")
		}
		_ = http.NewResponseController(rw).Flush()
		<-r.Context().Done()
	case last == "applications":
		_, _ = fmt.Fprintf(rw, `{"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationList", "metadata":
			{"resourceVersion": "7"}, "items": [`+app+`]}`, "prod-1")
	case last == "applicationsets":
		_, _ = fmt.Fprintf(rw, `{"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSetList", "metadata": {"resourceVersion": "7"}}`)
	default:
		_, _ = fmt.Fprintf(rw, app, last)
	}
}

// TestUnknownFieldsAreKept reads Applications in every way in which what is judged is read.
func TestUnknownFieldsAreKept(t *testing.T) {
	g := NewWithT(t)
	server := httptest.NewServer(http.HandlerFunc(newer))
	t.Cleanup(server.Close)
	config := &rest.Config{Host: server.URL, QPS: -1}
	objects, err := Objects(config)
	g.Expect(err).NotTo(HaveOccurred())
	judged, err := Judged(config, objects)
	g.Expect(err).NotTo(HaveOccurred())
	name := types.NamespacedName{Namespace: "argocd", Name: "prod-1"}
	content := func(reader client.Reader) argocd.Content {
		app := &argo.Application{}
		g.Expect(reader.Get(t.Context(), name, app)).To(Succeed())
		return argocd.NewProjection(app).Content
	}
	want := content(judged)
	g.Expect(want).NotTo(Equal(content(objects)), "the field counts")

	var list argo.ApplicationList
	g.Expect(judged.List(t.Context(), &list, client.InNamespace("argocd"))).To(Succeed())
	g.Expect(argocd.NewProjection(&list.Items[0]).Content).To(Equal(want))

	known, err := Watched(config, []string{"argocd"}, "")
	g.Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go known.Run(ctx)
	for _, app := range []string{"prod-1", "prod-2"} {
		name.Name = app
		seen := func() *argocd.Projection { return known.Application(name) }
		g.Eventually(seen).WithTimeout(10*time.Second).ShouldNot(BeNil(), app)
		g.Expect(known.Application(name).Content).To(Equal(want), app)
	}
}
