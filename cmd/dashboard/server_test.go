// SPDX-License-Identifier: Apache-2.0

package dashboard_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/cmd/audit"
	. "github.com/stepgate/stepgate/cmd/dashboard"
	"github.com/stepgate/stepgate/cmd/history"
	"github.com/stepgate/stepgate/cmd/rollout"
	"github.com/stepgate/stepgate/webhook/ledger"
)

// facts are one rollout, of which a test says how far it is.
type facts struct {
	mu      sync.Mutex
	changed chan struct{}
	done    int
	gone    bool
	reached atomic.Int32
	looked  atomic.Int32
	acted   []Action
}

func (f *facts) change(edit func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	edit()
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f *facts) Changed() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.changed
}

func (*facts) Where() (kubeContext, namespace string) { return "kind", "argocd" }
func (*facts) Problem() string                        { return "" }
func (*facts) ArgoCD() string                         { return "https://argocd.example.com" }

func (f *facts) Rollouts() []*rollout.Rollout {
	f.mu.Lock()
	defer f.mu.Unlock()
	return []*rollout.Rollout{{Namespace: "argocd", Name: "guestbook", Phase: rollout.Progressing, Done: f.done, Total: 3}}
}

func (f *facts) Rollout(_ context.Context, name types.NamespacedName) *rollout.Rollout {
	f.looked.Add(1)
	f.mu.Lock()
	gone := f.gone
	f.mu.Unlock()
	if gone || name.Name != "guestbook" {
		return nil
	}
	r := f.Rollouts()[0]
	dev := rollout.Application{Name: "dev", Health: "Degraded", Reason: "NotHealthy"}
	r.Exempt = []string{strings.Repeat("long ", 1000)} // what is short is not compressed
	r.Steps = []rollout.Step{{Number: 1, Applications: []rollout.Application{dev}}}
	return r
}

func (*facts) Rights(context.Context, string) Rights { return Rights{Refresh: true} }

func (*facts) Explain(context.Context, types.NamespacedName) (*Explained, error) {
	return nil, errors.New("the API server does not answer")
}

func (*facts) Timeline(context.Context, types.NamespacedName) ([]audit.Rollout, error) {
	return make([]audit.Rollout, 23), nil
}

func (*facts) History(_ context.Context, name types.NamespacedName) (*History, error) {
	switch name.Name {
	case "guestbook":
		return HistoryOf(&ledger.Log{Rollouts: []ledger.Rollout{
			{Source: "https://github.com/example/shop  main", Revision: strings.Repeat("a", 40), Steps: []ledger.Step{}},
			{Source: "https://example.com/charts shop 1.0.0", Revision: "1.0.0", Steps: []ledger.Step{}},
		}}, nil, "stepgate", metav1.Now())
	case "forbidden":
		return HistoryOf(nil, history.ErrForbidden, "stepgate", metav1.Now())
	case "away":
		return HistoryOf(nil, errors.New("the API server does not answer"), "stepgate", metav1.Now())
	}
	return nil, nil
}

func (f *facts) Act(_ context.Context, a Action) Answer {
	f.acted = append(f.acted, a)
	return Answer{OK: true, Lines: []string{"done"}}
}

// secrets are those of the dashboard, and ofThePage the headers of its page, in a browser that has the key.
var (
	secrets   = Secrets{Token: "a-token", Key: "a-key"}
	ofThePage = map[string]string{"Stepgate-Page": "1", "Cookie": "stepgate-dashboard=a-key"}
)

// serve is a dashboard under the address that it is told.
func serve(t *testing.T) (*httptest.Server, *facts) {
	f := &facts{changed: make(chan struct{})}
	s := httptest.NewUnstartedServer(nil)
	page := fstest.MapFS{"index.html": {Data: []byte("<p>the page")}}
	s.Config.Handler = New(f, page, s.Listener.Addr().String(), secrets, func() { f.reached.Add(1) })
	s.Start()
	t.Cleanup(s.Close)
	return s, f
}

func request(t *testing.T, method, url, body string, header map[string]string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for _, all := range []map[string]string{ofThePage, header} {
		for name, value := range all {
			if name == "Host" {
				r.Host = value
				continue
			}
			r.Header.Set(name, value)
		}
	}
	response, err := http.DefaultClient.Do(r)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

// TestWhoMayAsk: whoever has the key, from the page itself.
func TestWhoMayAsk(t *testing.T) {
	for name, tc := range map[string]struct {
		path   string
		header map[string]string
		want   int
	}{
		"the page needs no key":                {path: "/", header: map[string]string{"Cookie": ""}, want: 200},
		"facts need it":                        {path: "/api/overview", header: map[string]string{"Cookie": ""}, want: 401},
		"another key":                          {path: "/api/overview", header: map[string]string{"Cookie": "stepgate-dashboard=b"}, want: 401},
		"a cookie of another port beside it":   {path: "/api/overview", header: map[string]string{"Cookie": "stepgate-dashboard=b; stepgate-dashboard=a-key"}, want: 200},
		"the token is no key":                  {path: "/api/overview", header: map[string]string{"Cookie": "stepgate-dashboard=a-token"}, want: 401},
		"the key":                              {path: "/api/timelines/argocd/guestbook", want: 200},
		"a page of another port, with the key": {path: "/api/overview", header: map[string]string{"Stepgate-Page": ""}, want: 403},
		"a name that leads to this machine":    {path: "/", header: map[string]string{"Host": "rebound.example"}, want: 421},
		"another site":                         {path: "/api/timelines/argocd/guestbook", header: map[string]string{"Origin": "https://evil.example"}, want: 403},
		"a path that there is not":             {path: "/api/secrets", want: 404},
		"what the cluster does not answer":     {path: "/api/applications/argocd/dev", want: 502},
		"a rollout that there is not":          {path: "/api/rollouts/argocd/other", want: 404},
		"a history that there is not":          {path: "/api/histories/argocd/other", want: 404},
		"a history that is not read":           {path: "/api/histories/argocd/away", want: 502},
		"a history, without the key":           {path: "/api/histories/argocd/guestbook", header: map[string]string{"Cookie": ""}, want: 401},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s, f := serve(t)
			response := request(t, http.MethodGet, s.URL+tc.path, "", tc.header)
			g.Expect(response.StatusCode).To(Equal(tc.want))
			g.Expect(response.Header.Get("Content-Security-Policy")).To(ContainSubstring("frame-ancestors 'none'"))
			g.Expect(response.Header.Get("Access-Control-Allow-Origin")).To(BeEmpty())
			g.Expect(f.reached.Load()).To(BeZero())
		})
	}
}

// TestTheKey is given to whoever shows the token, in a cookie that no script and no other site can use.
func TestTheKey(t *testing.T) {
	g := NewWithT(t)
	s, f := serve(t)
	show := func(token string) *http.Response {
		return request(t, http.MethodPost, s.URL+"/api/session", "",
			map[string]string{"Authorization": "Bearer " + token, "Cookie": ""})
	}
	for _, wrong := range []string{"", secrets.Key, "other"} {
		g.Expect(show(wrong).StatusCode).To(Equal(401))
	}
	g.Expect(f.reached.Load()).To(BeZero())
	for range 2 {
		response := show(secrets.Token)
		g.Expect(response.StatusCode).To(Equal(204))
		g.Expect(response.Header.Get("Set-Cookie")).To(Equal(
			"stepgate-dashboard=a-key; Path=/api/; Max-Age=604800; HttpOnly; SameSite=Strict"))
	}
	g.Expect(f.reached.Load()).To(BeEquivalentTo(1), "it is told once")
}

// TestAViewIsSentOnce per change, compressed, and is looked at once per change for all tabs.
func TestAViewIsSentOnce(t *testing.T) {
	g := NewWithT(t)
	s, f := serve(t)
	had := ""
	ask := func() (code int, d Detail) {
		response := request(t, http.MethodGet, s.URL+"/api/rollouts/argocd/guestbook", "",
			map[string]string{"If-None-Match": had, "Accept-Encoding": "gzip"})
		if response.StatusCode != http.StatusOK {
			return response.StatusCode, d
		}
		had = response.Header.Get("ETag")
		g.Expect(response.Header.Get("Content-Encoding")).To(Equal("gzip"))
		text, err := gzip.NewReader(response.Body)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(json.NewDecoder(text).Decode(&d)).To(Succeed())
		return response.StatusCode, d
	}
	code, first := ask()
	g.Expect(code).To(Equal(200))
	g.Expect(first.At.IsZero()).To(BeFalse())
	g.Expect(first.Said).To(Equal(map[string]Said{"dev": {Kind: rollout.KindFailed, Text: "NotHealthy"}}))
	g.Expect(first.ArgoCD).To(Equal("https://argocd.example.com"))
	g.Expect(first.Rights).To(Equal(Rights{Refresh: true}))
	for range 10 {
		code, _ = ask()
		g.Expect(code).To(Equal(304))
	}
	g.Expect(f.looked.Load()).To(BeEquivalentTo(1))
	f.change(func() {})
	code, _ = ask()
	g.Expect(code).To(Equal(304), "nothing of this view has changed")
	f.change(func() { f.done = 2 })
	_, second := ask()
	g.Expect(second.Rollout.Done).To(Equal(2))
	g.Expect(f.looked.Load()).To(BeEquivalentTo(3))
	f.change(func() { f.gone = true })
	code, _ = ask()
	g.Expect(code).To(Equal(404))
}

// TestActions are handed on whole, or refused with what is wrong with them.
func TestActions(t *testing.T) {
	g := NewWithT(t)
	s, f := serve(t)
	act := func(body string) (int, string) {
		response := request(t, http.MethodPost, s.URL+"/api/actions", body, nil)
		var failed Failure
		g.Expect(json.NewDecoder(response.Body).Decode(&failed)).To(Succeed())
		return response.StatusCode, failed.Error
	}
	code, _ := act(`{"verb":"pause","namespace":"argocd","name":"guestbook","step":2,"dryRun":true}`)
	g.Expect(code).To(Equal(200))
	g.Expect(f.acted).To(Equal([]Action{{Verb: Pause, Namespace: "argocd", Name: "guestbook", Step: 2, DryRun: true}}))
	for body, want := range map[string]string{
		`{"verb":"pause","name":"guestbook"}`: "an action needs a namespace and a name",
		`{"verb":"pause","all":true}`:         `this is no action: json: unknown field "all"`,
		`[`:                                   "this is no action: unexpected EOF",
		`{"verb":"` + strings.Repeat("a", 70_000) + `"}`: "this is no action: http: request body too large",
	} {
		code, text := act(body)
		g.Expect(code).To(Equal(400))
		g.Expect(text).To(Equal(want))
	}
	g.Expect(f.acted).To(HaveLen(1))
}

// TestATimelineIsShort: the newest twenty, and how many more.
func TestATimelineIsShort(t *testing.T) {
	g := NewWithT(t)
	s, _ := serve(t)
	var timeline Timeline
	response := request(t, http.MethodGet, s.URL+"/api/timelines/argocd/guestbook", "", nil)
	g.Expect(json.NewDecoder(response.Body).Decode(&timeline)).To(Succeed())
	g.Expect(timeline.Rollouts).To(HaveLen(20))
	g.Expect(timeline.More).To(Equal(3))
}

// TestAHistory has its newest rollout first, with the addresses of commits, or says why there is none.
func TestAHistory(t *testing.T) {
	g := NewWithT(t)
	s, _ := serve(t)
	ask := func(name string) (h History) {
		response := request(t, http.MethodGet, s.URL+"/api/histories/argocd/"+name, "", nil)
		g.Expect(json.NewDecoder(response.Body).Decode(&h)).To(Succeed())
		return h
	}
	h, commit := ask("guestbook"), strings.Repeat("a", 40)
	g.Expect(h.Problem).To(BeEmpty())
	g.Expect(h.Rollouts).To(HaveLen(2))
	g.Expect(h.Rollouts[0].Revision).To(Equal("1.0.0"))
	g.Expect(h.Commits).To(Equal(map[string]string{commit: "https://github.com/example/shop/commit/" + commit}))
	h = ask("forbidden")
	g.Expect(h.Problem).To(Equal("You may not read the history: ask for the right to get ConfigMaps in namespace " +
		"stepgate."))
	g.Expect(h.Rollouts).To(BeEmpty())
}
