package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"

	"github.com/stepgate/stepgate/test/faultproxy"
	"github.com/stepgate/stepgate/test/load"
)

func apiFaults() []fault {
	return []fault{
		{"k-th", "read of a decision fails, for every k, in 15 ways, with a current watch and a stale one", true, kthRead},
		{"F4", "API server slow to stepgate, 0.2 s to 30 s", true, slowAPI},
		{"F5", "API server answers 500, 503, 429 with Retry-After, or nothing", true, failingAPI},
		{"F6", "compaction; 410 Gone to lists and watches; partial lists", true, compaction},
		{"F7", "watch silent, half-open, then broken", true, frozenWatch},
		{"F20", "one replica cut off from the API server", false, partition},
		{"F23", "Events refused, failing, hanging", true, eventsDown},
	}
}

// slowAPI delays every read. A decision of two or three reads is made if they fit into the time, else it is none.
func slowAPI(ctx context.Context, t *trial) error {
	delays := []time.Duration{200 * time.Millisecond, 500 * time.Millisecond, time.Second, 3 * time.Second, 10 * time.Second, 30 * time.Second}
	if t.stand.quick {
		delays = []time.Duration{500 * time.Millisecond, 3 * time.Second}
	}
	for _, delay := range delays {
		t.all(reads(faultproxy.Late(delay)))
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
	for _, gate := range t.release.Replicas() {
		group.Go(func() {
			asker := load.NewAsker(gate, &t.questions)
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
		gone := faultproxy.Answer(http.StatusGone, 0, metav1.StatusReasonExpired)
		for _, kinds := range [][]string{
			{faultproxy.WatchApps, faultproxy.WatchSets}, {faultproxy.WatchApps, faultproxy.ListApps, faultproxy.WatchSets, faultproxy.ListSets},
		} {
			t.all(faultproxy.Only(gone, kinds...))
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
		t.proxies[0].Set(faultproxy.Only(faultproxy.Partial, faultproxy.ListVersions))
		asker := load.NewAsker(t.release.Replicas()[0], &t.questions)
		if t.ask(ctx, asker, t.quiet, webhookTimeout) == load.Right {
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
	// What has been compacted cannot be compacted again, so something has to change.
	if t.quiet.SetDegraded(ctx, true) != load.Right {
		return errors.New("a status write failed")
	}
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
		if failed := t.writes.Count(load.Failed); failed > 0 && end != "is reset" {
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
