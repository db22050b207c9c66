// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"
)

// dialTimeout bounds a handshake with a replica.
const dialTimeout = 5 * time.Second

// Handshake gets the certificates that an address serves for a host, without judging them.
func Handshake(ctx context.Context, address, host string) ([]*x509.Certificate, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	var chain []*x509.Certificate
	config := &tls.Config{
		MinVersion: tls.VersionTLS12, ServerName: host,
		InsecureSkipVerify: true, //nolint:gosec // the checks verify the chain against the caBundle; nothing is sent
		VerifyConnection: func(state tls.ConnectionState) error {
			chain = state.PeerCertificates
			return nil
		},
	}
	connection, err := (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", address)
	if err == nil {
		err = connection.Close()
	}
	// A server that wants a client certificate has shown its own before it ends the connection.
	if len(chain) > 0 {
		return chain, nil
	}
	if err == nil {
		err = errors.New("it shows no certificate")
	}
	return nil, err
}

// OfURL gets the certificates of a webhook that the API server calls by URL.
func OfURL(ctx context.Context, address string) ([]*x509.Certificate, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	port := u.Port()
	if port == "" {
		port = "443"
	}
	return Handshake(ctx, net.JoinHostPort(u.Hostname(), port), u.Hostname())
}

// OfPod returns a function that gets the certificates of a Pod by a port-forward.
func OfPod(
	config *rest.Config, kube kubernetes.Interface,
) func(ctx context.Context, namespace, pod string, port int32, host string) ([]*x509.Certificate, error) {
	return func(ctx context.Context, namespace, pod string, port int32, host string) ([]*x509.Certificate, error) {
		transport, upgrader, err := spdy.RoundTripperFor(config)
		if err != nil {
			return nil, err
		}
		to := kube.CoreV1().RESTClient().Post().Resource("pods").Namespace(namespace).Name(pod).
			SubResource("portforward").URL()
		return forwarded(ctx, spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, to),
			port, host)
	}
}

// forwarded makes a handshake through a port-forward.
func forwarded(ctx context.Context, dialer httpstream.Dialer, port int32, host string) ([]*x509.Certificate, error) {
	stop, ready, failed := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	defer close(stop)
	forwarder, err := portforward.NewOnAddressesForStreaming(dialer, []string{"127.0.0.1"},
		[]string{fmt.Sprintf("0:%d", port)}, stop, ready, io.Discard, io.Discard)
	if err != nil {
		return nil, err
	}
	go func() { failed <- forwarder.ForwardPorts() }()
	select {
	case err := <-failed:
		return nil, err
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(dialTimeout):
		return nil, errors.New("the port-forward did not open in time")
	case <-ready:
	}
	ports, err := forwarder.GetPorts()
	if err != nil {
		return nil, err
	}
	return Handshake(ctx, fmt.Sprintf("127.0.0.1:%d", ports[0].Local), host)
}
