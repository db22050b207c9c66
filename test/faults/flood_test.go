// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/stepgate/stepgate/test/faultproxy"
	"github.com/stepgate/stepgate/test/guestbook"
	"github.com/stepgate/stepgate/test/installed"
	"github.com/stepgate/stepgate/test/load"
	"github.com/stepgate/stepgate/webhook"
	"github.com/stepgate/stepgate/webhook/settings"
)

// flood does something on so many goroutines, again and again, while others write and ask one replica about a rollout.
// Every question is answered rightly, and no write fails.
func (f *trial) flood(long time.Duration, clients int, once func(ctx context.Context, client int)) {
	f.Helper()
	replica := f.release.Replicas()[0]
	asked, asker := f.rollout(strings.ToLower(strings.Fields(f.name)[0])+"-asked"), f.asker(replica)
	first := load.NewAsker(replica, &load.Tally{})
	defer first.Close()
	f.Eventually(func() (load.Outcome, error) {
		outcome, _, err := first.Ask(f.ctx, asked, webhookTimeout)
		return outcome, err
	}).Should(Equal(load.Right), "its watches have seen the rollout")
	ctx, stop := context.WithTimeout(f.ctx, long)
	defer stop()
	var times atomic.Int64
	f.under(func() {
		var group sync.WaitGroup
		for i := range clients {
			group.Go(func() {
				for ctx.Err() == nil {
					once(ctx, i)
					times.Add(1)
				}
			})
		}
		group.Go(func() {
			for ctx.Err() == nil {
				f.ask(asker, asked, webhookTimeout)
				pass(100 * time.Millisecond)
			}
		})
		group.Wait()
	})
	f.inject(int(times.Load()))
	f.note("half of the questions took %s at most, the slowest %s; slowest write %s",
		f.questions.Percentile(50).Round(time.Millisecond), f.questions.Percentile(100).Round(time.Millisecond),
		f.writes.Percentile(100).Round(time.Millisecond))
	f.noneFailed()
	f.Expect(f.questions.Calls()).To(BeNumerically(">", 0))
	f.Expect(f.questions.Count(load.Failed)).To(BeZero(), "%v", f.questions.Texts())
}

// briefly is how long a flood lasts.
func briefly() time.Duration { return time.Duration(times(60)) * time.Second }

// TestF48_SilentConnections has 64 addresses open more connections than there may be to one replica, and open each
// again when it has given way. A half of them make a handshake.
func TestF48_SilentConnections(t *testing.T) {
	f := begin(t, "F48 64 addresses hold 2,560 silent connections to one replica")
	const addresses, each = 64, 40
	replica := f.release.Replicas()[0]
	f.flood(briefly(), addresses*each, func(ctx context.Context, i int) {
		dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 7, byte(i%addresses+1))}}
		conn, err := dialer.DialContext(ctx, "tcp", replica.Webhook)
		if err != nil {
			return
		}
		stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
		defer stop()
		defer func() { _ = conn.Close() }()
		if i%2 == 0 {
			if tls.Client(conn, &tls.Config{InsecureSkipVerify: true}).HandshakeContext(ctx) != nil {
				return
			}
		}
		_, _ = io.Copy(io.Discard, conn) // until it gives way
		pass(3 * time.Second)
	})
}

// TestF49_ScrapesAndProbes has strangers scrape and probe one replica without a pause, and keep connections open. Its
// own Prometheus and kubelet have an answer each time, and the API server hears nothing of it.
func TestF49_ScrapesAndProbes(t *testing.T) {
	f := begin(t, "F49 scrapes, probes and 2,000 idle connections on the ports for them")
	replica := f.release.Replicas()[0]
	stranger := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 8, 1)}}
	scraper := &http.Client{Transport: &http.Transport{DialContext: stranger.DialContext, MaxIdleConnsPerHost: 20}}
	var idle []net.Conn
	defer func() {
		for _, conn := range idle {
			_ = conn.Close()
		}
	}()
	for i := range 2000 {
		conn, err := stranger.DialContext(f.ctx, "tcp", []string{replica.Metrics, replica.Probe}[i%2])
		f.Expect(err).NotTo(HaveOccurred())
		idle = append(idle, conn)
	}
	began, before := time.Now(), f.proxies[0].Count(faultproxy.Other, faultproxy.ListSet)
	f.flood(briefly(), 20, func(ctx context.Context, i int) {
		if i == 0 {
			if _, err := replica.MetricsText(f.ctx); err != nil {
				f.Errorf("Prometheus has no answer: %v", err)
			}
			if err := replica.Ready(f.ctx); err != nil {
				f.Errorf("the kubelet has no answer: %v", err)
			}
			pass(100 * time.Millisecond)
			return
		}
		url := []string{"http://" + replica.Metrics + "/metrics", "http://" + replica.Probe + "/readyz"}[i%2]
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			return
		}
		if response, err := scraper.Do(request); err == nil {
			_, _ = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
		}
	})
	calls, took := f.proxies[0].Count(faultproxy.Other, faultproxy.ListSet)-before, time.Since(began)
	f.note("%d calls of the API server in %s that no decision needs", calls, took.Round(time.Second))
	f.Expect(float64(calls)).To(BeNumerically("<", 2*took.Seconds()+20), "for %d scrapes and probes", f.injections)
}

// TestF50_DearAnnotations sends ApplicationSets with a text in stepgate.io/after that took tens of seconds.
func TestF50_DearAnnotations(t *testing.T) {
	f := begin(t, "F50 32 clients of one address send stepgate.io/after with 60,000 names to one replica")
	f.dear(settings.AfterAnnotation, names(60_000))
}

// TestF51_HugeAnnotations sends ApplicationSets with a text in stepgate.io/approved that took hundreds of MiB.
func TestF51_HugeAnnotations(t *testing.T) {
	f := begin(t, "F51 32 clients of one address send stepgate.io/approved with 3,400,000 entries to one replica")
	f.dear(settings.ApprovedAnnotation, strings.Repeat("1,", 3_400_000))
}

// dear has clients of one address ask both webhooks of ApplicationSets about one with an annotation, and with little
// time. They do not wait for the end. As many as these take all of two cores, and those of a huge annotation are more
// than a lane has memory for.
func (f *trial) dear(annotation, text string) {
	f.Helper()
	f.most = worstMemory
	set := guestbook.Set("nowhere")
	set.Annotations = map[string]string{annotation: text}
	object, err := json.Marshal(set)
	f.Expect(err).NotTo(HaveOccurred())
	review := admissionv1.AdmissionReview{Request: &admissionv1.AdmissionRequest{
		UID: "dear", Namespace: set.Namespace, Name: set.Name, Operation: admissionv1.Create,
		Object: runtime.RawExtension{Raw: object},
	}}
	review.APIVersion, review.Kind = "admission.k8s.io/v1", "AdmissionReview"
	review.Request.Kind.Group, review.Request.Kind.Version, review.Request.Kind.Kind = "argoproj.io", "v1alpha1",
		"ApplicationSet"
	body, err := json.Marshal(review)
	f.Expect(err).NotTo(HaveOccurred())
	stranger := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 9, 1)}}
	client := &http.Client{Transport: &http.Transport{
		DialContext: stranger.DialContext, TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
	}}
	codes, mu := map[string]int{}, sync.Mutex{}
	paths := []string{webhook.MutateApplicationSetPath, webhook.ValidateApplicationSetPath}
	f.flood(briefly(), 32, func(ctx context.Context, i int) {
		code := post(ctx, client, f.release.Replicas()[0], paths[i%2]+"?timeout=1s", body)
		mu.Lock()
		defer mu.Unlock()
		codes[fmt.Sprintf("%s: %d", paths[i%2], code)]++
	})
	f.note("answers: %v", codes)
}

// post is the HTTP status of the answer to a body; 0 if there is none in three times its time.
func post(ctx context.Context, client *http.Client, replica *installed.Replica, path string, body []byte) int {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+replica.Webhook+path,
		bytes.NewReader(body))
	if err != nil {
		return 0
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return 0
	}
	defer func() { _ = response.Body.Close() }()
	_, _ = io.Copy(io.Discard, response.Body)
	return response.StatusCode
}

// names are so many names of Applications that differ.
func names(n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = strconv.FormatInt(int64(i), 36)
	}
	return strings.Join(all, ",")
}
