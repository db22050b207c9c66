package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/cmd/flags"
)

var teapot = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })

func TestEndpointIsServedUntilTheEnd(t *testing.T) {
	g := NewWithT(t)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(free.Close()).To(Succeed())
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- endpoint{address: free.Addr().String(), handler: teapot}.serve(ctx) }()

	g.Eventually(func(g Gomega) {
		response, err := http.Get(fmt.Sprintf("http://%s/", free.Addr()))
		g.Expect(err).NotTo(HaveOccurred())
		_, err = io.Copy(io.Discard, response.Body)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(response.Body.Close()).To(Succeed())
		g.Expect(response.StatusCode).To(Equal(http.StatusTeapot))
	}).Should(Succeed())
	cancel()
	g.Eventually(done).Should(Receive(BeNil()))
}

func TestEndpointThatIsDisabled(t *testing.T) {
	NewWithT(t).Expect(endpoint{address: flags.Disabled, handler: teapot}.serve(t.Context())).To(Succeed())
}

func TestEndpointNamesItsFlag(t *testing.T) {
	g := NewWithT(t)
	e := endpoint{flag: "--metrics-bind-address", address: listen(t), handler: teapot}
	g.Expect(e.serve(t.Context())).To(MatchError(And(HavePrefix("--metrics-bind-address: listen tcp "),
		HaveSuffix("address already in use"))))
}
