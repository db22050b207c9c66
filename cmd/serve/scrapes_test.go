// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	. "github.com/onsi/gomega"
)

// TestTwoScrapesAtOnce has more come than are answered at once. They wait, unless their client goes away.
func TestTwoScrapesAtOnce(t *testing.T) {
	g := NewWithT(t)
	begun, end := make(chan struct{}, 10), make(chan struct{})
	s := newScrapes(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		begun <- struct{}{}
		<-end
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, "all of it")
	}))
	answers := make(chan *httptest.ResponseRecorder, 10)
	scrape := func(ctx context.Context) {
		rw := httptest.NewRecorder()
		s.ServeHTTP(rw, httptest.NewRequestWithContext(ctx, http.MethodGet, "/metrics", nil))
		answers <- rw
	}
	for range mostScrapes {
		go scrape(t.Context())
		g.Eventually(begun).Should(Receive())
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	scrape(gone)
	g.Expect((<-answers).Body.String()).To(BeEmpty())
	go scrape(t.Context())
	g.Consistently(begun, "50ms").ShouldNot(Receive(), "it waits")
	close(end)
	for range mostScrapes + 1 {
		rw := <-answers
		g.Expect(rw.Code).To(Equal(http.StatusAccepted))
		g.Expect(rw.Header().Get("Content-Type")).To(Equal("text/plain"))
		g.Expect(rw.Body.String()).To(Equal("all of it"))
	}
}

// slow is a client that does not read.
type slow struct {
	*httptest.ResponseRecorder
	writing, end chan struct{}
}

func (s *slow) Write([]byte) (int, error) {
	s.writing <- struct{}{}
	<-s.end
	return 0, errors.New("gone")
}

// TestASlowReaderHoldsUpNoScrape has as many clients not read as scrapes are answered at once.
func TestASlowReaderHoldsUpNoScrape(t *testing.T) {
	g := NewWithT(t)
	s := newScrapes(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "metrics") }))
	client := &slow{httptest.NewRecorder(), make(chan struct{}), make(chan struct{})}
	defer close(client.end)
	for range mostScrapes {
		go s.ServeHTTP(client, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
		g.Eventually(client.writing).Should(Receive())
	}
	code, text := served(s, "/metrics")
	g.Expect(code).To(Equal(http.StatusOK))
	g.Expect(text).To(Equal("metrics"))
}
