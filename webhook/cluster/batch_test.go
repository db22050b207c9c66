// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
)

// clockedRead takes a second of the bubble's time and returns when it started.
type clockedRead struct {
	mu               sync.Mutex
	calls, now, most int
}

func (r *clockedRead) read(ctx context.Context) (time.Time, error) {
	r.mu.Lock()
	r.calls++
	r.now++
	r.most = max(r.most, r.now)
	r.mu.Unlock()
	defer func() { r.mu.Lock(); r.now--; r.mu.Unlock() }()
	start := time.Now()
	select {
	case <-ctx.Done():
		return time.Time{}, ctx.Err()
	case <-time.After(time.Second):
		return start, nil
	}
}

func TestAReadIsSharedOnlyIfItStartedAfterTheRequestArrived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		b, r := newBatches[time.Time](), &clockedRead{}
		var group sync.WaitGroup
		for i := range 100 {
			<-time.After(7 * time.Millisecond) // by the bubble's clock
			group.Go(func() {
				arrived := time.Now()
				started, err := b.do(t.Context(), "argocd", "all", r.read)
				if err != nil || started.Before(arrived) {
					t.Errorf("request %d arrived at %s and got a read of %s: %v", i, arrived, started, err)
				}
			})
		}
		group.Wait()
		g.Expect(r.calls).To(BeNumerically("<=", 5), "reads for 100 requests within 0.7 s")
		g.Expect(r.most).To(Equal(mostInFlight))
		synctest.Wait()
		b.mu.Lock()
		defer b.mu.Unlock()
		g.Expect(b.groups).To(BeEmpty(), "nothing is kept of reads that are over")
	})
}

func TestDifferentReadsOfOneNamespaceShareTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		b, r := newBatches[time.Time](), &clockedRead{}
		var group sync.WaitGroup
		for i := range 10 {
			group.Go(func() { _, _ = b.do(t.Context(), "argocd", fmt.Sprint(i), r.read) })
		}
		group.Wait()
		g.Expect(r.calls).To(Equal(10))
		g.Expect(r.most).To(Equal(mostInFlight))
	})
}

func TestWhoeverGivesUpFailsNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		b, r := newBatches[time.Time](), &clockedRead{}
		impatient, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		var group sync.WaitGroup
		group.Go(func() {
			_, err := b.do(impatient, "argocd", "all", r.read)
			g.Expect(err).To(MatchError(context.DeadlineExceeded))
		})
		synctest.Wait()
		group.Go(func() {
			_, err := b.do(impatient, "argocd", "all", r.read)
			g.Expect(err).To(MatchError(context.DeadlineExceeded))
		})
		synctest.Wait()
		for range 3 { // two reads are under way; these wait for the third, with one who gives up
			group.Go(func() {
				_, err := b.do(t.Context(), "argocd", "all", r.read)
				g.Expect(err).NotTo(HaveOccurred())
			})
		}
		group.Go(func() {
			_, err := b.do(impatient, "argocd", "all", r.read)
			g.Expect(err).To(MatchError(context.DeadlineExceeded))
		})
		group.Wait()
		g.Expect(r.calls).To(Equal(3))
		g.Expect(r.now).To(BeZero(), "a read that nobody waits for is cancelled")
	})
}

func TestAFailureReachesAllWhoShareIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		b := newBatches[int]()
		broken := func(context.Context) (int, error) {
			<-time.After(time.Second) // by the bubble's clock
			return 0, errors.New("the API server does not answer")
		}
		var group sync.WaitGroup
		for range 20 {
			group.Go(func() {
				_, err := b.do(t.Context(), "argocd", "all", broken)
				g.Expect(err).To(MatchError("the API server does not answer"))
			})
		}
		group.Wait()
		// The next request gets a read of its own, not the old failure.
		got, err := b.do(t.Context(), "argocd", "all", func(context.Context) (int, error) { return 7, nil })
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(got).To(Equal(7))
	})
}
