package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/faultproxy"
	"github.com/stepgate/stepgate/test/load"
)

func clientFaults() []fault {
	return []fault{
		{"F24", "Applications of 1.2 MB", true, hugeApplications},
		{"F26", "malformed and mutated AdmissionReviews", true, malformed},
		{"F28", "garbage, plain HTTP, wrong names and old TLS on the webhook's port", true, garbage},
		{"F29", "the request's deadline is shorter than the webhook's", true, shortDeadline},
		{"F30", "a client repeats a denied write without a pause", true, hotLoop},
		{"F37", "1,000 slow connections in four phases", true, slowClients},
		{"net", "the network between API server and stepgate: delays, resets, nothing", true, webhookNetwork},
	}
}

// hugeApplications writes and asks about Applications of 1.2 MB, whose AdmissionReviews are twice as large.
func hugeApplications(ctx context.Context, t *trial) error {
	const atOnce = 4
	var fat []*load.Rollout
	for i := range atOnce {
		r, err := t.writer.NewRollout(ctx, t.cluster.Cluster, fmt.Sprintf("huge-%d", i))
		if err != nil {
			return err
		}
		if err := r.Fatten(ctx, t.admin, 1200<<10); err != nil {
			return fmt.Errorf("make an Application huge: %w", err)
		}
		fat = append(fat, r)
	}
	asker := load.NewAsker(t.release.Replicas()[0], &t.questions)
	defer asker.Close()
	var group sync.WaitGroup
	for _, r := range fat {
		group.Go(func() {
			for range t.times(15) {
				r.Next(ctx)
				t.ask(ctx, asker, r, webhookTimeout)
				t.ask(ctx, asker, r, webhookTimeout)
			}
		})
	}
	group.Wait()
	t.inject(3 * atOnce * t.times(15))
	t.note("slowest question %s, slowest write %s", t.questions.Percentile(100).Round(time.Millisecond), t.writes.Percentile(100).Round(time.Millisecond))
	for _, r := range fat {
		if err := t.admin.DeleteAllOf(ctx, &argo.Application{}, client.InNamespace(r.Prod.Namespace)); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// malformed sends what is no AdmissionReview, and real ones with some bytes changed. Nothing of it ends the process, or
// is answered with "stepgate failed".
func malformed(ctx context.Context, t *trial) error {
	asker := load.NewAsker(t.release.Replicas()[0], &t.questions)
	defer asker.Close()
	good, err := t.quiet.Review()
	if err != nil {
		return err
	}
	bodies := [][]byte{
		nil, []byte("{}"), []byte("null"), []byte("[]"), []byte(`"x"`), []byte("\x00\xff"), good[:len(good)/2],
		[]byte(`{"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview","request":{"uid":"1"}}`),
		[]byte(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}`),
		[]byte(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":null}`),
		[]byte(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"1"}}`),
		[]byte(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"1","kind":{"group":"argoproj.io","kind":"Application"},"operation":"UPDATE"}}`),
		[]byte(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"1","kind":{"group":"","kind":"Pod"},"object":{}}}`),
		bytes.Replace(good, []byte(`"uid":"asked"`), []byte(`"uid":""`), 1),
		[]byte(strings.Repeat("[", 100000)), []byte(`{"request":` + strings.Repeat(`{"object":`, 50000)),
		bytes.Repeat([]byte(" "), 8<<20),
	}
	random := rand.New(rand.NewPCG(26, uint64(len(good))))
	for range t.times(2000) {
		mutated := bytes.Clone(good)
		for range 1 + random.IntN(4) {
			mutated[random.IntN(len(mutated))] = byte(random.IntN(256))
		}
		bodies = append(bodies, mutated)
	}
	codes := map[int]int{}
	for _, body := range bodies {
		code, text, err := asker.Post(ctx, "?timeout=5s", "application/json", body)
		if err != nil {
			return fmt.Errorf("a malformed review of %d bytes was not answered: %w", len(body), err)
		}
		codes[code]++
		if code == http.StatusInternalServerError {
			t.problem("it failed at a malformed review: %.200s", text)
		}
		t.inject(1)
	}
	for _, query := range []string{"?timeout=0s", "?timeout=-1s", "?timeout=x", "?timeout=9999999h"} {
		if _, _, err := asker.Post(ctx, query, "application/json", good); err != nil {
			return err
		}
		t.inject(1)
	}
	t.note("answers by HTTP status: %v", codes)
	return nil
}

// shortDeadline asks and writes with less time than the webhook has, while the API server is slower than that.
func shortDeadline(ctx context.Context, t *trial) error {
	t.all(reads(faultproxy.Late(3 * time.Second)))
	asker := load.NewAsker(t.release.Replicas()[0], &t.questions)
	defer asker.Close()
	for range t.times(10) {
		t.ask(ctx, asker, t.quiet, time.Second)
		t.inject(1)
	}
	if t.questions.Count(load.Right) > 0 {
		t.problem("a decision without its reads")
	}
	// The API server passes on what is left of the request's own time.
	if t.quiet.SetDegraded(ctx, false) != load.Right {
		return fmt.Errorf("a status write failed")
	}
	for range t.times(5) {
		start := time.Now()
		if t.quiet.SyncWithin(ctx, time.Second) != load.Failed {
			t.problem("a write was answered that could not be judged in its time")
		}
		if took := time.Since(start); took > 2*time.Second {
			t.problem("a write of 1 s took %s", took.Round(time.Millisecond))
		}
		t.inject(1)
	}
	return nil
}

// hotLoop asks the same denied question without a pause, as a controller without a back-off does, while others write.
func hotLoop(ctx context.Context, t *trial) error {
	if t.quiet.SetDegraded(ctx, true) != load.Right {
		return fmt.Errorf("a status write failed")
	}
	known, err := t.events(ctx)
	if err != nil {
		return err
	}
	looping, stop := context.WithTimeout(ctx, time.Duration(t.times(20))*time.Second)
	defer stop()
	began, before := time.Now(), decisionReads(t.proxies[0])
	err = t.under(ctx, func(ctx context.Context) error {
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				asker := load.NewAsker(t.release.Replicas()[0], &t.questions)
				defer asker.Close()
				for looping.Err() == nil {
					t.ask(ctx, asker, t.quiet, webhookTimeout)
				}
			})
		}
		group.Wait()
		return nil
	})
	if err != nil {
		return err
	}
	t.inject(t.questions.Calls())
	took := time.Since(began)
	events, err := t.events(ctx)
	if err != nil {
		return err
	}
	if events-known > 1 {
		t.problem("%d Events", events-known)
	}
	t.note("%.0f denials a second with %.2f reads each, %d Events; the others' slowest write %s", float64(t.questions.Calls())/took.Seconds(),
		float64(decisionReads(t.proxies[0])-before)/float64(t.questions.Calls()), events-known, t.writes.Percentile(100).Round(time.Millisecond))
	t.noneFailed()
	return nil
}

// events is how many Events there are on the quiet rollout.
func (t *trial) events(ctx context.Context) (int, error) {
	var events eventsv1.EventList
	err := t.admin.List(ctx, &events, client.InNamespace(t.quiet.Prod.Namespace))
	return len(events.Items), err
}

// webhookNetwork disturbs what is between the API server and stepgate.
func webhookNetwork(ctx context.Context, t *trial) error {
	wire := t.release.Balancer.Wire
	for name, disturb := range map[string]func(){
		"delayed by 100 ms": func() { wire.Delay(100 * time.Millisecond) },
		"delayed by 3 s":    func() { wire.Delay(3 * time.Second) },
		"reset":             wire.Reset,
		"refused":           wire.Refuse,
		"held":              wire.Hold,
	} {
		disturb()
		t.load.Burst(ctx, 1)
		for _, r := range t.load.Rollouts()[:2] {
			r.Untouched(ctx)
		}
		t.inject(1)
		if err := t.recover(ctx); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}
