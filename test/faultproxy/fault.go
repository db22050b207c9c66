// SPDX-License-Identifier: Apache-2.0

package faultproxy

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Only limits a fault to requests of some kinds.
func Only(fault Fault, kinds ...string) Fault {
	return func(kind string, rw http.ResponseWriter, r *http.Request, next http.Handler) {
		if slices.Contains(kinds, kind) {
			fault(kind, rw, r, next)
			return
		}
		next.ServeHTTP(rw, r)
	}
}

// Nth limits a fault to the k-th request that it would happen to, counted from 1.
func Nth(k int, fault Fault) Fault {
	var seen atomic.Int64
	return func(kind string, rw http.ResponseWriter, r *http.Request, next http.Handler) {
		if seen.Add(1) == int64(k) {
			fault(kind, rw, r, next)
			return
		}
		next.ServeHTTP(rw, r)
	}
}

// Record remembers when requests came, by kind.
type Record struct {
	mu sync.Mutex
	at map[string][]time.Time
}

// Note is a Fault that does nothing but remember.
func (r *Record) Note(kind string, rw http.ResponseWriter, request *http.Request, next http.Handler) {
	r.mu.Lock()
	if r.at == nil {
		r.at = map[string][]time.Time{}
	}
	r.at[kind] = append(r.at[kind], time.Now())
	r.mu.Unlock()
	next.ServeHTTP(rw, request)
}

// Count is how many requests of a kind have come.
func (r *Record) Count(kind string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.at[kind])
}

// Fullest is how many requests of a kind a token bucket with so many tokens a second has to hold at least, to let them
// pass when they came.
func (r *Record) Fullest(kind string, perSecond float64) float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	most, level, last := 0.0, 0.0, time.Time{}
	for _, at := range r.at[kind] {
		level = max(0, level-perSecond*at.Sub(last).Seconds()) + 1
		most, last = max(most, level), at
	}
	return most
}

// Late forwards a request after a time, if the client still waits.
func Late(by time.Duration) Fault {
	return func(_ string, rw http.ResponseWriter, r *http.Request, next http.Handler) {
		timer := time.NewTimer(by)
		defer timer.Stop()
		select {
		case <-timer.C:
			next.ServeHTTP(rw, r)
		case <-r.Context().Done():
		}
	}
}

// Answer answers with a Status of this code. retryAfter is the header of that name in seconds; 0 leaves it out.
func Answer(code, retryAfter int, reason metav1.StatusReason) Fault {
	return func(_ string, rw http.ResponseWriter, _ *http.Request, _ http.Handler) {
		if retryAfter > 0 {
			rw.Header().Set("Retry-After", strconv.Itoa(retryAfter))
		}
		rw.Header().Set("Content-Type", "application/json")
		rw.WriteHeader(code)
		_ = json.NewEncoder(rw).Encode(metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
			Status:   metav1.StatusFailure, Code: int32(code), Reason: reason, Message: "injected " + strconv.Itoa(code),
		})
	}
}

// Hang never answers.
func Hang(_ string, _ http.ResponseWriter, r *http.Request, _ http.Handler) { <-r.Context().Done() }

// Abort ends the connection, or the stream, without an answer.
func Abort(string, http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) }

// Lose forwards the request to the API server, and loses the answer.
func Lose(_ string, _ http.ResponseWriter, r *http.Request, next http.Handler) {
	next.ServeHTTP(httptest.NewRecorder(), r)
	<-r.Context().Done()
}

// Truncate breaks off in the middle of the answer.
func Truncate(_ string, rw http.ResponseWriter, r *http.Request, next http.Handler) {
	whole := httptest.NewRecorder()
	next.ServeHTTP(whole, r)
	send(rw, whole, whole.Body.Bytes()[:whole.Body.Len()/2])
	panic(http.ErrAbortHandler)
}

// Garble answers with a body that is no object.
func Garble(_ string, rw http.ResponseWriter, _ *http.Request, _ http.Handler) {
	rw.Header().Set("Content-Type", "application/json")
	_, _ = rw.Write([]byte("<html>proxy error</html>"))
}

// Empty answers 200 with nothing in it.
func Empty(_ string, rw http.ResponseWriter, _ *http.Request, _ http.Handler) {
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(http.StatusOK)
}

// Partial answers a list of metadata with no items and a continue token, as if more were to come.
func Partial(_ string, rw http.ResponseWriter, _ *http.Request, _ http.Handler) {
	rw.Header().Set("Content-Type", "application/json")
	_, _ = rw.Write(
		[]byte(`{"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadataList",` +
			`"metadata":{"resourceVersion":"1","continue":"more"},"items":[]}`),
	)
}

func send(rw http.ResponseWriter, answer *httptest.ResponseRecorder, body []byte) {
	for name, values := range answer.Header() {
		rw.Header()[name] = values
	}
	rw.Header().Set("Content-Length", strconv.Itoa(answer.Body.Len()))
	rw.WriteHeader(answer.Code)
	_, _ = bytes.NewReader(body).WriteTo(rw)
}

// NotServed is the answer of an API server that does not serve the resource, or of a load balancer without a backend.
func NotServed(_ string, rw http.ResponseWriter, _ *http.Request, _ http.Handler) {
	http.Error(rw, "404 page not found", http.StatusNotFound)
}

// Hollow answers with valid JSON and nothing in it.
func Hollow(_ string, rw http.ResponseWriter, _ *http.Request, _ http.Handler) {
	rw.Header().Set("Content-Type", "application/json")
	_, _ = rw.Write([]byte("{}"))
}
