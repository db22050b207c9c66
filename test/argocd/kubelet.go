// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

const portForwardProtocol = "portforward.k8s.io"

// kubelet answers the one thing that is asked of a kubelet here: to forward a port of a Pod. The argocd CLI in its core
// mode reaches the repo-server and Redis in this way; both are processes of this machine.
type kubelet struct {
	server *httptest.Server
	// target is the address behind a port.
	target func(port string) string
}

func startKubelet(target func(port string) string) *kubelet {
	k := &kubelet{target: target}
	k.server = httptest.NewTLSServer(http.HandlerFunc(k.forward))
	return k
}

// port is where the API server finds it.
func (k *kubelet) port() int { return k.server.Listener.Addr().(*net.TCPAddr).Port }

func (k *kubelet) stop() {
	k.server.CloseClientConnections()
	k.server.Close()
}

func (k *kubelet) forward(w http.ResponseWriter, request *http.Request) {
	if _, err := httpstream.Handshake(request, w, []string{portForwardProtocol}); err != nil {
		return
	}
	streams := make(chan httpstream.Stream, 8)
	conn := spdy.NewResponseUpgrader().UpgradeResponse(w, request, func(s httpstream.Stream, _ <-chan struct{}) error {
		streams <- s
		return nil
	})
	if conn == nil {
		return
	}
	defer func() { _ = conn.Close() }()
	// Every forwarded connection is a pair of streams with the same ID: one for the data, one for an error.
	problems := map[string]httpstream.Stream{}
	for {
		select {
		case <-conn.CloseChan():
			return
		case s := <-streams:
			id := s.Headers().Get(corev1.PortForwardRequestIDHeader)
			if s.Headers().Get(corev1.StreamType) == corev1.StreamTypeError {
				problems[id] = s
				continue
			}
			go k.copy(s, problems[id])
		}
	}
}

// copy carries the bytes of one connection both ways.
func (k *kubelet) copy(data, problem httpstream.Stream) {
	target, err := net.Dial("tcp", k.target(data.Headers().Get(corev1.PortHeader)))
	if err != nil {
		_, _ = io.WriteString(problem, err.Error())
		_ = problem.Close()
		_ = data.Reset()
		return
	}
	var both sync.WaitGroup
	both.Go(func() {
		_, _ = io.Copy(data, target)
		_ = data.Close()
	})
	both.Go(func() {
		_, _ = io.Copy(target, data)
		_ = target.Close()
	})
	both.Wait()
	_ = problem.Close()
}
