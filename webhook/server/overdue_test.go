// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// deaf is a handler that does not heed its deadline. It goes on until end.
type deaf struct {
	handled atomic.Int64
	began   chan struct{}
	end     chan struct{}
}

func newDeaf() *deaf { return &deaf{began: make(chan struct{}, 100), end: make(chan struct{})} }

func (d *deaf) Handle(context.Context, admission.Request) admission.Response {
	d.handled.Add(1)
	d.began <- struct{}{}
	<-d.end
	return admission.Allowed("")
}

// late is the code of the answer to a call of which the time is over when the handler has begun.
func (d *deaf) late(t *testing.T, e *endpoint, body string) int {
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-d.began; cancel() }()
	return code(e, post(body).WithContext(ctx))
}

// memory is what is free of the lanes, and for handlers past their deadline.
func (b *budget) memory() (free []int64) {
	for _, l := range b.lanes {
		l.mu.Lock()
		free = append(free, l.free)
		l.mu.Unlock()
	}
	b.overdue.mu.Lock()
	defer b.overdue.mu.Unlock()
	return append(free, b.overdue.memory)
}

// TestAHandlerPastItsDeadlineReturnsItsMemory has handlers go on past their deadline. Each is answered, and the lanes
// are free for others.
func TestAHandlerPastItsDeadlineReturnsItsMemory(t *testing.T) {
	for name, body := range map[string]string{
		"a usual request": good, "a heavy one": with("{}", 10_000), "one that takes all of its lane": with("{}", 100_000),
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e, handler, logged := newEndpoint(), newDeaf(), ""
			e.handler, e.log = handler, funcr.New(func(_, args string) { logged += args }, funcr.Options{})
			all := e.budget.memory()
			g.Expect(handler.late(t, e, body)).To(Equal(http.StatusServiceUnavailable))
			g.Expect(logged).To(ContainSubstring("a handler goes on past its deadline"))
			now := e.budget.memory()
			g.Expect(now[:3]).To(Equal(all[:3]), "others have the lanes")
			g.Expect(now[3]).To(BeNumerically("<", all[3]), "what goes on is counted")

			e.handler = answering(admission.Allowed(""))
			g.Expect(answer(e, body)).To(Equal(http.StatusOK))
			close(handler.end)
			g.Eventually(e.budget.memory).Should(Equal(all))
			g.Expect(e.budget.overdue.handlers.held).To(BeEmpty())
		})
	}
}

// TestAHandlerThatHeedsItsDeadlineAnswersForItself has one answer at its deadline.
func TestAHandlerThatHeedsItsDeadlineAnswersForItself(t *testing.T) {
	g := NewWithT(t)
	e := newEndpoint()
	ctx, cancel := context.WithCancel(t.Context())
	e.handler = admission.HandlerFunc(func(ctx context.Context, _ admission.Request) admission.Response {
		cancel()
		<-ctx.Done()
		return admission.Errored(http.StatusGatewayTimeout, ctx.Err())
	})
	for range 20 { // of both at once, either is taken
		g.Expect(code(e, post(good).WithContext(ctx))).To(Equal(http.StatusGatewayTimeout))
	}
}

// TestHandlersPastTheirDeadlineAreBounded has one address send requests whose handlers do not end.
func TestHandlersPastTheirDeadlineAreBounded(t *testing.T) {
	g := NewWithT(t)
	e, handler := newEndpoint(), newDeaf()
	e.handler = handler
	all := e.budget.memory()
	for range 2 * overdueHandlers {
		g.Expect(answerWithin(e, good, time.Millisecond)).To(Equal(http.StatusServiceUnavailable))
	}
	g.Eventually(handler.handled.Load).Should(BeEquivalentTo(overdueHandlers/2), "the rest is left to others")
	g.Expect(e.budget.overdue.refuses("192.0.2.1")).To(BeTrue())
	g.Expect(e.budget.overdue.refuses("192.0.2.2")).To(BeFalse())
	close(handler.end)
	g.Eventually(e.budget.memory).Should(Equal(all))
	e.handler = answering(admission.Allowed(""))
	g.Expect(answer(e, good)).To(Equal(http.StatusOK))
}

// TestWhatHasNoRoomPastItsDeadlineKeepsItsMemory has two of the heaviest requests go on: only one has room beside the
// lanes, and so no more memory is used than both have.
func TestWhatHasNoRoomPastItsDeadlineKeepsItsMemory(t *testing.T) {
	g := NewWithT(t)
	b := newEndpoint().budget
	all := b.memory()
	var held []*reservation
	for range 2 {
		r, err := b.handling(t.Context(), "a", []byte(with("{}", 100_000)))
		g.Expect(err).NotTo(HaveOccurred())
		r.expire()
		held = append(held, r)
	}
	g.Expect(b.memory()[2:]).To(Equal([]int64{0, 0}))
	for _, r := range held {
		r.release()
		r.expire() // too late
	}
	g.Expect(b.memory()).To(Equal(all))
	g.Expect(b.overdue.handlers).To(Equal(newOverdue().handlers))
}
