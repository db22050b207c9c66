package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stepgate/stepgate/test/eventually"
	"github.com/stepgate/stepgate/test/faultproxy"
	"github.com/stepgate/stepgate/test/load"
)

// reads are what a decision may read.
func reads(f faultproxy.Fault) faultproxy.Fault {
	return faultproxy.Only(f, faultproxy.GetSet, faultproxy.GetApp, faultproxy.ListVersions)
}

// breakage is one way in which the API server, or what is in front of it, fails to answer a request.
type breakage struct {
	name  string
	fault faultproxy.Fault
	quick bool
}

// broken are all the ways, or the quick ones.
func (s *stand) broken() []breakage {
	all := []breakage{
		{"500", faultproxy.Answer(http.StatusInternalServerError, 0, metav1.StatusReasonInternalError), true},
		{"503", faultproxy.Answer(http.StatusServiceUnavailable, 0, metav1.StatusReasonServiceUnavailable), true},
		{"503, retry after 1 s", faultproxy.Answer(http.StatusServiceUnavailable, 1, metav1.StatusReasonServiceUnavailable), false},
		{"429, retry after 1 s", faultproxy.Answer(http.StatusTooManyRequests, 1, metav1.StatusReasonTooManyRequests), true},
		{"429, retry after 30 s", faultproxy.Answer(http.StatusTooManyRequests, 30, metav1.StatusReasonTooManyRequests), false},
		{"403", faultproxy.Answer(http.StatusForbidden, 0, metav1.StatusReasonForbidden), true},
		{"410", faultproxy.Answer(http.StatusGone, 0, metav1.StatusReasonExpired), true},
		{"404 of something else", notServed, true},
		{"nothing, for ever", faultproxy.Hang, false},
		{"the answer is lost", faultproxy.Lose, false},
		{"the stream is reset", faultproxy.Abort, true},
		{"half an answer", faultproxy.Truncate, true},
		{"an answer of no object", faultproxy.Garble, true},
		{"an empty answer", faultproxy.Empty, true},
		{"an object of no content", hollow, true},
	}
	return slices.DeleteFunc(all, func(b breakage) bool { return s.quick && !b.quick })
}

// notServed is what an API server answers that does not serve the resource, or a load balancer without a backend.
func notServed(_ string, rw http.ResponseWriter, _ *http.Request, _ http.Handler) {
	http.Error(rw, "404 page not found", http.StatusNotFound)
}

// hollow is valid JSON with nothing in it.
func hollow(_ string, rw http.ResponseWriter, _ *http.Request, _ http.Handler) {
	rw.Header().Set("Content-Type", "application/json")
	_, _ = rw.Write([]byte("{}"))
}

// briefTimeout is a webhook's time that is waited for often.
const briefTimeout = 2 * time.Second

// kthRead fails each single read of each kind of decision. The watch is current, or says the opposite of what is true.
func kthRead(ctx context.Context, t *trial) error {
	asker := load.NewAsker(t.release.Replicas()[0], &t.questions)
	defer asker.Close()
	proxy := t.proxies[0]
	for _, stale := range []bool{false, true} {
		for _, degraded := range []bool{true, false} {
			if err := t.known(ctx, stale, degraded); err != nil {
				return err
			}
			before := decisionReads(proxy)
			if t.ask(ctx, asker, t.quiet, webhookTimeout) != load.Right {
				return fmt.Errorf("the answer is not right before anything fails, stale=%t degraded=%t", stale, degraded)
			}
			count := decisionReads(proxy) - before
			for _, way := range t.broken() {
				for k := 1; k <= count; k++ {
					proxy.Set(reads(faultproxy.Nth(k, way.fault)))
					t.ask(ctx, asker, t.quiet, briefTimeout)
					proxy.Set()
					t.inject(1)
					if t.ask(ctx, asker, t.quiet, webhookTimeout) != load.Right {
						t.problem("no right answer after read %d met %s", k, way.name)
					}
				}
			}
			t.note("stale=%t, to be denied=%t: %d reads", stale, degraded, count)
			proxy.Heal()
		}
	}
	return nil
}

// known brings the quiet rollout to a state, and replica 0 to know it, or to know the opposite.
func (t *trial) known(ctx context.Context, stale, degraded bool) error {
	if stale {
		if err := t.current(ctx, !degraded); err != nil {
			return err
		}
		t.proxies[0].Freeze()
		if t.quiet.SetDegraded(ctx, degraded) != load.Right {
			return errors.New("a status write failed")
		}
		return nil
	}
	return t.current(ctx, degraded)
}

// current waits until replica 0 knows the quiet rollout as it is: a decision then takes two reads.
func (t *trial) current(ctx context.Context, degraded bool) error {
	if t.quiet.SetDegraded(ctx, degraded) != load.Right {
		return errors.New("a status write failed")
	}
	asker := load.NewAsker(t.release.Replicas()[0], &load.Tally{})
	defer asker.Close()
	return eventually.Succeeds(ctx, func() error {
		before := decisionReads(t.proxies[0])
		if outcome, _, err := asker.Ask(ctx, t.quiet, webhookTimeout); outcome != load.Right {
			return fmt.Errorf("not the right answer: %w", err)
		}
		if n := decisionReads(t.proxies[0]) - before; n != 2 {
			return fmt.Errorf("a decision took %d reads", n)
		}
		return nil
	})
}

func decisionReads(p *faultproxy.APIProxy) int {
	return p.Count(faultproxy.ListSet) + p.Count(faultproxy.GetSet) + p.Count(faultproxy.GetApp) + p.Count(faultproxy.ListVersions)
}
