// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"

	"k8s.io/client-go/rest"
)

// RefusePages makes clients fail with a clear error where something else than an API server answers: the login page of
// a proxy may have any HTTP status, and client-go would print it, or take a 404 for an object that does not exist.
func RefusePages(config *rest.Config) {
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return noPages{next} })
}

// noPages is a RoundTripper that takes a web page for an error.
type noPages struct{ next http.RoundTripper }

// sniffed is how much of an answer tells a page from other text.
const sniffed = 512

// RoundTrip implements http.RoundTripper.
func (n noPages) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := n.next.RoundTrip(request)
	if err != nil || response.StatusCode == http.StatusSwitchingProtocols ||
		strings.HasPrefix(response.Header.Get("Content-Type"), "application/") {
		return response, err
	}
	isPage := strings.HasPrefix(response.Header.Get("Content-Type"), "text/html")
	body := bufio.NewReader(response.Body)
	start, _ := body.Peek(sniffed) // an error comes again with the next read
	if !isPage && !strings.HasPrefix(http.DetectContentType(start), "text/html") {
		response.Body = peeked{body, response.Body}
		return response, nil
	}
	_ = response.Body.Close()
	return nil, &PageError{Status: response.StatusCode}
}

// PageError says that a web page came back, and no answer of an API server.
type PageError struct{ Status int }

// Error implements error.
func (e *PageError) Error() string {
	return fmt.Sprintf("a web page with HTTP status %d came back, and no answer of Kubernetes: a proxy or a login page "+
		"is in between; log in again, and look at the server of the kubeconfig's context", e.Status)
}

// peeked is a body of which the start has been looked at.
type peeked struct {
	io.Reader
	io.Closer
}
