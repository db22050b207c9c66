package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"

	"github.com/stepgate/stepgate/test/local"
	"github.com/stepgate/stepgate/test/traffic"
)

// reads are what a decision may read.
func reads(f local.Fault) local.Fault {
	return local.Only(f, local.GetSet, local.GetApp, local.ListVersions)
}

// breakage is one way in which the API server, or what is in front of it, fails to answer a request.
type breakage struct {
	name  string
	fault local.Fault
	quick bool
}

// broken are all the ways, or the quick ones.
func (s *stand) broken() []breakage {
	all := []breakage{
		{"500", local.Answer(http.StatusInternalServerError, 0, metav1.StatusReasonInternalError), true},
		{"503", local.Answer(http.StatusServiceUnavailable, 0, metav1.StatusReasonServiceUnavailable), true},
		{"503, retry after 1 s", local.Answer(http.StatusServiceUnavailable, 1, metav1.StatusReasonServiceUnavailable), false},
		{"429, retry after 1 s", local.Answer(http.StatusTooManyRequests, 1, metav1.StatusReasonTooManyRequests), true},
		{"429, retry after 30 s", local.Answer(http.StatusTooManyRequests, 30, metav1.StatusReasonTooManyRequests), false},
		{"403", local.Answer(http.StatusForbidden, 0, metav1.StatusReasonForbidden), true},
		{"410", local.Answer(http.StatusGone, 0, metav1.StatusReasonExpired), true},
		{"404 of something else", notServed, true},
		{"nothing, for ever", local.Hang, false},
		{"the answer is lost", local.Lose, false},
		{"the stream is reset", local.Abort, true},
		{"half an answer", local.Truncate, true},
		{"an answer of no object", local.Garble, true},
		{"an empty answer", local.Empty, true},
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

func apiFaults() []fault {
	return []fault{
		{"k-th", "the k-th read of a decision fails, for every k, in every way, with a current watch and a stale one", true, kthRead},
		{"F4", "API server slow to stepgate, 0.2 s to 30 s", true, slowAPI},
		{"F5", "API server answers 500, 503, 429 with Retry-After, or nothing", true, failingAPI},
		{"F6", "compaction; 410 Gone to lists and watches; partial lists", true, compaction},
		{"F7", "watch silent, half-open, then broken", true, frozenWatch},
		{"F20", "one replica cut off from the API server", false, partition},
		{"F23", "Events refused, failing, hanging", true, eventsDown},
	}
}

// briefTimeout is a webhook's time that is waited for often.
const briefTimeout = 2 * time.Second

// kthRead fails each single read of each kind of decision. The watch is current, or says the opposite of what is true.
func kthRead(ctx context.Context, t *trial) error {
	asker := traffic.NewAsker(t.release.Gates()[0], &t.questions)
	defer asker.Close()
	proxy := t.proxies[0]
	for _, stale := range []bool{false, true} {
		for _, degraded := range []bool{true, false} {
			if err := t.known(ctx, stale, degraded); err != nil {
				return err
			}
			before := decisionReads(proxy)
			if t.ask(ctx, asker, t.quiet, webhookTimeout) != traffic.Right {
				return fmt.Errorf("the answer is not right before anything fails, stale=%t degraded=%t", stale, degraded)
			}
			count := decisionReads(proxy) - before
			for _, way := range t.broken() {
				for k := 1; k <= count; k++ {
					proxy.Set(reads(local.Nth(k, way.fault)))
					t.ask(ctx, asker, t.quiet, briefTimeout)
					proxy.Set()
					t.inject(1)
					if t.ask(ctx, asker, t.quiet, webhookTimeout) != traffic.Right {
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
		if t.quiet.SetDegraded(ctx, degraded) != traffic.Right {
			return errors.New("a status write failed")
		}
		return nil
	}
	return t.current(ctx, degraded)
}

// current waits until replica 0 knows the quiet rollout as it is: a decision then takes two reads.
func (t *trial) current(ctx context.Context, degraded bool) error {
	if t.quiet.SetDegraded(ctx, degraded) != traffic.Right {
		return errors.New("a status write failed")
	}
	asker := traffic.NewAsker(t.release.Gates()[0], &traffic.Tally{})
	defer asker.Close()
	return local.Poll(ctx, func() error {
		before := decisionReads(t.proxies[0])
		if outcome, _, err := asker.Ask(ctx, t.quiet, webhookTimeout); outcome != traffic.Right {
			return fmt.Errorf("not the right answer: %w", err)
		}
		if n := decisionReads(t.proxies[0]) - before; n != 2 {
			return fmt.Errorf("a decision took %d reads", n)
		}
		return nil
	})
}

func decisionReads(p *local.APIProxy) int {
	return p.Count(local.ListSet) + p.Count(local.GetSet) + p.Count(local.GetApp) + p.Count(local.ListVersions)
}

// slowAPI delays every read. A decision of two or three reads is made if they fit into the time, else it is none.
func slowAPI(ctx context.Context, t *trial) error {
	delays := []time.Duration{200 * time.Millisecond, 500 * time.Millisecond, time.Second, 3 * time.Second, 10 * time.Second, 30 * time.Second}
	if t.stand.quick {
		delays = []time.Duration{500 * time.Millisecond, 3 * time.Second}
	}
	for _, delay := range delays {
		t.all(reads(local.Late(delay)))
		if err := t.everyAnswer(ctx, t.times(5)); err != nil {
			return err
		}
		t.inject(1)
		if err := t.recover(ctx); err != nil {
			return err
		}
	}
	return nil
}

// failingAPI has every read fail in one way for a while.
func failingAPI(ctx context.Context, t *trial) error {
	for _, way := range t.broken() {
		t.all(reads(way.fault))
		if err := t.everyAnswer(ctx, t.times(5)); err != nil {
			return err
		}
		t.inject(1)
		if err := t.recover(ctx); err != nil {
			return err
		}
	}
	return nil
}

// everyAnswer writes through the API server, and asks each replica so often, at once.
func (t *trial) everyAnswer(ctx context.Context, questions int) error {
	wait := make(chan struct{})
	go func() {
		defer close(wait)
		t.load.Burst(ctx, 1)
		for _, r := range t.load.Rollouts()[:2] {
			r.Untouched(ctx)
		}
	}()
	var group sync.WaitGroup
	for _, gate := range t.release.Gates() {
		group.Go(func() {
			asker := traffic.NewAsker(gate, &t.questions)
			defer asker.Close()
			for range questions {
				t.ask(ctx, asker, t.quiet, briefTimeout)
			}
		})
	}
	group.Wait()
	<-wait
	return ctx.Err()
}

// compaction takes from etcd what watches and lists might want to go on from.
func compaction(ctx context.Context, t *trial) error {
	err := t.under(ctx, func(ctx context.Context) error {
		for range t.times(10) {
			if err := t.compact(ctx); err != nil {
				return err
			}
			t.inject(1)
			for _, proxy := range t.proxies {
				proxy.Reset() // and now watch on from there
			}
			if err := pass(ctx, 300*time.Millisecond); err != nil {
				return err
			}
		}
		gone := local.Answer(http.StatusGone, 0, metav1.StatusReasonExpired)
		for _, kinds := range [][]string{
			{local.WatchApps, local.WatchSets}, {local.WatchApps, local.ListApps, local.WatchSets, local.ListSets},
		} {
			t.all(local.Only(gone, kinds...))
			for _, proxy := range t.proxies {
				proxy.Reset()
			}
			t.inject(1)
			if err := pass(ctx, 3*time.Second); err != nil {
				return err
			}
			t.all()
		}
		return nil
	})
	if err != nil {
		return err
	}
	return t.partial(ctx)
}

// partial answers the list of metadata with a part. What is missing in it is not absent: that is no decision.
func (t *trial) partial(ctx context.Context) error {
	for _, stale := range []bool{false, true} {
		if err := t.known(ctx, stale, stale); err != nil {
			return err
		}
		t.proxies[0].Set(local.Only(local.Partial, local.ListVersions))
		asker := traffic.NewAsker(t.release.Gates()[0], &t.questions)
		if t.ask(ctx, asker, t.quiet, webhookTimeout) == traffic.Right {
			t.problem("a partial list was judged by, stale=%t", stale)
		}
		asker.Close()
		t.inject(1)
		t.proxies[0].Heal()
	}
	return nil
}

// compact compacts etcd up to now, by its JSON interface.
func (t *trial) compact(ctx context.Context) error {
	var list argo.ApplicationSetList
	if err := t.admin.List(ctx, &list); err != nil {
		return err
	}
	revision, err := strconv.ParseInt(list.ResourceVersion, 10, 64)
	if err != nil {
		return err
	}
	body, err := json.Marshal(map[string]any{"revision": strconv.FormatInt(revision, 10), "physical": true})
	if err != nil {
		return err
	}
	response, err := http.Post(t.cluster.Etcd()+"/v3/kv/compaction", "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("compact etcd: %s", response.Status)
	}
	return nil
}

// frozenWatch lets the watches go silent while states change: decisions do not depend on them.
func frozenWatch(ctx context.Context, t *trial) error {
	for _, end := range []string{"delivers what it held back", "is reset"} {
		err := t.under(ctx, func(ctx context.Context) error {
			for _, proxy := range t.proxies {
				proxy.Freeze()
			}
			t.inject(1)
			if err := pass(ctx, time.Duration(t.times(15))*time.Second); err != nil {
				return err
			}
			if end == "is reset" {
				for _, proxy := range t.proxies {
					proxy.Reset()
				}
			}
			for _, proxy := range t.proxies {
				proxy.Heal()
			}
			return nil
		})
		if err != nil {
			return err
		}
		if failed := t.writes.Count(traffic.Failed); failed > 0 && end != "is reset" {
			t.problem("%d writes failed: decisions depend on the watch", failed)
		}
		// Recovered is when a decision takes two reads again.
		began := time.Now()
		if err := t.current(ctx, true); err != nil {
			return fmt.Errorf("the watch did not recover when it %s: %w", end, err)
		}
		t.note("when the watch %s, it is current again after %s", end, time.Since(began).Round(time.Millisecond))
	}
	return nil
}
