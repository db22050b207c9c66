// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// TestObjectsAreBounded asks an API server for objects of some sizes.
func TestObjectsAreBounded(t *testing.T) {
	g := NewWithT(t)
	object := func(size int) string {
		const empty = `{"apiVersion":"batch/v1","kind":"Job","spec":""}`
		return strings.Replace(empty, `""`, `"`+strings.Repeat("x", size-len(empty))+`"`, 1)
	}
	answers := map[string]string{
		"/apis/batch/v1/namespaces/a/jobs/fits": object(LargestObject), "/apis/batch/v1/namespaces/a/jobs/large": object(LargestObject + 1),
		"/api/v1/namespaces/a/pods/small": object(100), "/api/v1/namespaces/a/pods/broken": "{",
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if text, ok := answers[r.URL.Path]; ok {
			_, _ = fmt.Fprint(w, text)
			return
		}
		w.WriteHeader(http.StatusNotFound)
	}))
	defer server.Close()
	objects, err := NewObjects(&rest.Config{Host: server.URL})
	g.Expect(err).NotTo(HaveOccurred())
	jobs, pods := schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"},
		schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	get := func(kind schema.GroupVersionResource, name string) error {
		o, err := objects.Get(t.Context(), kind, types.NamespacedName{Namespace: "a", Name: name})
		if err == nil {
			g.Expect(o.GetKind()).To(Equal("Job"))
		}
		return err
	}
	g.Expect(get(jobs, "fits")).To(Succeed())
	g.Expect(get(jobs, "large")).To(MatchError(ErrTooLarge))
	g.Expect(get(pods, "small")).To(Succeed())
	g.Expect(get(pods, "broken")).To(MatchError(ContainSubstring("pods a/broken")))
	g.Expect(apierrors.IsNotFound(get(pods, "none"))).To(BeTrue())
}
