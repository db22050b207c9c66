// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/cluster"
)

// wire is an API server that answers every read with a fixed body, and keeps what was asked.
type wire struct {
	mu     sync.Mutex
	body   string
	code   int // 0: 200, or 404 when there is no body
	asked  []url.URL
	accept []string
}

// ServeHTTP answers one read.
func (w *wire) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked, w.accept = append(w.asked, *r.URL), append(w.accept, r.Header.Get("Accept"))
	rw.Header().Set("Content-Type", "application/json")
	if w.code != 0 {
		rw.WriteHeader(w.code)
		_, _ = rw.Write([]byte(w.body))
		return
	}
	if w.body == "" {
		rw.WriteHeader(http.StatusNotFound)
		_, _ = rw.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`))
		return
	}
	_, _ = rw.Write([]byte(w.body))
}

// observed keeps the kinds of the reads that were reported.
type observed struct{ kinds []string }

// ReadDone keeps one.
func (o *observed) ReadDone(kind string, _ time.Duration, err error) {
	if err != nil {
		kind += " failed"
	}
	o.kinds = append(o.kinds, kind)
}

func apiServer(t *testing.T, body string) (*cluster.APIServer, *wire, *observed) {
	t.Helper()
	g := NewWithT(t)
	w := &wire{body: body}
	server := httptest.NewServer(w)
	t.Cleanup(server.Close)
	config := &rest.Config{Host: server.URL, QPS: -1}
	scheme := runtime.NewScheme()
	g.Expect(argo.AddToScheme(scheme)).To(Succeed())
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(argo.SchemeGroupVersion.WithKind("Application"), meta.RESTScopeNamespace)
	mapper.Add(argo.SchemeGroupVersion.WithKind("ApplicationSet"), meta.RESTScopeNamespace)
	objects, err := client.New(config, client.Options{Scheme: scheme, Mapper: mapper})
	g.Expect(err).NotTo(HaveOccurred())
	versions, err := metadata.NewForConfig(config)
	g.Expect(err).NotTo(HaveOccurred())
	o := &observed{}
	return cluster.NewAPIServer(objects, versions, o), w, o
}

var guestbookName = types.NamespacedName{Namespace: "argocd", Name: "guestbook"}

// TestEveryDecisionReadIsLive looks at the wire: a resourceVersion, even "0", would allow an answer from a cache.
func TestEveryDecisionReadIsLive(t *testing.T) {
	g := NewWithT(t)
	env, err := labels.Parse("env in (dev,qa)")
	g.Expect(err).NotTo(HaveOccurred())
	for name, tc := range map[string]struct {
		body, wantPath, wantKind string
		wantQuery                url.Values
		read                     func(*cluster.APIServer) error
	}{
		"ApplicationSet": {
			`{"kind":"ApplicationSet","apiVersion":"argoproj.io/v1alpha1","metadata":{"namespace":"argocd","name":"guestbook","resourceVersion":"7"}}`, "/apis/argoproj.io/v1alpha1/namespaces/argocd/applicationsets/guestbook", "applicationset_get", url.Values{},
			func(s *cluster.APIServer) error { _, err := s.ApplicationSet(t.Context(), guestbookName); return err },
		},
		"metadata of an ApplicationSet": {
			`{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"9"},"items":[]}`, "/apis/argoproj.io/v1alpha1/namespaces/argocd/applicationsets", "applicationset_metadata_list",
			url.Values{"fieldSelector": {"metadata.name=guestbook"}},
			func(s *cluster.APIServer) error { _, err := s.SetVersion(t.Context(), guestbookName, 101); return err },
		},
		"metadata of a small ApplicationSet": {
			`{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"namespace":"argocd","name":"guestbook","resourceVersion":"7"}}`, "/apis/argoproj.io/v1alpha1/namespaces/argocd/applicationsets/guestbook", "applicationset_metadata_get", url.Values{},
			func(s *cluster.APIServer) error { _, err := s.SetVersion(t.Context(), guestbookName, 100); return err },
		},
		"Application": {
			`{"kind":"Application","apiVersion":"argoproj.io/v1alpha1","metadata":{"namespace":"argocd","name":"guestbook","resourceVersion":"7"}}`, "/apis/argoproj.io/v1alpha1/namespaces/argocd/applications/guestbook", "application_get", url.Values{},
			func(s *cluster.APIServer) error { _, err := s.Application(t.Context(), guestbookName); return err },
		},
		"metadata of some": {
			`{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"9"},"items":[]}`, "/apis/argoproj.io/v1alpha1/namespaces/argocd/applications", "application_metadata_list",
			url.Values{"labelSelector": {"env in (dev,qa)"}},
			func(s *cluster.APIServer) error { _, err := s.Versions(t.Context(), "argocd", env); return err },
		},
		"metadata of all": {
			`{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"9"},"items":[]}`, "/apis/argoproj.io/v1alpha1/namespaces/argocd/applications", "application_metadata_list", url.Values{},
			func(s *cluster.APIServer) error {
				_, err := s.Versions(t.Context(), "argocd", labels.Everything())
				return err
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			server, wire, observed := apiServer(t, tc.body)
			g.Expect(tc.read(server)).To(Succeed())
			g.Expect(wire.asked).To(HaveLen(1))
			g.Expect(wire.asked[0].Path).To(Equal(tc.wantPath))
			g.Expect(wire.asked[0].Query()).To(Equal(tc.wantQuery))
			g.Expect(observed.kinds).To(Equal([]string{tc.wantKind}))
			if strings.HasSuffix(tc.wantKind, "_metadata_list") {
				g.Expect(wire.accept[0]).To(HavePrefix("application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList"))
			}
		})
	}
}

func TestWhatDoesNotExistIsAnAnswer(t *testing.T) {
	g := NewWithT(t)
	server, _, observed := apiServer(t, "")
	set, err := server.ApplicationSet(t.Context(), guestbookName)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(set).To(BeNil())
	app, err := server.Application(t.Context(), guestbookName)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(app).To(BeNil())
	version, err := server.SetVersion(t.Context(), guestbookName, 100)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(version).To(BeZero())
	_, err = server.Versions(t.Context(), "argocd", labels.Everything())
	g.Expect(err).To(MatchError(ContainSubstring("list the metadata of the Applications of namespace argocd")))
	_, err = server.SetVersion(t.Context(), guestbookName, 101)
	g.Expect(err).To(MatchError(ContainSubstring("list the metadata of ApplicationSet argocd/guestbook")))
	g.Expect(observed.kinds).To(Equal([]string{
		"applicationset_get", "application_get", "applicationset_metadata_get", "application_metadata_list failed", "applicationset_metadata_list failed",
	}))
}

// TestWhatSomebodyElseAnswersIsAnError has answers that a load balancer or a broken proxy gives in front of the API
// server. To take one for "it does not exist" would admit everything.
func TestWhatSomebodyElseAnswersIsAnError(t *testing.T) {
	for name, tc := range map[string]struct {
		code int
		body string
	}{
		"404 page not found":        {http.StatusNotFound, "404 page not found\n"},
		"404 in HTML":               {http.StatusNotFound, "<html>404</html>"},
		"an empty answer":           {http.StatusOK, ""},
		"an empty object":           {http.StatusOK, "{}"},
		"null":                      {http.StatusOK, "null"},
		"HTML":                      {http.StatusOK, "<html></html>"},
		"another object":            {http.StatusOK, `{"metadata":{"namespace":"argocd","name":"other","resourceVersion":"7"}}`},
		"one of another namespace":  {http.StatusOK, `{"metadata":{"namespace":"other","name":"guestbook","resourceVersion":"7"}}`},
		"an object without version": {http.StatusOK, `{"metadata":{"namespace":"argocd","name":"guestbook"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			server, wire, observed := apiServer(t, tc.body)
			wire.code = tc.code
			set, err := server.ApplicationSet(t.Context(), guestbookName)
			g.Expect(err).To(HaveOccurred(), "%v", set)
			app, err := server.Application(t.Context(), guestbookName)
			g.Expect(err).To(HaveOccurred(), "%v", app)
			_, err = server.SetVersion(t.Context(), guestbookName, 100)
			g.Expect(err).To(HaveOccurred())
			if !strings.Contains(tc.body, `"resourceVersion"`) {
				_, err = server.Versions(t.Context(), "argocd", labels.Everything())
				g.Expect(err).To(HaveOccurred())
				_, err = server.SetVersion(t.Context(), guestbookName, 101)
				g.Expect(err).To(HaveOccurred())
			}
			for _, kind := range observed.kinds {
				g.Expect(kind).To(HaveSuffix(" failed"))
			}
		})
	}
}

func TestAPartialListIsAnError(t *testing.T) {
	server, _, _ := apiServer(
		t, `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"continue":"more"},"items":[]}`,
	)
	g := NewWithT(t)
	_, err := server.Versions(context.Background(), "argocd", labels.Everything())
	g.Expect(err).To(MatchError(ContainSubstring("the answer is partial")))
	_, err = server.SetVersion(context.Background(), guestbookName, 101)
	g.Expect(err).To(MatchError(ContainSubstring("the answer is partial")))
}

func TestVersionsTellOwnerAndLabels(t *testing.T) {
	g := NewWithT(t)
	server, _, _ := apiServer(t, `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"9"},"items":[
		{"metadata":{"name":"dev","uid":"u-dev","resourceVersion":"7","labels":{"env":"dev"},"ownerReferences":[
			{"apiVersion":"v1","kind":"ConfigMap","name":"x","uid":"no"},
			{"apiVersion":"argoproj.io/v1alpha1","kind":"ApplicationSet","name":"guestbook","uid":"u-set","controller":true}]}},
		{"metadata":{"name":"alone","uid":"u-alone","resourceVersion":"8"}}]}`)
	versions, err := server.Versions(t.Context(), "argocd", labels.Everything())
	g.Expect(err).NotTo(HaveOccurred())
	slices.SortFunc(versions, func(a, b cluster.Version) int { return len(a.Name) - len(b.Name) })
	g.Expect(versions).To(Equal([]cluster.Version{
		{Name: "dev", UID: "u-dev", Owner: "u-set", Set: "guestbook", ResourceVersion: "7", Labels: map[string]string{"env": "dev"}},
		{Name: "alone", UID: "u-alone", ResourceVersion: "8"},
	}))
}

// TestAParentIsReadLive: what it orders is read from the Application itself.
func TestAParentIsReadLive(t *testing.T) {
	g := NewWithT(t)
	name := types.NamespacedName{Namespace: "argocd", Name: policy.NameOfParent("platform")}
	api, w, o := apiServer(t, `{"kind":"Application","apiVersion":"argoproj.io/v1alpha1","metadata":{"namespace":"argocd",
		"name":"platform","resourceVersion":"7","annotations":{"stepgate.io/waves":"true"}}}`)
	set, err := api.ApplicationSet(t.Context(), name)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(set.Waves).To(BeTrue())
	g.Expect(set.Name).To(Equal(name.Name))
	g.Expect(w.asked).To(HaveLen(1))
	g.Expect(w.asked[0].Path).To(HaveSuffix("/namespaces/argocd/applications/platform"))
	g.Expect(o.kinds).To(Equal([]string{"application_get"}))

	api, _, _ = apiServer(t, `{"kind":"Application","apiVersion":"argoproj.io/v1alpha1","metadata":{"namespace":"argocd",
		"name":"platform","resourceVersion":"7"}}`)
	g.Expect(api.ApplicationSet(t.Context(), name)).To(BeNil(), "it gives no order")
	api, _, _ = apiServer(t, "")
	g.Expect(api.ApplicationSet(t.Context(), name)).To(BeNil(), "it does not exist")
	api, w, _ = apiServer(t, "{}")
	w.code = 500
	_, err = api.ApplicationSet(t.Context(), name)
	g.Expect(err).To(HaveOccurred(), "nobody knows")
}
