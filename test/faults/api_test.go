// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stepgate/stepgate/test/faultproxy"
	"github.com/stepgate/stepgate/test/load"
)

// TestF4_SlowAPIServer delays every read. stepgate decides if two or three reads fit into its time, else it does not.
func TestF4_SlowAPIServer(t *testing.T) {
	f := begin(t, "F4 API server slow to stepgate, 0.2 s to 30 s")
	delays := []time.Duration{
		200 * time.Millisecond, 500 * time.Millisecond, time.Second, 3 * time.Second, 10 * time.Second, 30 * time.Second,
	}
	if testing.Short() {
		delays = []time.Duration{500 * time.Millisecond, 3 * time.Second}
	}
	for _, delay := range delays {
		f.everyRead(faultproxy.Late(delay))
	}
}

// TestF5_FailingAPIServer lets every read fail in one way for a while.
func TestF5_FailingAPIServer(t *testing.T) {
	f := begin(t, "F5 API server answers 500, 503, 429 with Retry-After, or nothing")
	for _, way := range breakages() {
		f.everyRead(way.fault)
	}
}

// everyRead has one fault happen to every read while there are writes through the API server, and questions to each
// replica.
func (f *trial) everyRead(fault faultproxy.Fault) {
	f.Helper()
	f.all(reads(fault))
	var group sync.WaitGroup
	group.Go(func() {
		f.generator.Burst(f.ctx, 1)
		for _, r := range f.generator.Rollouts()[:2] {
			r.Untouched(f.ctx)
		}
	})
	for _, replica := range f.release.Replicas() {
		asker := f.asker(replica)
		group.Go(func() {
			for range times(5) {
				f.ask(asker, f.quiet, briefTimeout)
			}
		})
	}
	group.Wait()
	f.inject(1)
	f.recover()
}

// TestF6_Compaction removes from etcd the revisions from which watches and lists might want to go on.
func TestF6_Compaction(t *testing.T) {
	f := begin(t, "F6 compaction; 410 Gone to lists and watches; partial lists")
	f.under(func() {
		for range times(10) {
			f.compact()
			f.inject(1)
			f.resetWatches() // and now they go on from there
			pass(300 * time.Millisecond)
		}
		gone := faultproxy.Answer(http.StatusGone, 0, metav1.StatusReasonExpired)
		for _, kinds := range [][]string{
			{faultproxy.WatchApps, faultproxy.WatchSets},
			{faultproxy.WatchApps, faultproxy.ListApps, faultproxy.WatchSets, faultproxy.ListSets},
		} {
			f.all(faultproxy.Only(gone, kinds...))
			f.resetWatches()
			f.inject(1)
			pass(3 * time.Second)
			f.all()
		}
	})
	// A list of metadata that is a part of the truth: an Application that is missing in it is not absent.
	asker := f.asker(f.release.Replicas()[0])
	for _, stale := range []bool{false, true} {
		f.known(stale, stale)
		f.proxies[0].Set(faultproxy.Only(faultproxy.Partial, faultproxy.ListVersions))
		if f.ask(asker, f.quiet, webhookTimeout) == load.Right {
			f.Errorf("stepgate decided by a partial list, stale=%t", stale)
		}
		f.inject(1)
		f.proxies[0].Heal()
	}
}

// resetWatches resets all connections to the API server; a watch starts again where it was.
func (s *suite) resetWatches() {
	for _, proxy := range s.proxies {
		proxy.Reset()
	}
}

// compact compacts etcd up to now, by its JSON interface.
func (f *trial) compact() {
	f.Helper()
	f.setQuiet(true) // a revision can be compacted once, so something has to change
	var list argo.ApplicationSetList
	f.Expect(f.Admin.List(f.ctx, &list)).To(Succeed())
	f.Expect(strconv.ParseInt(list.ResourceVersion, 10, 64)).To(BeNumerically(">", 0))
	body, err := json.Marshal(map[string]any{"revision": list.ResourceVersion, "physical": true})
	f.Expect(err).NotTo(HaveOccurred())
	response, err := http.Post(f.Etcd()+"/v3/kv/compaction", "application/json", bytes.NewReader(body))
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(response).To(HaveHTTPStatus(http.StatusOK))
	f.Expect(response.Body.Close()).To(Succeed())
}

// TestF7_SilentWatch lets the watches go silent while states change: decisions do not depend on them.
func TestF7_SilentWatch(t *testing.T) {
	f := begin(t, "F7 watch silent, half-open, then broken")
	for _, end := range []string{"delivers what it held back", "is reset"} {
		f.under(func() {
			for _, proxy := range f.proxies {
				proxy.Freeze()
			}
			f.inject(1)
			pass(time.Duration(times(15)) * time.Second)
			if end == "is reset" {
				f.resetWatches()
			}
			for _, proxy := range f.proxies {
				proxy.Heal()
			}
		})
		if failed := f.writes.Count(load.Failed); failed > 0 && end != "is reset" {
			f.Errorf("%d writes failed: decisions depend on the watch", failed)
		}
		// It has recovered when a decision takes two reads again.
		began := time.Now()
		f.current(true)
		f.note("when the watch %s, it is current again after %s", end, time.Since(began).Round(time.Millisecond))
	}
}

const (
	// drained is after how long the API server has no call left that goes to a replica that gets no new connections: a
	// call that was sent there takes 70 % of the webhook's timeout to fail.
	drained = 2 * webhookTimeout
)

// TestF20_Partition cuts replica 0 off. Its calls fail until the API server does not call it any more. That has to be
// soon after it gets no new connections, although those from before stay open. An early sync that
// a replica without an API server cannot judge in the mutating webhook is refused, and not held.
func TestF20_Partition(t *testing.T) {
	f := begin(t, "F20 one replica cut off from the API server")
	for range times(5) {
		var out time.Time
		f.under(func() {
			cut := time.Now()
			f.proxies[0].Hold()
			f.inject(1)
			f.Eventually(f.release.Balancer.Ready).Should(BeNumerically("<=", 1))
			out = time.Now()
			f.note("not ready %s after the cut", out.Sub(cut).Round(time.Millisecond))
			pass(drained + 5*time.Second)
		})
		late := 0
		for _, failure := range f.writes.Failures() {
			if failure.Began.Sub(out) > drained {
				late++
			}
		}
		if late > 0 {
			f.Errorf("%d calls still went to a replica that got no new connections for %s", late, drained)
		}
		f.recover()
	}
	f.note("%d early syncs of the ApplicationSet controller were held, %d refused", f.writes.Held(), f.writes.NotHeld())
}

// TestF23_Events fails the creation of Events. Each write is the first denial of its Application, which has an Event. A
// decision that waited for one that hangs would come to no end in time, and fail.
func TestF23_Events(t *testing.T) {
	f := begin(t, "F23 Events refused, failing, hanging")
	const perFault = 6
	for _, way := range []breakage{
		{name: "403", fault: faultproxy.Answer(http.StatusForbidden, 0, metav1.StatusReasonForbidden)},
		{name: "500", fault: faultproxy.Answer(http.StatusInternalServerError, 0, metav1.StatusReasonInternalError)},
		{name: "reset", fault: faultproxy.Abort},
		{name: "hang", fault: faultproxy.Hang}, // the last, because the next Event waits for it
	} {
		before := f.count(faultproxy.PostEvent)
		f.all(faultproxy.Only(way.fault, faultproxy.PostEvent))
		for i := range perFault {
			r := f.rollout(fmt.Sprintf("events-%s-%d", way.name, i))
			r.SetDegraded(f.ctx, true)
			r.Sync(f.ctx)
			f.inject(1)
		}
		f.Eventually(func() int {
			return f.count(faultproxy.PostEvent)
		}).Should(BeNumerically(">", before), "an Event meets %s", way.name)
		f.recover()
	}
	f.noneFailed()
	f.note("slowest write %s", f.writes.Percentile(100).Round(time.Millisecond))
}
