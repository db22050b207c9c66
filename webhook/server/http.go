// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

const (
	// longestTimeout is the highest timeoutSeconds that a webhook can have.
	longestTimeout = 30 * time.Second
	// defaultTimeout applies when the API server does not send a timeout: timeoutSeconds of config/.
	defaultTimeout = 5 * time.Second
)

// lateText is the answer to a request whose handler has not ended at its deadline.
const lateText = "stepgate cannot decide: its handler has not ended in time; see its log"

// Counter counts answered HTTP requests by the path of their handler and by status code.
type Counter interface {
	Count(path string, code int)
}

// NewHandler returns what a Server serves, without TLS and draining: each admission handler at its path, and 404 at any
// other path. Every answer of an admission handler is counted with requests.
func NewHandler(handlers map[string]admission.Handler, requests Counter, log logr.Logger) http.Handler {
	mux, budget := http.NewServeMux(), newBudget(clock.RealClock{})
	for path, handler := range handlers {
		mux.Handle(path, &endpoint{
			path: path, handler: handler, requests: requests, log: log, bodyTimeout: bodyTimeout, budget: budget,
		})
	}
	return mux
}

// endpoint serves one admission handler. It answers a review with HTTP 200. It answers a request that it cannot read
// with HTTP 400, 405, 413 or 415, and a failure with HTTP 5xx; the API server applies failurePolicy to both.
type endpoint struct {
	path     string
	handler  admission.Handler
	requests Counter
	log      logr.Logger
	// bodyTimeout bounds the time for reading a body.
	bodyTimeout time.Duration
	budget      *budget
}

// ServeHTTP answers one AdmissionReview. The handler gets 70 % of the time that the API server waits for the answer.
func (e *endpoint) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	connection := connectionOf(r)
	connection.begin()
	body, err := e.answer(rw, r)
	defer connection.end(err == nil)
	if err == nil {
		e.requests.Count(e.path, http.StatusOK)
		rw.Header().Set("Content-Type", "application/json")
		_, _ = rw.Write(body) // the client may be gone; the API server then applies failurePolicy
		return
	}
	failure := newHTTPError(http.StatusInternalServerError, "stepgate failed; see its log")
	errors.As(err, &failure)
	e.requests.Count(e.path, failure.code())
	e.logFailure(err, failure, r.RemoteAddr)
	failure.write(rw)
}

// logFailure logs at info a request that cannot be handled. A handler logs its own failures, so they are logged at
// debug.
func (e *endpoint) logFailure(err error, failure *httpError, remote string) {
	log := e.log.WithValues("path", e.path, "code", failure.code(), "problem", printable(err.Error()), "remote", remote)
	if failure.code() < http.StatusInternalServerError {
		log.Info("request cannot be handled")
		return
	}
	log.V(1).Info("request failed")
}

// answer returns the AdmissionReview to answer with. An httpError goes to the API server with its text. Any other error
// is a fault of the program or of a handler: it is logged, and the API server gets a general text.
func (e *endpoint) answer(rw http.ResponseWriter, r *http.Request) (body []byte, err error) {
	timeout, err := timeoutOf(r)
	if err != nil {
		return nil, err
	}
	address, _, _ := net.SplitHostPort(r.RemoteAddr)
	if e.budget.overdue.refuses(address) {
		return nil, newHTTPError(http.StatusServiceUnavailable, overdueText)
	}
	// The rest of the time is for the answer that there is no decision, even on a machine that is short of CPU.
	ctx, cancel := context.WithTimeout(r.Context(), timeout*7/10)
	defer cancel()
	text, release, err := e.readBody(ctx, rw, r, address)
	if err != nil {
		return nil, err
	}
	reserved, err := e.budget.handling(ctx, address, text) // of the text, too
	release()
	if err != nil {
		return nil, err
	}
	connectionOf(r).decide()
	handled := make(chan answered, 1)
	go func() {
		body, err := e.handle(ctx, text)
		reserved.release()
		handled <- answered{body, err}
	}()
	return e.await(ctx, timeout/20, handled, reserved)
}

// answered is what comes of a request.
type answered struct {
	body []byte
	err  error
}

// await waits for a handler until its deadline, and then for a moment: one that heeds it says more than that its time
// is over. One that does not goes on, and its memory is given to others.
func (e *endpoint) await(
	ctx context.Context, moment time.Duration, handled <-chan answered, reserved *reservation,
) ([]byte, error) {
	select {
	case a := <-handled:
		return a.body, a.err
	case <-ctx.Done():
	}
	last := time.NewTimer(moment)
	defer last.Stop()
	select {
	case a := <-handled:
		return a.body, a.err
	case <-last.C:
	}
	reserved.expire()
	e.log.Info("a handler goes on past its deadline", "path", e.path, "remote", reserved.address)
	return nil, newHTTPError(http.StatusServiceUnavailable, lateText)
}

// handle decodes a request and has it handled. It recovers from a panic, which would end the program.
func (e *endpoint) handle(ctx context.Context, text []byte) (body []byte, err error) {
	log := e.log
	defer func() {
		if p := recover(); p != nil {
			err = errors.New("panic: " + printable(fmt.Sprint(p)))
			log.Error(err, "panic while handling a request", "path", e.path, "stack", string(debug.Stack()))
		}
	}()
	req, err := decodeRequest(text)
	if err != nil {
		return nil, err
	}
	log = log.WithValues("request", printable(string(req.UID)), "namespace", printable(req.Namespace), "user",
		printable(req.UserInfo.Username))
	body, err = reviewOf(e.handler.Handle(logr.NewContext(ctx, log), *req), *req)
	if _, intended := errors.AsType[*httpError](err); err != nil && !intended {
		log.Error(err, "response of a handler cannot be encoded", "path", e.path)
	}
	return body, err
}

// timeoutOf returns how long the API server waits for the answer. The API server sends it with every call.
func timeoutOf(r *http.Request) (time.Duration, error) {
	text := r.URL.Query().Get("timeout")
	if text == "" {
		return defaultTimeout, nil
	}
	timeout, err := time.ParseDuration(text)
	if err != nil || timeout <= 0 {
		return 0, newHTTPError(http.StatusBadRequest,
			fmt.Sprintf("the query parameter timeout is not a positive duration: %+.100q", text))
	}
	return min(timeout, longestTimeout), nil
}
