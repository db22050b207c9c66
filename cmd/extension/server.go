// SPDX-License-Identifier: Apache-2.0

package extension

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/go-logr/logr"

	"github.com/stepgate/stepgate/cmd/dashboard"
	"github.com/stepgate/stepgate/policy"
)

const (
	// mostAtOnce is how many requests are answered at a time: admission comes first.
	mostAtOnce = 4
	// mostTime is how long the reads of one request may take.
	mostTime = 5 * time.Second
)

// server answers requests that argocd-server passes on.
type server struct {
	facts *Facts
	log   logr.Logger
	// places has room for the requests that are being answered.
	places chan struct{}
}

// New returns a handler for the requests of one argocd-server, which knows the secrets in the files.
func New(facts *Facts, tokens Tokens, log logr.Logger) http.Handler {
	s := &server{facts: facts, log: log, places: make(chan struct{}, mostAtOnce)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/rollout", s.answer(func(_ context.Context, a asked) (any, error) {
		rights := dashboard.Rights{Annotate: facts.Writes != nil && !a.set.Parent()}
		return dashboard.DetailAt(facts.rollout(a), facts.now(), rights), nil
	}))
	mux.HandleFunc("GET /api/v1/status", s.answer(func(_ context.Context, a asked) (any, error) {
		return facts.status(a), nil
	}))
	mux.HandleFunc("GET /api/v1/explanation", s.answer(func(ctx context.Context, a asked) (any, error) {
		return facts.explain(ctx, a)
	}))
	mux.HandleFunc("GET /api/v1/history", s.answer(func(ctx context.Context, a asked) (any, error) {
		return facts.history(ctx, a)
	}))
	all := http.NewServeMux()
	all.Handle("/", s.guard(tokens.mayRead, mux))
	if facts.Writes != nil {
		all.Handle("POST /api/v1/actions", s.guard(tokens.mayAct, http.HandlerFunc(s.act)))
	}
	return all
}

// guard lets argocd-server alone through, and few of its requests at a time.
func (s *server) guard(check func(http.Header) error, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		if err := check(r.Header); err != nil {
			s.fail(w, r, err)
			return
		}
		select {
		case s.places <- struct{}{}:
			defer func() { <-s.places }()
			next.ServeHTTP(w, r)
		default:
			h.Set("Retry-After", "1")
			s.fail(w, r, &failure{http.StatusTooManyRequests, "too many requests at once; ask again in a moment"})
		}
	})
}

// answer answers about the Application that the headers name.
func (s *server) answer(facts func(context.Context, asked) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), mostTime)
		defer cancel()
		a, err := s.facts.asked(r.Header, r.URL.Query().Get("order"))
		if err != nil {
			s.fail(w, r, err)
			return
		}
		body, err := facts(ctx, a)
		if err != nil {
			s.fail(w, r, err)
			return
		}
		dashboard.WriteJSON(w, http.StatusOK, body)
	}
}

// failure is an answer that has no facts.
type failure struct {
	code int
	text string
}

// Error implements error.
func (f *failure) Error() string { return f.text }

func refused(text string) *failure { return &failure{http.StatusForbidden, text} }

// fail answers with the text of a failure. The text of another error is for the log.
func (s *server) fail(w http.ResponseWriter, r *http.Request, err error) {
	var f *failure
	if !errors.As(err, &f) {
		s.log.Error(err, "no answer for Argo CD's UI", "path", policy.ClientText(r.URL.Path))
		f = &failure{http.StatusBadGateway, "stepgate could not read the Application; its log says why"}
	}
	s.log.V(1).Info("no answer for Argo CD's UI", "code", f.code, "reason", f.text)
	dashboard.WriteJSON(w, f.code, dashboard.Failure{Error: f.text})
}
