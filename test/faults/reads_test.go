// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stepgate/stepgate/test/faultproxy"
	"github.com/stepgate/stepgate/test/load"
)

// reads limits a fault to the reads that a decision may need.
func reads(fault faultproxy.Fault) faultproxy.Fault {
	return faultproxy.Only(fault, faultproxy.GetSet, faultproxy.GetApp, faultproxy.ListVersions)
}

// breakage is one way in which the API server, or a proxy in front of it, fails to answer a request.
type breakage struct {
	name  string
	fault faultproxy.Fault
	// quick ones are used with -short, too.
	quick bool
}

func breakages() []breakage {
	answer := faultproxy.Answer
	all := []breakage{
		{"500", answer(http.StatusInternalServerError, 0, metav1.StatusReasonInternalError), true},
		{"503", answer(http.StatusServiceUnavailable, 0, metav1.StatusReasonServiceUnavailable), true},
		{"503, retry after 1 s", answer(http.StatusServiceUnavailable, 1, metav1.StatusReasonServiceUnavailable), false},
		{"429, retry after 1 s", answer(http.StatusTooManyRequests, 1, metav1.StatusReasonTooManyRequests), true},
		{"429, retry after 30 s", answer(http.StatusTooManyRequests, 30, metav1.StatusReasonTooManyRequests), false},
		{"403", answer(http.StatusForbidden, 0, metav1.StatusReasonForbidden), true},
		{"410", answer(http.StatusGone, 0, metav1.StatusReasonExpired), true},
		{"404 of something else", faultproxy.NotServed, true},
		{"nothing, for ever", faultproxy.Hang, false},
		{"the answer is lost", faultproxy.Lose, false},
		{"the stream is reset", faultproxy.Abort, true},
		{"half an answer", faultproxy.Truncate, true},
		{"an answer that is no object", faultproxy.Garble, true},
		{"an empty answer", faultproxy.Empty, true},
		{"an object without content", faultproxy.Hollow, true},
	}
	return slices.DeleteFunc(all, func(b breakage) bool { return testing.Short() && !b.quick })
}

// TestKthRead fails each single read of each kind of decision. The watch is current, or says the opposite of the truth.
func TestKthRead(t *testing.T) {
	f := begin(t, "k-th read of a decision fails, for every k, in 15 ways, with a current watch and a stale one")
	asker, proxy := f.asker(f.release.Replicas()[0]), f.proxies[0]
	for _, stale := range []bool{false, true} {
		for _, degraded := range []bool{true, false} {
			f.known(stale, degraded)
			before := f.decisionReads()
			f.Expect(f.ask(asker, f.quiet, webhookTimeout)).To(Equal(load.Right), "before anything fails, stale=%t degraded=%t",
				stale, degraded)
			count := f.decisionReads() - before
			for _, way := range breakages() {
				for k := 1; k <= count; k++ {
					proxy.Set(reads(faultproxy.Nth(k, way.fault)))
					f.ask(asker, f.quiet, briefTimeout)
					proxy.Set()
					f.inject(1)
					if f.ask(asker, f.quiet, webhookTimeout) != load.Right {
						f.Errorf("no right answer after read %d met %s", k, way.name)
					}
				}
			}
			f.note("stale=%t, to be denied=%t: %d reads", stale, degraded, count)
			proxy.Heal()
		}
	}
}

// known brings the quiet rollout to a state, and replica 0 to know it, or to know the opposite.
func (f *trial) known(stale, degraded bool) {
	f.Helper()
	if !stale {
		f.current(degraded)
		return
	}
	f.current(!degraded)
	f.proxies[0].Freeze()
	f.setQuiet(degraded)
}

// current waits until replica 0 knows the quiet rollout as it is: a decision then takes two reads.
func (f *trial) current(degraded bool) {
	f.Helper()
	f.setQuiet(degraded)
	tally := &load.Tally{}
	asker := load.NewAsker(f.release.Replicas()[0], tally)
	defer asker.Close()
	f.Eventually(func() error {
		before := f.decisionReads()
		if outcome, _, _ := asker.Ask(f.ctx, f.quiet, webhookTimeout); outcome != load.Right {
			return fmt.Errorf("%s: %v", outcome, tally.Texts())
		}
		if n := f.decisionReads() - before; n != 2 {
			return fmt.Errorf("a decision took %d reads", n)
		}
		return nil
	}).Should(Succeed())
}

// decisionReads counts the reads of replica 0 for decisions.
func (s *suite) decisionReads() int {
	return s.proxies[0].Count(faultproxy.ListSet, faultproxy.GetSet, faultproxy.GetApp, faultproxy.ListVersions)
}
