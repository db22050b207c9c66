package server

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// heavy is a review whose object has very many small objects.
func heavy() string {
	return strings.Replace(good, `"color":"blue"`, `"color":[{}`+strings.Repeat(",{}", 10_000)+`]`, 1)
}

// TestAHeavyRequestDoesNotHoldUpUsualOnes has a heavy request take all the memory for such.
func TestAHeavyRequestDoesNotHoldUpUsualOnes(t *testing.T) {
	g := NewWithT(t)
	e := &endpoint{path: path, handler: answering(admission.Allowed("")), requests: counts{}, bodyTimeout: time.Minute, budget: newBudget()}
	release, err := e.budget.handling(t.Context(), []byte(strings.Repeat("{", maxElements)))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(answer(e, good)).To(Equal(http.StatusOK))
	g.Expect(answerWithin(e, heavy(), time.Second)).To(Equal(http.StatusServiceUnavailable))
	release()
	g.Expect(answer(e, heavy())).To(Equal(http.StatusOK))
	g.Expect(e.budget.heavy.TryAcquire(heavyBudget)).To(BeTrue(), "everything is given back")
}

// TestABodyHasNotTooManyValues counts a body's objects and values before it is decoded.
func TestABodyHasNotTooManyValues(t *testing.T) {
	g := NewWithT(t)
	e := &endpoint{path: path, handler: answering(admission.Allowed("")), requests: counts{}, bodyTimeout: time.Minute, budget: newBudget()}
	with := func(item string, n int) string {
		return strings.Replace(good, `"color":"blue"`, `"colors":[`+strings.Repeat(item+",", n)+item+`]`, 1)
	}
	g.Expect(answer(e, with("1", maxElements-100))).To(Equal(http.StatusOK))
	g.Expect(answer(e, with("1", maxElements))).To(Equal(http.StatusRequestEntityTooLarge))
	g.Expect(answer(e, with("{}", maxElements))).To(Equal(http.StatusRequestEntityTooLarge))
}

// TestABodyIsReadWithinTheBudget has other bodies take all the memory for reading.
func TestABodyIsReadWithinTheBudget(t *testing.T) {
	g := NewWithT(t)
	e := &endpoint{path: path, handler: answering(admission.Allowed("")), requests: counts{}, bodyTimeout: time.Minute, budget: newBudget()}
	long := strings.Replace(good, "blue", strings.Repeat("x", 2*freeBody), 1)
	g.Expect(e.budget.reading.TryAcquire(readingBudget)).To(BeTrue())
	g.Expect(answer(e, good)).To(Equal(http.StatusOK))
	g.Expect(answerWithin(e, long, time.Second)).To(Equal(http.StatusServiceUnavailable))
	e.budget.reading.Release(readingBudget)
	g.Expect(answer(e, long)).To(Equal(http.StatusOK))
	g.Expect(e.budget.reading.TryAcquire(readingBudget)).To(BeTrue(), "everything is given back")
}

// answer is the code of the answer to a call.
func answer(e *endpoint, body string) int { return answerWithin(e, body, longestTimeout) }

// answerWithin is the code of the answer to a call that waits for a time at most.
func answerWithin(e *endpoint, body string, timeout time.Duration) int {
	r := post(body)
	r.URL.RawQuery = "timeout=" + timeout.String()
	_, err := e.answer(nil, r)
	if failure, is := errors.AsType[*httpError](err); is {
		return failure.code()
	}
	if err != nil {
		return 0
	}
	return http.StatusOK
}

// TestAServerLimitsItsConnections looks at what Listen listens with: 1,500 connections take too long to open here.
func TestAServerLimitsItsConnections(t *testing.T) {
	g := NewWithT(t)
	options, _ := testOptions(0)
	s, err := Listen(options)
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = s.listener.Close() })
	limited, is := s.listener.(*limitedListener)
	g.Expect(is).To(BeTrue())
	g.Expect([]int{limited.total, limited.perAddress}).To(Equal([]int{maxConnections, maxPerAddress}))
}

// TestConnectionsAreLimited opens more connections than one address, and than all, may have.
func TestConnectionsAreLimited(t *testing.T) {
	for name, tc := range map[string]struct{ total, perAddress int }{"of one address": {3, 2}, "of all": {2, 3}} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			inner, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
			g.Expect(err).NotTo(HaveOccurred())
			l := newLimitedListener(inner, tc.total, tc.perAddress)
			t.Cleanup(func() { _ = l.Close() })
			accepted := make(chan net.Conn, 10)
			go func() {
				for conn, err := l.Accept(); err == nil; conn, err = l.Accept() {
					accepted <- conn
				}
			}()
			dial := func() net.Conn {
				conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", inner.Addr().String())
				g.Expect(err).NotTo(HaveOccurred())
				t.Cleanup(func() { _ = conn.Close() })
				return conn
			}
			dial()
			dial()
			first := <-accepted
			<-accepted
			_, err = dial().Read(make([]byte, 1))
			g.Expect(err).To(MatchError(io.EOF), "the third one is closed")
			g.Expect(accepted).To(BeEmpty())

			g.Expect(first.Close()).To(Succeed())
			_ = first.Close() // counts once
			dial()
			<-accepted
			_, err = dial().Read(make([]byte, 1))
			g.Expect(err).To(MatchError(io.EOF))
		})
	}
}
