// SPDX-License-Identifier: Apache-2.0

package server

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	clocktesting "k8s.io/utils/clock/testing"
)

// traffic are bodies that arrive, with a clock that stands still until it is moved.
type traffic struct {
	*testing.T
	Gomega
	*budget
	clock *clocktesting.FakeClock
}

func newTraffic(t *testing.T) *traffic {
	clock := clocktesting.NewFakeClock(time.Unix(1_700_000_000, 0))
	g := NewWithT(t)
	return &traffic{T: t, Gomega: g, budget: newBudget(clock), clock: clock}
}

// sender sends a body. result has what became of it when it has ended. If it has arrived, its memory is reserved until
// release.
type sender struct {
	*arrival
	pipe   *io.PipeWriter
	result chan error
	length int
}

// begin has a client announce a body.
func (f *traffic) begin(address string, announced int) *sender {
	reader, writer := io.Pipe()
	s := &sender{pipe: writer, result: make(chan error, 1)}
	s.arrival = f.receiving(address, int64(announced), func() { _ = writer.CloseWithError(os.ErrDeadlineExceeded) })
	go func() {
		body, err := s.read(f.Context(), reader)
		if err != nil {
			_ = reader.CloseWithError(err)
		}
		s.length = len(body)
		s.result <- err
	}()
	f.Cleanup(func() { _ = writer.Close() })
	return s
}

// send sends a part of each body, and returns when it has been read, or waits for memory.
func (f *traffic) send(n int, senders ...*sender) {
	f.Helper()
	sent := make([]atomic.Bool, len(senders))
	for i, s := range senders {
		go func() {
			_, _ = s.pipe.Write(make([]byte, n))
			sent[i].Store(true)
		}()
	}
	f.Eventually(func() bool {
		for i, s := range senders {
			if !sent[i].Load() && !s.isWaiting() {
				return false
			}
		}
		return true
	}).Should(BeTrue())
}

func (s *sender) isWaiting() bool {
	s.in.mu.Lock()
	defer s.in.mu.Unlock()
	return s.waits
}

func (in *arrivals) waiters() int {
	in.mu.Lock()
	defer in.mu.Unlock()
	return len(in.waiting)
}

// cutting reports whether bodies have been cut that have their memory still. The caller holds the lock.
func (in *arrivals) cutting() bool {
	for a := range in.open {
		if a.late {
			return true
		}
	}
	return false
}

// finish sends the rest of a body, and gives its memory back when it has arrived. It may wait until others have been
// cut so many times.
func (f *traffic) finish(s *sender, rest, waits int) {
	f.Helper()
	go func() {
		_, _ = s.pipe.Write(make([]byte, rest))
		_ = s.pipe.Close()
	}()
	f.Eventually(func() bool {
		s.in.mu.Lock()
		defer s.in.mu.Unlock()
		if s.waits && waits > 0 && !s.in.cutting() {
			waits--
			f.clock.Step(lateAfter)
			s.in.cutLate()
		}
		return len(s.result) > 0
	}).Should(BeTrue(), "%d bytes from %s wait", rest, s.address)
	f.Expect(<-s.result).To(Succeed())
	s.release()
}

// longReview is a review whose body needs a reservation.
func longReview() string { return strings.Replace(good, "blue", strings.Repeat("x", 2*freeBody), 1) }

// reserved is what is reserved for bodies.
func (f *traffic) reserved() int64 {
	reserved := int64(usualBudget + largeBudget)
	for _, in := range []*arrivals{f.usual, f.large} {
		in.mu.Lock()
		reserved -= in.free
		in.mu.Unlock()
	}
	return reserved
}

// TestNothingIsReservedForWhatHasNotArrived sends a part of what is announced.
func TestNothingIsReservedForWhatHasNotArrived(t *testing.T) {
	for name, tc := range map[string]struct {
		announced, sent int
		most            int64
	}{
		"nothing has arrived":           {announced: maxBody},
		"one byte has":                  {announced: maxBody, sent: 1},
		"what needs no reservation":     {announced: maxBody, sent: freeBody - 1},
		"a body of usual size, in part": {announced: maxBody, sent: freeBody + 1, most: usualBody - freeBody},
		"a larger one, in part":         {announced: maxBody, sent: usualBody + 1, most: 2*usualBody - freeBody},
		"a megabyte":                    {announced: maxBody, sent: 1 << 20, most: 2 << 20},
		"nobody knows how much comes":   {announced: -1, sent: 1 << 20, most: 2 << 20},
		"nearly all of a short one":     {announced: 20 << 10, sent: 20<<10 - 1, most: 4<<10 + 1},
	} {
		t.Run(name, func(t *testing.T) {
			f := newTraffic(t)
			s := f.begin("10.0.0.1", tc.announced)
			f.send(tc.sent, s)
			f.Expect(f.reserved()).To(BeNumerically("<=", tc.most))
			if tc.most > 0 {
				f.Expect(f.reserved()).To(BeNumerically(">=", tc.sent-freeBody))
			}
			f.Expect(s.pipe.Close()).To(Succeed())
			f.Eventually(s.result).Should(Receive(BeNil()))
			f.Expect(s.length).To(Equal(tc.sent))
			s.release()
			s.release()
			f.Expect(f.reserved()).To(BeZero(), "everything is given back, once")
		})
	}
}

// TestSlowBodiesDoNotHoldUpOthers has clients announce a body, send a part of it, and then nothing. Bodies of all sizes
// then arrive. Large ones may have to wait until slow ones are cut.
func TestSlowBodiesDoNotHoldUpOthers(t *testing.T) {
	const api = "10.0.0.1"
	for name, tc := range map[string]struct {
		clients, announced, sent int
		from                     int // so many addresses; 0 stands for the API server's
		usual, large             int // waits
	}{
		"nothing":                              {clients: 300, announced: maxBody, sent: 0},
		"one byte":                             {clients: 300, announced: maxBody, sent: 1, from: 64},
		"one byte, from the same address":      {clients: 300, announced: maxBody, sent: 1},
		"16 KiB, from the same address":        {clients: 300, announced: maxBody, sent: freeBody - 1},
		"60 KiB of a usual one":                {clients: 200, announced: usualBody - 1, sent: 60 << 10, from: 1},
		"60 KiB of a usual one, from many":     {clients: 200, announced: usualBody - 1, sent: 60 << 10, from: 20},
		"60 KiB of a usual one, from the same": {clients: 200, announced: usualBody - 1, sent: 60 << 10, usual: 3},
		"60 KiB":                               {clients: 300, announced: maxBody, sent: 60 << 10, from: 1, large: 2},
		"60 KiB, from the same address":        {clients: 300, announced: maxBody, sent: 60 << 10, large: 2},
		"one megabyte":                         {clients: 64, announced: maxBody, sent: 1<<20 - 1, from: 1, large: 2},
		"one megabyte, from the same address":  {clients: 64, announced: maxBody, sent: 1<<20 - 1, large: 2},
		"all but one byte":                     {clients: 16, announced: maxBody, sent: maxBody - 1, from: 8, large: 2},
		"all but one byte, unannounced":        {clients: 16, announced: -1, sent: maxBody - 1, large: 2},
	} {
		t.Run(name, func(t *testing.T) {
			f := newTraffic(t)
			var slow []*sender
			for i := range tc.clients {
				address := api
				if tc.from > 0 {
					address = fmt.Sprint("10.0.1.", i%tc.from)
				}
				slow = append(slow, f.begin(address, tc.announced))
			}
			f.send(tc.sent, slow...)
			for length, waits := range map[int]int{
				1000: 0, freeBody - 1: 0, 40 << 10: tc.usual, usualBody - 1: tc.usual,
				300 << 10: tc.large, 3 << 20: tc.large,
			} {
				f.finish(f.begin(api, length), length, waits)
			}
		})
	}
}

// TestALateBodyIsCutForAnother has one body have all memory, and not get on.
func TestALateBodyIsCutForAnother(t *testing.T) {
	for name, tc := range map[string]struct {
		left func(*budget) // has memory for one body left
		body int
	}{
		"of usual size": {left: func(b *budget) { b.usual.free = 180 << 10 }, body: usualBody - 1},
		"large":         {left: func(b *budget) { b.large.free, b.large.last = 180<<10, &arrival{} }, body: 100 << 10},
	} {
		t.Run(name, func(t *testing.T) {
			f := newTraffic(t)
			tc.left(f.budget)
			slow := f.begin("10.0.0.1", tc.body)
			f.send(20<<10, slow)
			f.clock.Step(10 * lateAfter)
			f.finish(f.begin("10.0.0.2", 1000), 1000, 0)
			f.Expect(slow.result).To(BeEmpty(), "nobody waits, and so it has time")
			f.clock.Step(-10 * lateAfter)

			other := f.begin("10.0.0.1", tc.body)
			f.send(20<<10, other)
			f.Expect(slow.in.waiters()).To(Equal(1))
			f.Expect(slow.result).To(BeEmpty(), "it is not late")
			f.clock.Step(lateAfter)
			f.Eventually(slow.result).Should(Receive(MatchError(busyText)))
			f.finish(other, tc.body-20<<10, 0)
		})
	}
}

// TestLargeBodiesDoNotWaitForEachOther has all of them arrive at once, and more than there is memory for.
func TestLargeBodiesDoNotWaitForEachOther(t *testing.T) {
	f := newTraffic(t)
	var all []*sender
	for range 16 {
		all = append(all, f.begin("10.0.0.1", maxBody))
	}
	f.send(1<<20-1, all...)
	f.Expect(f.large.waiters()).To(BeNumerically(">", 8))
	var group sync.WaitGroup
	for _, s := range all {
		group.Go(func() { f.finish(s, maxBody-1<<20+1, 0) })
	}
	group.Wait()
	f.Expect(f.reserved()).To(BeZero())
}

// TestShortBodiesGoOnFirst has a long body and then a shorter one wait for memory.
func TestShortBodiesGoOnFirst(t *testing.T) {
	for name, frees := range map[string]func(*arrivals){
		"there is room for one body, whatever its size":                 func(in *arrivals) { in.last = nil },
		"there is room for a part of the long one, or all of the other": func(in *arrivals) { in.free = 1 << 20 },
	} {
		t.Run(name, func(t *testing.T) {
			f := newTraffic(t)
			f.large.free, f.large.last = 0, &arrival{}
			long, short := f.begin("10.0.0.1", maxBody), f.begin("10.0.0.1", 300<<10)
			f.send(20<<10, long)
			f.send(20<<10, short)
			f.large.mu.Lock()
			frees(f.large)
			f.large.wake()
			f.Expect([]bool{long.waits, short.waits}).To(Equal([]bool{true, false}))
			f.large.mu.Unlock()
		})
	}
}

// TestABodyCountsForItsAddressUntilItHasArrived has one address have all that it may.
func TestABodyCountsForItsAddressUntilItHasArrived(t *testing.T) {
	f := newTraffic(t)
	var all []*sender
	for f.usual.waiters() == 0 {
		all = append(all, f.begin("10.0.0.1", usualBody-1))
		f.send(20<<10, all[len(all)-1])
	}
	f.Expect(f.usual.free).To(BeNumerically(">=", usualBudget/2), "the rest is left to others")
	f.finish(f.begin("10.0.0.2", usualBody-1), usualBody-1, 0)

	for _, s := range all[:2] {
		f.Expect(s.pipe.Close()).To(Succeed())
		f.Eventually(s.result).Should(Receive(BeNil()))
	}
	f.Eventually(f.usual.waiters).Should(BeZero(), "the first ones have arrived, and have their memory still")
}

// TestABodyWaitsForMemoryUntilItsDeadline has others have all memory.
func TestABodyWaitsForMemoryUntilItsDeadline(t *testing.T) {
	for name, tc := range map[string]struct {
		timeout     time.Duration // of the API server
		bodyTimeout time.Duration
	}{
		"of the decision": {timeout: time.Millisecond, bodyTimeout: time.Minute},
		"of the body":     {timeout: longestTimeout, bodyTimeout: time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := newEndpoint()
			e.bodyTimeout = tc.bodyTimeout
			e.budget.usual.free = 0
			g.Expect(answerWithin(e, longReview(), tc.timeout)).To(Equal(http.StatusServiceUnavailable))
			g.Expect(e.budget.usual.waiters()).To(BeZero())
		})
	}
}

// TestTheDeadlineOfABodyCountsFromItsRequest lets a body wait for memory: it has no more time for that.
func TestTheDeadlineOfABodyCountsFromItsRequest(t *testing.T) {
	g := NewWithT(t)
	e := newEndpoint()
	e.budget.usual.free = 0
	rw := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	answered := make(chan struct{})
	go func() {
		e.ServeHTTP(rw, post(longReview()))
		close(answered)
	}()
	g.Eventually(e.budget.usual.waiters).Should(Equal(1))
	waiting := time.Now()
	e.budget.usual.mu.Lock()
	e.budget.usual.free = usualBudget
	e.budget.usual.wake()
	e.budget.usual.mu.Unlock()
	g.Eventually(answered).Should(BeClosed())
	g.Expect(rw.Code).To(Equal(http.StatusOK))
	g.Expect(rw.set).NotTo(BeEmpty())
	for _, deadline := range rw.set {
		g.Expect(deadline).To(BeTemporally("<", waiting.Add(defaultTimeout*7/10)))
	}
}

// deadlines are those that reading has.
type deadlines struct {
	*httptest.ResponseRecorder
	set []time.Time
}

func (d *deadlines) SetReadDeadline(deadline time.Time) error {
	d.set = append(d.set, deadline)
	return nil
}

// uncounted is a Counter for calls that are answered at the same time.
type uncounted struct{}

func (uncounted) Count(string, int) {}

// TestServerCutsALateBodyForAnother has a slow client of a real server have all memory.
func TestServerCutsALateBodyForAnother(t *testing.T) {
	g := NewWithT(t)
	options, roots := testOptions(0)
	e, clock := newEndpoint(), clocktesting.NewFakeClock(time.Now())
	e.budget, e.requests = newBudget(clock), uncounted{}
	e.budget.usual.free = 2 * usualBody
	server, err := listen(options, e)
	g.Expect(err).NotTo(HaveOccurred())
	s := run(t, server, roots)
	slow, err := tls.Dial("tcp", server.Addr().String(), &tls.Config{RootCAs: roots})
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = slow.Close() }()
	_, err = fmt.Fprintf(slow, "POST /validate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"+
		"Content-Length: %d\r\n\r\n%s", usualBody-1, strings.Repeat("x", 20<<10))
	g.Expect(err).NotTo(HaveOccurred())
	reserved := func() int64 {
		e.budget.usual.mu.Lock()
		defer e.budget.usual.mu.Unlock()
		return 2*usualBody - e.budget.usual.free
	}
	g.Eventually(reserved).Should(BeNumerically(">", 0))
	clock.Step(lateAfter)
	resp, err := s.client(nil).Post(s.url, "application/json", strings.NewReader(longReview()))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(resp.StatusCode).To(Equal(http.StatusOK))
	g.Expect(resp.Body.Close()).To(Succeed())
	text, err := io.ReadAll(slow)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(text)).To(And(HavePrefix("HTTP/1.1 503 "), ContainSubstring(busyText)))
	g.Eventually(reserved).Should(BeZero())
}
