// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/test/installed"
	"github.com/stepgate/stepgate/test/load"
	"github.com/stepgate/stepgate/test/report"
)

const (
	// webhookTimeout is timeoutSeconds of config/enforce.
	webhookTimeout = 5 * time.Second
	// briefTimeout is a webhook's timeout where many questions wait for its end.
	briefTimeout = 2 * time.Second
	// mostMemory is in MiB, for each replica. worstMemory is for a fault that fills the memory: the chart's limit is
	// 256 MiB, and a part of it is for the kernel's buffers and for the pages of the program that it needs now.
	mostMemory  = 150
	worstMemory = 220
	// leftMemory is how much a fault may take beside what one before has left, until the garbage is collected.
	leftMemory = 10
)

// trial is one fault and its results. Expect and Eventually end the test; a goal that is missed is an Errorf.
type trial struct {
	*report.Test
	Gomega
	*suite
	ctx context.Context
	// name begins with the number.
	name string

	// writes went through the API server, questions straight to a replica.
	writes, questions load.Tally
	injections        int
	mu                sync.Mutex // of what follows
	// share is the largest part of the webhook's timeout that an answer took; unanswered is how many were never
	// answered.
	share      float64
	unanswered int
	// recovery is the longest time until everything was right again.
	recovery time.Duration
	// peak is the memory of a replica at most, and most is what it may take, in MiB.
	peak, most float64
	notes      []string
}

// begin begins a fault, in a state in which all is well. When the test ends, all is well again.
func begin(t *testing.T, name string) *trial {
	test := &report.Test{T: t}
	f := &trial{
		Test: test, Gomega: NewWithT(test), suite: shared, ctx: context.WithoutCancel(t.Context()), name: name, most: mostMemory,
	}
	for _, replica := range f.release.Replicas() { // what a flood before has left is not of this fault
		if left, err := replica.AnonymousMiB(); err == nil {
			f.most = max(f.most, left+leftMemory)
		}
	}
	f.memory.Restart()
	f.writer.Count(&f.writes)
	f.rows = append(f.rows, f)
	t.Cleanup(f.end)
	return f
}

// end waits for the recovery and asserts the goals of every fault.
func (f *trial) end() {
	f.recover()
	goals := load.Goals(f.Test)
	f.writes.ExpectNoneWrong(goals)
	f.questions.ExpectNoneWrong(goals)
	goals.Expect(f.injections).To(BeNumerically(">", 0), "injections")
	goals.Expect(f.unanswered).To(BeZero(), "questions without an answer")
	f.peak = f.memory.MaxMiB()
	goals.Expect(f.peak).To(BeNumerically("<", f.most), "MiB of a replica")
}

// recover heals everything, and measures how long it takes until every replica is ready and every answer is right: a
// denial and an admission by the API server and by each replica.
func (f *trial) recover() {
	f.Helper()
	for _, proxy := range f.proxies {
		proxy.Heal()
	}
	f.release.Balancer.Heal()
	healed := time.Now()
	scratch := &load.Tally{}
	f.writer.Count(scratch)
	defer f.writer.Count(&f.writes)
	f.Eventually(func() error {
		for i, replica := range f.release.Replicas() {
			if err := replica.Ready(f.ctx); err != nil {
				return fmt.Errorf("replica %d: %w", i, err)
			}
		}
		if err := f.allRight(scratch, true); err != nil {
			return err
		}
		return f.allRight(scratch, false)
	}).Should(Succeed(), func() string { return "no recovery: " + strings.Join(scratch.Texts(), "; ") })
	if wrong := scratch.Count(load.WrongAllow); wrong > 0 {
		f.Errorf("%d wrong allows during the recovery", wrong)
	}
	f.recovery = max(f.recovery, time.Since(healed))
}

func (f *trial) allRight(tally *load.Tally, degraded bool) error {
	if f.probe.SetDegraded(f.ctx, degraded) != load.Right || f.probe.Sync(f.ctx) != load.Right {
		return fmt.Errorf("the API server's answer is not right with degraded=%t", degraded)
	}
	for i, replica := range f.release.Replicas() {
		asker := load.NewAsker(replica, tally)
		outcome, _, err := asker.Ask(f.ctx, f.probe, webhookTimeout)
		asker.Close()
		if outcome != load.Right {
			return fmt.Errorf("the answer of replica %d is not right with degraded=%t: %w", i, degraded, err)
		}
	}
	return nil
}

// asker asks a replica until the test ends. Its answers count.
func (f *trial) asker(replica *installed.Replica) *load.Asker {
	asker := load.NewAsker(replica, &f.questions)
	f.Cleanup(asker.Close)
	return asker
}

// ask asks one replica, and sees whether the answer came in time.
func (f *trial) ask(asker *load.Asker, r *load.Rollout, timeout time.Duration) load.Outcome {
	ctx, cancel := context.WithTimeout(f.ctx, 2*timeout)
	defer cancel()
	outcome, took, err := asker.Ask(ctx, r, timeout)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil {
		f.unanswered++
		f.notes = append(f.notes, fmt.Sprintf("unanswered: %v", err))
		return outcome
	}
	f.share = max(f.share, took.Seconds()/timeout.Seconds())
	return outcome
}

// under writes all the time while work is done.
func (f *trial) under(work func()) { f.generator.During(f.ctx, work) }

// setQuiet brings the quiet rollout to a state.
func (f *trial) setQuiet(degraded bool) {
	f.Helper()
	f.Expect(f.quiet.SetDegraded(f.ctx, degraded)).To(Equal(load.Right), "a status write")
}

// rollout creates a rollout.
func (f *trial) rollout(namespace string) *load.Rollout {
	f.Helper()
	r, err := f.writer.NewRollout(f.ctx, namespace)
	f.Expect(err).NotTo(HaveOccurred())
	return r
}

// inject counts injections.
func (f *trial) inject(n int) { f.injections += n }

// note adds a line below the table.
func (f *trial) note(format string, args ...any) {
	f.Helper()
	f.notes = append(f.notes, fmt.Sprintf(format, args...))
	f.Logf(format, args...)
}

// noneFailed is a goal of faults that nobody may notice.
func (f *trial) noneFailed() {
	if failed := f.writes.Count(load.Failed); failed > 0 {
		f.Errorf("%d calls failed: %v", failed, f.writes.Texts())
	}
}
