// SPDX-License-Identifier: Apache-2.0

package faultproxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"strings"
	"sync"

	"k8s.io/client-go/rest"

	"github.com/stepgate/stepgate/test/cluster"
)

// The kinds of requests that stepgate sends to the API server.
const (
	GetSet       = "get ApplicationSet"
	ListSet      = "list metadata of ApplicationSets"
	WatchSets    = "watch ApplicationSets"
	ListSets     = "list ApplicationSets"
	GetApp       = "get Application"
	ListVersions = "list metadata of Applications"
	ListApps     = "list Applications"
	WatchApps    = "watch Applications"
	Refresh      = "patch Application"
	Barrier      = "patch the write barrier"
	PostEvent    = "create Event"
	Secrets      = "Secret"
	Configure    = "ValidatingWebhookConfiguration"
	Other        = "other"
)

// APIProxy is an HTTPS proxy in front of the API server that answers some requests itself, wrongly. It has the API
// server's own certificate, so that only the address has to change in a kubeconfig. Its Wire disturbs the connections
// below HTTP.
type APIProxy struct {
	*Wire

	server   *http.Server
	upstream http.Handler

	mu     sync.Mutex
	faults []Fault
	counts map[string]int
	frozen chan struct{} // closed while watches deliver
}

// Fault handles a request before, or instead of, the API server.
type Fault func(kind string, rw http.ResponseWriter, r *http.Request, next http.Handler)

// NewAPIProxy starts a proxy in front of a cluster's API server. It ends with the cluster.
func NewAPIProxy(c *cluster.Cluster) (*APIProxy, error) {
	target, err := c.URL()
	if err != nil {
		return nil, err
	}
	// Every client shows its own token; the proxy has no credentials.
	transport, err := rest.TransportFor(&rest.Config{
		Host: c.Config.Host, TLSClientConfig: rest.TLSClientConfig{CAData: c.Config.CAData},
	})
	if err != nil {
		return nil, err
	}
	wire, err := NewWire()
	if err != nil {
		return nil, err
	}
	p := &APIProxy{Wire: wire, counts: map[string]int{}, frozen: make(chan struct{})}
	close(p.frozen)
	quiet := log.New(io.Discard, "", 0)
	upstream := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     transport,
		FlushInterval: -1,
		ErrorLog:      quiet,
	}
	p.upstream = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if kind := kindOf(r); kind == WatchApps || kind == WatchSets {
			rw = &watchWriter{ResponseWriter: rw, proxy: p, ctx: r.Context()}
		}
		upstream.ServeHTTP(rw, r)
	})
	p.server = &http.Server{Handler: p, ErrorLog: quiet, ReadHeaderTimeout: 0}
	certificate, key := c.ServingCertificate()
	go func() { _ = p.server.ServeTLS(wire, certificate, key) }()
	c.Cleanup(p.Close)
	return p, nil
}

// URL is the address for a kubeconfig.
func (p *APIProxy) URL() string { return "https://" + p.Addr().String() }

// Set replaces the faults that happen to every request; the first is the outermost.
func (p *APIProxy) Set(faults ...Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = faults
}

// Freeze stops what watches deliver, without ending them: the half-open watch.
func (p *APIProxy) Freeze() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.frozen:
		p.frozen = make(chan struct{})
	default:
	}
}

// Heal ends all faults. A frozen watch delivers the events that it has held back.
func (p *APIProxy) Heal() {
	p.Set()
	p.Wire.Heal()
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.frozen:
	default:
		close(p.frozen)
	}
}

// Close closes everything.
func (p *APIProxy) Close() {
	p.Heal()
	_ = p.server.Close()
	_ = p.Wire.Close()
}

// Count is how many requests of some kinds it has received.
func (p *APIProxy) Count(kinds ...string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, kind := range kinds {
		n += p.counts[kind]
	}
	return n
}

// ServeHTTP forwards one request through the faults.
func (p *APIProxy) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	kind := kindOf(r)
	p.mu.Lock()
	p.counts[kind]++
	faults := p.faults
	p.mu.Unlock()
	handler := p.upstream
	for i := len(faults) - 1; i >= 0; i-- {
		fault, next := faults[i], handler
		handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { fault(kind, rw, r, next) })
	}
	handler.ServeHTTP(rw, r)
}

func kindOf(r *http.Request) string {
	path := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	has := func(segment string) (at int, found bool) {
		for i, s := range path {
			if s == segment {
				return i, true
			}
		}
		return 0, false
	}
	named := func(at int) bool { return at+1 < len(path) }
	if at, ok := has("applications"); ok && r.Method == http.MethodPatch {
		if named(at) && strings.HasSuffix(path[at+1], "-barrier") {
			return Barrier
		}
		return Refresh
	}
	for resource, kinds := range map[string][4]string{
		"applicationsets": {GetSet, WatchSets, ListSet, ListSets},
		"applications":    {GetApp, WatchApps, ListVersions, ListApps},
	} {
		at, ok := has(resource)
		switch {
		case !ok || r.Method != http.MethodGet:
		case named(at):
			return kinds[0]
		case r.URL.Query().Get("watch") != "":
			return kinds[1]
		case strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadataList"):
			return kinds[2]
		default:
			return kinds[3]
		}
	}
	for segment, kind := range map[string]string{
		"events": PostEvent, "secrets": Secrets, "validatingwebhookconfigurations": Configure,
	} {
		if _, ok := has(segment); ok {
			return kind
		}
	}
	return Other
}

// watchWriter writes nothing while the proxy is frozen.
type watchWriter struct {
	http.ResponseWriter
	proxy *APIProxy
	ctx   context.Context
}

// Write waits until the proxy is not frozen.
func (w *watchWriter) Write(p []byte) (int, error) {
	w.proxy.mu.Lock()
	frozen := w.proxy.frozen
	w.proxy.mu.Unlock()
	select {
	case <-frozen:
		return w.ResponseWriter.Write(p)
	case <-w.ctx.Done():
		return 0, fmt.Errorf("frozen watch: %w", errors.Join(w.ctx.Err(), io.ErrClosedPipe))
	}
}

// Unwrap lets http.ResponseController flush.
func (w *watchWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
