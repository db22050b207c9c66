// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"bytes"
	"net/http"

	"github.com/stepgate/stepgate/webhook/server"
)

// mostScrapes is how many scrapes are answered at once.
const mostScrapes = 2

// scrapes answers some scrapes at once; others wait, and not for long: the connections are bounded. So many scrapes of
// others neither take all processors nor have one of Prometheus refused. An answer is sent when it is complete: one who
// reads it slowly holds up nobody.
type scrapes struct {
	metrics http.Handler
	room    chan struct{}
}

func newScrapes(metrics http.Handler) *scrapes {
	return &scrapes{metrics: metrics, room: make(chan struct{}, mostScrapes)}
}

// ServeHTTP implements http.Handler.
func (s *scrapes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case s.room <- struct{}{}:
	case <-r.Context().Done():
		return
	}
	answer := &answer{header: w.Header(), code: http.StatusOK}
	func() {
		defer func() { <-s.room }()
		s.metrics.ServeHTTP(answer, r)
	}()
	server.Sending(r)
	w.WriteHeader(answer.code)
	_, _ = answer.body.WriteTo(w) // the client may be gone
}

// answer is an answer that has not been sent.
type answer struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter, as the other methods.
func (a *answer) Header() http.Header { return a.header }

func (a *answer) WriteHeader(code int) { a.code = code }

func (a *answer) Write(text []byte) (int, error) { return a.body.Write(text) }
