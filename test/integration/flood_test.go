// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/cluster"
)

// TestScrapesAndProbesCallNoAPIServer has clients scrape and probe, as many at once as one address may.
func TestScrapesAndProbesCallNoAPIServer(t *testing.T) {
	const clients, each = 20, 45
	r := newRollout(t)
	calls := func() float64 {
		n, err := r.replica.Metric(r.ctx, "rest_client_requests_total")
		r.Expect(err).NotTo(HaveOccurred())
		return n
	}
	// What it asks for by itself, a few times a minute, may fall into one attempt, and not into all.
	r.Eventually(func() float64 {
		before := calls()
		r.get(clients, each, "http://"+r.replica.Metrics+"/metrics")
		return calls() - before
	}).Should(BeZero(), "calls of the API server for %d scrapes", clients*each)

	const byItself = 10
	began, before := time.Now(), calls()
	r.get(clients, each, "http://"+r.replica.Probe+"/readyz")
	r.Expect(calls()-before).To(BeNumerically("<=", time.Since(began).Seconds()+byItself), "one a second for all probes")
}

// get has so many clients get a URL, each so many times. All are answered.
func (r *rollout) get(clients, each int, url string) {
	transport := &http.Transport{MaxIdleConnsPerHost: clients}
	defer transport.CloseIdleConnections()
	var group errgroup.Group
	for range clients {
		group.Go(func() error {
			for range each {
				response, err := (&http.Client{Transport: transport}).Get(url)
				if err != nil {
					return err
				}
				_, err = io.Copy(io.Discard, response.Body)
				if err = errors.Join(err, response.Body.Close()); err != nil || response.StatusCode != http.StatusOK {
					return fmt.Errorf("%s: %w", response.Status, err)
				}
			}
			return nil
		})
	}
	r.Expect(group.Wait()).To(Succeed())
}

// TestIdleConnectionsTakeNoRoomAndNoMemory opens thousands to each of the ports for probes and metrics. Each has had an
// answer.
func TestIdleConnectionsTakeNoRoomAndNoMemory(t *testing.T) {
	const connections, files, memory = 9000, 100, 40
	r := newRollout(t)
	for _, address := range []string{r.replica.Metrics, r.replica.Probe} {
		openBefore, err := r.replica.OpenFiles()
		r.Expect(err).NotTo(HaveOccurred())
		before, err := r.replica.AnonymousMiB()
		r.Expect(err).NotTo(HaveOccurred())
		most := openBefore
		for i := range connections {
			conn, err := net.Dial("tcp", address)
			r.Expect(err).NotTo(HaveOccurred())
			defer func() { _ = conn.Close() }()
			_, _ = io.WriteString(conn, "GET /x HTTP/1.1\r\nHost: x\r\n\r\n")
			if i%500 == 0 {
				open, err := r.replica.OpenFiles()
				r.Expect(err).NotTo(HaveOccurred())
				most = max(most, open)
				r.Expect(r.replica.MetricsText(r.ctx)).NotTo(BeEmpty())
				r.Expect(r.replica.Ready(r.ctx)).To(Succeed())
			}
		}
		r.Expect(most).To(BeNumerically("<", openBefore+files), "open files")
		r.Expect(r.replica.AnonymousMiB()).To(BeNumerically("<", before+memory), "MiB")
	}
}

// TestSilentConnectionsGiveWayToTheAPIServer has 64 addresses open more connections than there may be, and keep them
// open. The API server then calls, some calls at once.
func TestSilentConnectionsGiveWayToTheAPIServer(t *testing.T) {
	const addresses, each, calls, atOnce = 64, 40, 200, 40
	r := newRollout(t)
	for name, use := range map[string]func(*tls.Conn) error{
		"without a byte": nil, "with an answer": unknownPath, "with half a body": halfABody,
	} {
		t.Run(name, func(*testing.T) {
			release := r.hold(addresses, each, use)
			defer release()
			r.Eventually(r.replica.OpenFiles).Should(BeNumerically(">", 1990), "connections are full")
			var right atomic.Int32
			var group errgroup.Group
			for range atOnce {
				group.Go(func() error {
					for range calls / atOnce {
						err := r.sync(cluster.Human, "prod", client.DryRunAll)
						if err == nil || !strings.Contains(err.Error(), "denied the request: ") {
							return fmt.Errorf("not denied: %w", err)
						}
						right.Add(1)
					}
					return nil
				})
			}
			r.Expect(group.Wait()).To(Succeed())
			r.Expect(right.Load()).To(BeEquivalentTo(calls))
		})
	}
}

// hold opens connections to the webhook's port, so many from each address, and uses each. They are closed by release.
func (r *rollout) hold(addresses, each int, use func(*tls.Conn) error) (release func()) {
	ctx, cancel := context.WithCancel(r.ctx)
	var group sync.WaitGroup
	for i := range addresses {
		dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 7, byte(i+1))}}
		group.Go(func() {
			for range each {
				conn, err := dialer.DialContext(ctx, "tcp", r.replica.Webhook)
				if err != nil {
					continue
				}
				context.AfterFunc(ctx, func() { _ = conn.Close() })
				if use != nil {
					_ = use(tls.Client(conn, &tls.Config{InsecureSkipVerify: true})) // it may have given way
				}
			}
		})
	}
	group.Wait()
	return cancel
}

// unknownPath gets an answer that is no review.
func unknownPath(c *tls.Conn) error {
	if _, err := io.WriteString(c, "GET /x HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		return err
	}
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, answer.Body)
	return errors.Join(err, answer.Body.Close())
}

// halfABody announces more than it sends.
func halfABody(c *tls.Conn) error {
	_, err := io.WriteString(c, "POST /validate?timeout=30s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"+
		"Content-Length: 1000\r\n\r\n{")
	return err
}
