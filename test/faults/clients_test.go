// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/faultproxy"
	"github.com/stepgate/stepgate/test/load"
)

// TestF24_HugeApplications writes and asks about Applications of 1.2 MB, whose AdmissionReviews are twice as large.
func TestF24_HugeApplications(t *testing.T) {
	f := begin(t, "F24 Applications of 1.2 MB")
	const atOnce = 4
	var group sync.WaitGroup
	var huge []*load.Rollout
	for i := range atOnce {
		r := f.rollout(fmt.Sprintf("huge-%d", i))
		f.Expect(r.Fatten(f.ctx, f.Admin, 1200<<10)).To(Succeed())
		huge = append(huge, r)
	}
	asker := f.asker(f.release.Replicas()[0])
	for _, r := range huge {
		group.Go(func() {
			for range times(15) {
				r.Next(f.ctx)
				f.ask(asker, r, webhookTimeout)
				f.ask(asker, r, webhookTimeout)
			}
		})
	}
	group.Wait()
	f.inject(3 * atOnce * times(15))
	f.note("slowest question %s, slowest write %s", f.questions.Percentile(100).Round(time.Millisecond),
		f.writes.Percentile(100).Round(time.Millisecond))
	for _, r := range huge {
		f.Expect(f.Admin.DeleteAllOf(f.ctx, &argo.Application{}, client.InNamespace(r.Prod.Namespace))).To(Succeed())
	}
}

// TestF40_WorstBodies has 64 clients send the bodies that take most memory, all the time, while others write. stepgate
// has no client CA.
func TestF40_WorstBodies(t *testing.T) {
	f := begin(t, "F40 64 clients send the worst bodies to one replica")
	f.most = worstMemory
	f.setQuiet(true)
	good, err := f.rollout("worst").Review()
	f.Expect(err).NotTo(HaveOccurred())
	list := func(item string, bytes int) string {
		return "[" + strings.Repeat(item+",", bytes/(len(item)+1)) + item + "]"
	}
	with := func(field, value string) []byte {
		return bytes.Replace(good, []byte(`"object":{`), []byte(`"object":{"`+field+`":`+value+`,`), 1)
	}
	const most = 6_700_000
	bodies := map[string][]byte{
		"history, as long as it may be":   with("status", `{"history":`+list("{}", 3*19_900)+`}`),
		"history, too long":               with("status", `{"history":`+list("{}", most)+`}`),
		"the bulk of a status":            with("status", `{"resources":`+list("{}", most)+`}`),
		"sources, as many as may be":      with("spec", `{"sources":`+list("{}", 3*19_900)+`}`),
		"an unknown field, deep":          with("x", strings.Repeat("[", 5000)+list("[]", most/2)+strings.Repeat("]", 5000)),
		"groups of the user":              bytes.Replace(good, []byte(`"userInfo":{`), []byte(`"userInfo":{"groups":`+list(`""`, most)+`,`), 1),
		"one long text":                   with("spec", `{"project":"`+strings.Repeat("x", most)+`"}`),
		"options, as many as may be sent": with("operation", `{"sync":{"syncOptions":`+list(`""`, 3*190_000)+`}}`),
	}
	codes, mu := map[string]int{}, sync.Mutex{}
	replica, before := f.release.Replicas()[0], f.memory.MaxMiB()
	f.under(func() {
		var group sync.WaitGroup
		end := time.Now().Add(time.Duration(times(60)) * time.Second)
		for range 64 {
			group.Go(func() {
				asker := load.NewAsker(replica, &load.Tally{})
				defer asker.Close()
				for time.Now().Before(end) {
					for name, body := range bodies {
						code, _, err := asker.Post(f.ctx, "?timeout=5s", "application/json", body)
						mu.Lock()
						codes[fmt.Sprintf("%s: %d (%v)", name, code, err != nil)]++
						mu.Unlock()
					}
				}
			})
		}
		group.Wait()
	})
	for _, n := range codes {
		f.inject(n)
	}
	f.note("anonymous memory at most %.0f MiB, %.0f before; the others' writes: slowest %s, %d failed; answers: %v",
		f.memory.MaxMiB(), before,
		f.writes.Percentile(100).Round(time.Millisecond), f.writes.Count(load.Failed), codes)
}

// TestF26_MalformedReviews sends bodies that are no AdmissionReviews, and real ones with some bytes changed. None of
// them ends the process, and stepgate does not answer "stepgate failed".
func TestF26_MalformedReviews(t *testing.T) {
	f := begin(t, "F26 malformed and mutated AdmissionReviews")
	asker := f.asker(f.release.Replicas()[0])
	// A mutated review may let stepgate ask for a refresh of the siblings, so they are nobody else's.
	good, err := f.rollout("malformed").Review()
	f.Expect(err).NotTo(HaveOccurred())
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
	for range times(2000) {
		mutated := bytes.Clone(good)
		for range 1 + random.IntN(4) {
			mutated[random.IntN(len(mutated))] = byte(random.IntN(256))
		}
		bodies = append(bodies, mutated)
	}
	codes := map[int]int{}
	for _, body := range bodies {
		code, text, err := asker.Post(f.ctx, "?timeout=5s", "application/json", body)
		f.Expect(err).NotTo(HaveOccurred(), "a malformed review of %d bytes has no answer", len(body))
		codes[code]++
		if code == http.StatusInternalServerError {
			f.Errorf("it failed at a malformed review: %.200s", text)
		}
		f.inject(1)
	}
	for _, query := range []string{"?timeout=0s", "?timeout=-1s", "?timeout=x", "?timeout=9999999h"} {
		_, _, err := asker.Post(f.ctx, query, "application/json", good)
		f.Expect(err).NotTo(HaveOccurred(), query)
		f.inject(1)
	}
	f.note("answers by HTTP status: %v", codes)
}

// TestF29_ShortDeadline asks and writes with less time than the webhook has, while the API server needs more than that.
func TestF29_ShortDeadline(t *testing.T) {
	f := begin(t, "F29 the request's deadline is shorter than the webhook's")
	f.all(reads(faultproxy.Late(3 * time.Second)))
	asker := f.asker(f.release.Replicas()[0])
	for range times(10) {
		f.ask(asker, f.quiet, time.Second)
		f.inject(1)
	}
	if f.questions.Count(load.Right) > 0 {
		f.Errorf("stepgate decided without its reads")
	}
	// The API server passes on the rest of the request's own time.
	f.setQuiet(false)
	for range times(5) {
		if outcome := f.quiet.SyncWithin(f.ctx, time.Second); outcome != load.Failed {
			f.Errorf("%s to a write that stepgate could not judge in its time", outcome)
		}
		f.inject(1)
	}
}

// TestF30_HotLoop asks the same denied question without a pause, as a controller without a back-off does, while others
// write.
func TestF30_HotLoop(t *testing.T) {
	f := begin(t, "F30 a client repeats a denied write without a pause")
	f.setQuiet(true)
	events := func() int {
		var list eventsv1.EventList
		f.Expect(f.Admin.List(f.ctx, &list, client.InNamespace(f.quiet.Prod.Namespace))).To(Succeed())
		return len(list.Items)
	}
	asker := f.asker(f.release.Replicas()[0])
	eventsBefore, readsBefore, began := events(), f.decisionReads(), time.Now()
	f.under(func() {
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				for time.Since(began) < time.Duration(times(20))*time.Second {
					f.ask(asker, f.quiet, webhookTimeout)
				}
			})
		}
		group.Wait()
	})
	took, denials, sent := time.Since(began), f.questions.Calls(), events()-eventsBefore
	f.inject(denials)
	if sent > 1 {
		f.Errorf("%d Events", sent)
	}
	f.note("%.0f denials a second with %.2f reads each, %d Events; the others' slowest write %s",
		float64(denials)/took.Seconds(),
		float64(f.decisionReads()-readsBefore)/float64(denials), sent, f.writes.Percentile(100).Round(time.Millisecond))
	f.noneFailed()
}

// TestNetwork disturbs the connections between the API server and stepgate.
func TestNetwork(t *testing.T) {
	f := begin(t, "net the network between API server and stepgate: delays, resets, nothing")
	wire := f.release.Balancer.Wire
	for name, disturb := range map[string]func(){
		"delayed by 100 ms": func() { wire.Delay(100 * time.Millisecond) },
		"delayed by 3 s":    func() { wire.Delay(3 * time.Second) },
		"reset":             wire.Reset,
		"refused":           wire.Refuse,
		"held":              wire.Hold,
	} {
		f.Log(name)
		disturb()
		f.generator.Burst(f.ctx, 1)
		for _, r := range f.generator.Rollouts()[:2] {
			r.Untouched(f.ctx)
		}
		f.inject(1)
		f.recover()
	}
}
