// SPDX-License-Identifier: Apache-2.0

package doctor_test

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"

	"github.com/stepgate/stepgate/cmd/doctor"
)

// replica serves TLS, and wants a client certificate if asked to.
func replica(t *testing.T, clients tls.ClientAuthType) (address string, certificate *x509.Certificate) {
	t.Helper()
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.TLS = &tls.Config{ClientAuth: clients}
	server.Config.ErrorLog = nil
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.Listener.Addr().String(), server.Certificate()
}

func TestOfURL(t *testing.T) {
	for name, clients := range map[string]tls.ClientAuthType{"anybody may call": tls.NoClientCert,
		"a client certificate is required": tls.RequireAnyClientCert} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			address, certificate := replica(t, clients)
			chain, err := doctor.OfURL(t.Context(), "https://"+address+"/validate")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(chain[0].Raw).To(Equal(certificate.Raw))
		})
	}
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	g := NewWithT(t)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(closed.Close()).To(Succeed())
	_, err = doctor.OfURL(t.Context(), "https://"+closed.Addr().String())
	g.Expect(err).To(MatchError(ContainSubstring("connection refused")))
}

// kubelet answers a port-forward as an API server does, and sends it on to an address.
func kubelet(t *testing.T, to string) *rest.Config {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if !strings.HasSuffix(req.URL.Path, "/namespaces/stepgate/pods/stepgate-0/portforward") {
			http.Error(w, "404 page not found", http.StatusNotFound)
			return
		}
		if _, err := httpstream.Handshake(req, w, []string{"portforward.k8s.io"}); err != nil {
			return
		}
		connection := spdy.NewResponseUpgrader().UpgradeResponse(w, req, func(s httpstream.Stream, _ <-chan struct{}) error {
			if s.Headers().Get("streamType") == "data" {
				go forward(s, to)
			}
			return nil
		})
		if connection != nil {
			<-connection.CloseChan()
		}
	}))
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL}
}

func forward(s httpstream.Stream, to string) {
	connection, err := net.Dial("tcp", to)
	if err != nil {
		_ = s.Reset()
		return
	}
	go func() { _, _ = io.Copy(connection, s); _ = connection.Close() }()
	_, _ = io.Copy(s, connection)
	_ = s.Close()
}

// Through a port-forward, the certificate of a Pod is read that nobody outside of the cluster can reach.
func TestOfPod(t *testing.T) {
	g := NewWithT(t)
	address, certificate := replica(t, tls.NoClientCert)
	config := kubelet(t, address)
	kube, err := kubernetes.NewForConfig(config)
	g.Expect(err).NotTo(HaveOccurred())
	chain, err := doctor.OfPod(config, kube)(t.Context(), "stepgate", "stepgate-0", 10250, "stepgate.stepgate.svc")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(chain[0].Raw).To(Equal(certificate.Raw))
	_, err = doctor.OfPod(config, kube)(t.Context(), "stepgate", "other", 10250, "stepgate.stepgate.svc")
	g.Expect(err).To(HaveOccurred())
}
