// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/gzhttp"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/cache"

	"github.com/stepgate/stepgate/cmd/audit"
	"github.com/stepgate/stepgate/cmd/rollout"
)

// Facts are what the dashboard shows, and does.
type Facts interface {
	// Changed is closed when something is different, or when it is time to look again.
	Changed() <-chan struct{}
	// Where are the context of the kubeconfig, and the namespace that is shown; empty for all.
	Where() (kubeContext, namespace string)
	// Problem says why what is known may be old; empty if it is not.
	Problem() string
	// Rollouts are all of ApplicationSets with steps, and of what comes after others.
	Rollouts() []*rollout.Rollout
	// Rollout is one; nil if it does not exist.
	Rollout(ctx context.Context, name types.NamespacedName) *rollout.Rollout
	// Rights are what the user may do in a namespace; none where the API server does not tell.
	Rights(ctx context.Context, namespace string) Rights
	// ArgoCD is the address of Argo CD's UI; empty if it is not known.
	ArgoCD() string
	// Explain, Timeline and Act ask the API server.
	Explain(ctx context.Context, app types.NamespacedName) (*Explained, error)
	Timeline(ctx context.Context, name types.NamespacedName) ([]audit.Rollout, error)
	Act(ctx context.Context, a Action) Answer
	// History reads what stepgate has kept of the past; nil if there is no such ApplicationSet.
	History(ctx context.Context, name types.NamespacedName) (*History, error)
}

const (
	// mostPast is how many rollouts of the past are shown.
	mostPast = 20
	// mostBody bounds the body of a request, in bytes.
	mostBody = 64 << 10
	// cookie has the key, and pageHeader stands in every request of the page: no other site can send it unasked.
	cookie     = "stepgate-dashboard"
	pageHeader = "Stepgate-Page"
)

// KeyFor is how long a browser keeps the key, and how long a key is used.
const KeyFor = 7 * 24 * time.Hour

// Secrets are what lets somebody ask. The page shows the token, which stands in the address, once, and gets the key in a
// cookie that no script reads.
type Secrets struct{ Token, Key string }

// policyOfContent lets the page load its own files and ask its own server, and nothing else.
const policyOfContent = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

type server struct {
	facts   Facts
	secrets Secrets
	// reached is called at the first request with the token.
	reached func()
	mu      sync.Mutex
	views   *cache.LRUExpireCache
}

// New serves a page and the facts that it shows. host is the only one, with its port, by which it may be called, so that
// no name of somebody else leads to it. Facts need the key. reached is called when somebody has shown the token for the
// first time: what led there is not needed any more.
func New(facts Facts, page fs.FS, host string, secrets Secrets, reached func()) http.Handler {
	s := &server{
		facts: facts, secrets: secrets, reached: sync.OnceFunc(reached), views: cache.NewLRUExpireCache(mostViews),
	}
	api := http.NewServeMux()
	api.HandleFunc("GET /api/overview", s.overview)
	api.HandleFunc("GET /api/rollouts/{namespace}/{name}", s.rollout)
	api.HandleFunc("GET /api/applications/{namespace}/{name}", s.application)
	api.HandleFunc("GET /api/timelines/{namespace}/{name}", s.timeline)
	api.HandleFunc("GET /api/histories/{namespace}/{name}", s.history)
	api.HandleFunc("POST /api/actions", s.act)
	all := http.NewServeMux()
	all.Handle("/api/", s.authenticated(api))
	all.HandleFunc("POST /api/session", s.session)
	all.Handle("/", http.FileServerFS(page))
	return local(host, gzhttp.GzipHandler(all))
}

// local refuses what another site sends, and forbids pages to embed this one.
func local(host string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policyOfContent)
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		origin := r.Header.Get("Origin")
		switch {
		case r.Host != host:
			fail(w, http.StatusMisdirectedRequest, "this is http://"+host+", and no other host")
		case origin != "" && origin != "http://"+host:
			fail(w, http.StatusForbidden, "no other site may ask the dashboard")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// session gives the key to whoever shows the token.
func (s *server) session(w http.ResponseWriter, r *http.Request) {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !same(token, s.secrets.Token) {
		fail(w, http.StatusUnauthorized, "the token is not this one: open the address that stepgate dashboard has printed")
		return
	}
	s.reached()
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // not Secure: this is plain HTTP, which never leaves the machine
		Name: cookie, Value: s.secrets.Key, Path: "/api/", MaxAge: int(KeyFor.Seconds()), HttpOnly: true,
		SameSite: http.SameSiteStrictMode,
	})
	w.WriteHeader(http.StatusNoContent)
}

// authenticated lets the page through that has the key. Cookies go to every port of 127.0.0.1, and come from its pages:
// so it also wants a header that these cannot send.
func (s *server) authenticated(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		has := func(c *http.Cookie) bool { return same(c.Value, s.secrets.Key) }
		switch {
		case r.Header.Get(pageHeader) == "":
			fail(w, http.StatusForbidden, "only the page may ask: the header "+pageHeader+" is missing")
		case !slices.ContainsFunc(r.CookiesNamed(cookie), has):
			fail(w, http.StatusUnauthorized, "the cookie is missing or old: open the address that stepgate dashboard "+
				"has printed")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

func nameOf(r *http.Request) types.NamespacedName {
	return types.NamespacedName{Namespace: r.PathValue("namespace"), Name: r.PathValue("name")}
}

func (s *server) overview(w http.ResponseWriter, r *http.Request) {
	s.show(w, r, func(context.Context) (seen, error) {
		kubeContext, namespace := s.facts.Where()
		o := Overview{Context: kubeContext, Namespace: namespace, Problem: s.facts.Problem(), Rows: []Row{}}
		for _, r := range s.facts.Rollouts() {
			o.Rows = append(o.Rows, rowOf(r))
		}
		return o, nil
	})
}

func (s *server) rollout(w http.ResponseWriter, r *http.Request) {
	name := nameOf(r)
	s.show(w, r, func(ctx context.Context) (seen, error) {
		found := s.facts.Rollout(ctx, name)
		if found == nil {
			return nil, errors.New("there is no ApplicationSet " + name.String())
		}
		d := detailOf(found, s.facts.Problem(), s.facts.Rights(ctx, name.Namespace))
		d.ArgoCD = s.facts.ArgoCD()
		return d, nil
	})
}

func (s *server) application(w http.ResponseWriter, r *http.Request) {
	explained, err := s.facts.Explain(r.Context(), nameOf(r))
	if err != nil {
		fail(w, http.StatusBadGateway, err.Error())
		return
	}
	WriteJSON(w, http.StatusOK, explained)
}

func (s *server) timeline(w http.ResponseWriter, r *http.Request) {
	all, err := s.facts.Timeline(r.Context(), nameOf(r))
	if err != nil {
		fail(w, http.StatusBadGateway, err.Error())
		return
	}
	shown := all[:min(len(all), mostPast)]
	WriteJSON(w, http.StatusOK, Timeline{Rollouts: append([]audit.Rollout{}, shown...), More: len(all) - len(shown)})
}

func (s *server) history(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), mostTime)
	defer cancel()
	h, err := s.facts.History(ctx, nameOf(r))
	switch {
	case err != nil:
		fail(w, http.StatusBadGateway, err.Error())
	case h == nil:
		fail(w, http.StatusNotFound, "there is no ApplicationSet "+nameOf(r).String())
	default:
		WriteJSON(w, http.StatusOK, h)
	}
}

func (s *server) act(w http.ResponseWriter, r *http.Request) {
	var a Action
	body := json.NewDecoder(http.MaxBytesReader(w, r.Body, mostBody))
	body.DisallowUnknownFields()
	if err := body.Decode(&a); err != nil {
		fail(w, http.StatusBadRequest, "this is no action: "+err.Error())
		return
	}
	if a.Namespace == "" || a.Name == "" {
		fail(w, http.StatusBadRequest, "an action needs a namespace and a name")
		return
	}
	WriteJSON(w, http.StatusOK, s.facts.Act(r.Context(), a))
}

// WriteJSON answers a request.
func WriteJSON(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body) // whoever asked is gone
}

func fail(w http.ResponseWriter, code int, text string) { WriteJSON(w, code, Failure{Error: text}) }
