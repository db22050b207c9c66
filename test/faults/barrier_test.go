// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"testing"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/faultproxy"
	"github.com/stepgate/stepgate/test/guestbook"
	"github.com/stepgate/stepgate/test/installed"
	"github.com/stepgate/stepgate/test/load"
)

// TestF45_WriteBarrier breaks the write barrier in every way while a state changes all the time: the write, its answer,
// and the watch that should give it back. The replica is asked as soon as a state has changed, with an API server of
// its own, and asked by nobody else.
func TestF45_WriteBarrier(t *testing.T) {
	f := begin(t, "F45 the write barrier fails in 15 ways; its watch late, silent, reset")
	proxy, err := faultproxy.NewAPIProxy(f.Cluster)
	f.Expect(err).NotTo(HaveOccurred())
	const name = "stepgate-proof"
	replica, err := installed.StartOne(f.ctx, f.Environment, installed.Options{
		Registration: installed.Registration{Name: name, Namespaces: []string{"none"}}, APIServer: proxy.URL(),
		Args: []string{"--spec-settling=0"}, Barrier: true,
	})
	f.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(replica.Kill)
	_, err = installed.CreateBarrier(f.ctx, f.Environment, name)
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(guestbook.Crowd(f.ctx, f.Admin, f.quiet.Dev)).To(Succeed())
	t.Cleanup(func() {
		f.Expect(f.Admin.DeleteAllOf(context.Background(), &argo.Application{},
			client.InNamespace(f.quiet.Dev.Namespace), client.HasLabels{guestbook.CrowdLabel})).To(Succeed())
	})
	f.Expect(replica.WaitReady(f.ctx)).To(Succeed())
	asker := f.asker(replica)
	proven := func() float64 {
		n, err := replica.Metric(f.ctx, "stepgate_live_reads_total", "kind", "application_barrier", "result", "ok")
		f.Expect(err).NotTo(HaveOccurred())
		return n
	}
	// works lets the barrier prove allows again: it rests after a failure.
	works := func() {
		f.setQuiet(false)
		before := proven()
		f.Eventually(func() float64 {
			f.Expect(f.ask(asker, f.quiet, webhookTimeout)).To(Equal(load.Right))
			return proven()
		}).Should(BeNumerically(">", before))
	}
	// changing asks after each change.
	changing := func() {
		for range times(10) {
			for _, degraded := range []bool{true, false} {
				f.setQuiet(degraded)
				f.ask(asker, f.quiet, webhookTimeout)
			}
		}
		f.inject(1)
	}
	works()
	before := proven()
	changing()
	f.note("with nothing broken, %v of %d allows are proven by the barrier", proven()-before, times(10))
	for i, way := range breakages() {
		if testing.Short() && i%5 > 0 {
			continue // after each failure the barrier rests
		}
		works()
		proxy.Set(faultproxy.Only(way.fault, faultproxy.Barrier))
		changing()
		proxy.Heal()
	}
	// A silent watch: the cache says that the earlier steps are done. On a busy machine the barrier may rest just then,
	// which tells nothing.
	for tried := 0; tried < times(10); {
		works()
		proxy.Freeze()
		f.setQuiet(true)
		writes := proxy.Count(faultproxy.Barrier)
		f.ask(asker, f.quiet, webhookTimeout)
		if proxy.Count(faultproxy.Barrier) > writes {
			tried++
			f.inject(1)
		}
		proxy.Heal()
	}
	works()
	proxy.Set(faultproxy.Only(faultproxy.Late(100*time.Millisecond), faultproxy.Barrier))
	changing()
	proxy.Heal()
	works()
	for range times(10) {
		proxy.Reset()
		f.setQuiet(true)
		f.ask(asker, f.quiet, webhookTimeout)
		f.inject(1)
	}
}
