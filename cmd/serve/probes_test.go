// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
)

// TestTheAPIServerIsAskedOnceForAllProbes has many ask at once, and later again.
func TestTheAPIServerIsAskedOnceForAllProbes(t *testing.T) {
	g := NewWithT(t)
	var asked atomic.Int32
	answer := make(chan struct{})
	var code atomic.Int32
	code.Store(http.StatusInternalServerError)
	api := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		<-answer
		rw.WriteHeader(int(code.Load()))
	}))
	defer api.Close()
	clientset, err := kubernetes.NewForConfig(&rest.Config{Host: api.URL})
	g.Expect(err).NotTo(HaveOccurred())
	clock := clocktesting.NewFakePassiveClock(time.Unix(1_700_000_000, 0))
	r := NewReached(clientset.Discovery().RESTClient(), clock)
	const probes = 50
	results := make(chan error, probes)
	for range probes {
		go func() { results <- r.Check() }()
	}
	g.Eventually(asked.Load).Should(BeEquivalentTo(1))
	close(answer)
	for range probes {
		g.Expect(<-results).To(MatchError(HavePrefix("the API server cannot be reached: ")))
	}
	g.Expect(asked.Load()).To(BeEquivalentTo(1))

	code.Store(http.StatusOK)
	g.Expect(r.Check()).NotTo(Succeed(), "it is remembered for a moment")
	clock.SetTime(clock.Now().Add(reachedFor))
	g.Expect(r.Check()).To(Succeed())
	g.Expect(asked.Load()).To(BeEquivalentTo(2))
}
