// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/stepgate/stepgate/cmd/serve"
	"github.com/stepgate/stepgate/webhook/server"
)

// source is a certificate source that is ready or not.
type source struct{ err error }

func (s source) Start(context.Context) error                                   { return nil }
func (s source) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) { return nil, s.err }
func (s source) Ready() error                                                  { return s.err }

// known is a cache that is complete or not.
type known bool

func (k known) Synced() bool { return bool(k) }

// A replica is ready when a call would be answered with a decision: not on its way out, with a certificate that the API
// server accepts, and with an API server that answers. It is alive in any case.
func TestReadiness(t *testing.T) {
	for name, tc := range map[string]struct {
		certificate error
		api         int // the status code of the API server; 0 is none
		draining    bool
		unlisted    bool
		want        string
	}{
		"ready":                          {nil, 200, false, false, "ok\n"},
		"no certificate yet":             {errors.New("no serving certificate yet"), 200, false, false, "not ready: no serving certificate yet\n"},
		"Applications not listed yet":    {nil, 200, false, true, "not ready: the Applications and ApplicationSets have not been listed yet: if this lasts, see that Argo CD's CRDs are installed and that stepgate's service account may list and watch them\n"},
		"an API server that is not well": {nil, 500, false, false, "not ready: the API server cannot be reached: an error on the server (\"\") has prevented the request from succeeding\n"},
		"shutting down":                  {nil, 200, true, false, "not ready: shutting down\n"},
		"shutting down without the rest": {errors.New("no serving certificate yet"), 500, true, true, "not ready: shutting down\n"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			api := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				g.Expect(r.URL.Path).To(Equal("/version"))
				rw.WriteHeader(tc.api)
			}))
			defer api.Close()
			clientset, err := kubernetes.NewForConfig(&rest.Config{Host: api.URL})
			g.Expect(err).NotTo(HaveOccurred())
			server, err := server.Listen(server.Options{
				Address: "127.0.0.1:0", GetCertificate: source{}.GetCertificate, ShutdownDelay: 50 * time.Millisecond, Log: logr.Discard(),
			})
			g.Expect(err).NotTo(HaveOccurred())
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- server.Run(ctx) }()
			defer func() { cancel(); g.Expect(<-ended).To(Succeed()) }()
			if tc.draining {
				cancel()
				g.Eventually(server.Draining).Should(BeTrue())
			}
			mux := serve.ProbesMux((&readiness{
				server: server, source: source{tc.certificate}, known: known(!tc.unlisted),
				api: serve.NewReached(clientset.Discovery().RESTClient(), clock.RealClock{}),
			}).check)

			rw := httptest.NewRecorder()
			mux.ServeHTTP(rw, httptest.NewRequest(http.MethodGet, "/readyz", nil))
			g.Expect(rw.Body.String()).To(Equal(tc.want))
			wantCode := 503
			if tc.want == "ok\n" {
				wantCode = 200
			}
			g.Expect(rw.Code).To(Equal(wantCode))

			rw = httptest.NewRecorder()
			mux.ServeHTTP(rw, httptest.NewRequest(http.MethodGet, "/healthz", nil))
			g.Expect(rw.Code).To(Equal(200))
			g.Expect(rw.Body.String()).To(Equal("ok\n"))
		})
	}
}
