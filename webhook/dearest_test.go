// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admission/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/stepgate/stepgate/test/scenario"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/record"
	"github.com/stepgate/stepgate/webhook/settings"
)

// The bounds of what any text of a user may cost: for the text itself, and for what is around it, such as the request.
const (
	dearestTime   = 50 * time.Millisecond
	dearestMemory = 8
	aroundIt      = 768 << 10
	// timesRead is how often a body could be read, by encoding/json, in the time that a handler may take.
	timesRead = 20
)

// shapes are texts of a length of which a parser that reads on and on makes the most. sample is a valid value.
func shapes(sample string, length int) map[string]string {
	fill := func(part string) string { return strings.Repeat(part, length/len(part)+1)[:length] }
	numbered := func(format, separator string) string {
		var text strings.Builder
		for i := 0; text.Len() < length; i++ {
			fmt.Fprintf(&text, format+separator, i)
		}
		return text.String()[:length]
	}
	return map[string]string{
		"long": fill("a"), "deep": fill("("), "deep JSON": fill(`[{"a":`), "empty entries": fill(","),
		"entries": fill("1,"), "pairs": fill("2=1h,"), "lines": fill("\n"), "blanks": fill(" "), "not text": fill("\xff"),
		"names": numbered("n%04x", ","), "approvals": numbered("1@%x", ","), "bad approvals": numbered("x%x", ","),
		"evidence":       numbered("1=jobs.batch/n%x", ";"),
		"expressions":    numbered("1=jobs.batch/n%x if object.a == 1", ";"),
		"one expression": ("1=jobs.batch/smoke if " + fill("optional.of(")[:max(0, length-22)]),
		"stamps":         "[" + fill("{},")[:length-2] + "]", "the value again": fill(sample + ","),
		"the value, and then on": (sample + fill("x"))[:length],
	}
}

// samples are valid values; a test wants one for each annotation.
var samples = map[string]string{
	settings.ModeAnnotation: "audit", settings.RequireAnnotation: "health", settings.PinAnnotation: "candidate",
	settings.BypassAnnotation:  "2026-03-01T13:00:00Z INC-1",
	settings.ExcludeAnnotation: "dev 2026-03-01T13:00:00Z INC-1", settings.PauseAnnotation: "2,3: INC-1",
	settings.PausedByAnnotation: "alice at 2026-03-01T12:00:00Z", settings.SoakAnnotation: "2=1h,3=24h",
	settings.ApproveAnnotation: "3", settings.ApprovedAnnotation: "3@1.2.3",
	settings.ApprovedByAnnotation:  `[{"step":3,"of":"1.2.3","by":"alice","at":"2026-03-01T12:00:00Z"}]`,
	settings.MaxFailuresAnnotation: "10%", settings.VerifyAnnotation: "3=jobs.batch?suite=smoke",
	settings.AfterAnnotation: "infra,platform/base", settings.TrackAnnotation: "example.com/app",
	settings.WavesAnnotation: "true", settings.MaxUpdateAnnotation: "10=25%,20=3",
}

// cost is the least processor time and memory that something took in some tries: whatever else the process does only adds
// to them.
type cost struct {
	time   time.Duration
	memory uint64
}

// costOf tries until it is as cheap as wanted, five times at most.
func costOf(do func(), wanted cost) (least cost) {
	for try := range 5 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		began := processorTime()
		do()
		took := processorTime() - began
		runtime.ReadMemStats(&after)
		memory := after.TotalAlloc - before.TotalAlloc
		if try == 0 {
			least = cost{took, memory}
		}
		least = cost{min(least.time, took), min(least.memory, memory)}
		if least.time <= wanted.time && least.memory <= wanted.memory {
			break
		}
	}
	return least
}

func processorTime() time.Duration {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used) // it fails for another "who" only
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// wantCheap fails if a text of a length costs more than it may.
func wantCheap(t *testing.T, what string, length int, do func()) {
	t.Helper()
	most := cost{dearestTime, uint64(dearestMemory*length + aroundIt)}
	if c := costOf(do, most); c.time > most.time || c.memory > most.memory {
		t.Errorf("%s of %d bytes: %s and %d bytes of memory, want at most %s and %d", what, length, c.time, c.memory,
			most.time, most.memory)
	}
}

// TestNoTextIsDear sends every annotation in every shape, at the largest size that gets through the door and with one
// byte more, through every handler that reads it. With the race detector, time says little: make unit runs it without,
// too.
func TestNoTextIsDear(t *testing.T) {
	var names []string
	for _, a := range settings.All() {
		NewWithT(t).Expect(samples).To(HaveKey(a.Name))
		names = append(names, a.Name)
	}
	names = append(names, "notifications.argoproj.io/subscribe.t.slack", "notifications.argoproj.io/subscriptions")
	sizes := []int{argocd.MostText, argocd.MostText + 1}
	if testing.Short() {
		sizes = sizes[:1]
	}
	for _, name := range names {
		for _, size := range sizes {
			all := shapes(samples[name], size)
			if raced {
				all = map[string]string{"names": all["names"]}
			}
			for shape, text := range all {
				for handler, handle := range readers(t, name, text) {
					wantCheap(t, fmt.Sprintf("%s: %s, %s", handler, name, shape), size, handle)
				}
			}
		}
	}
}

// readers are the ways in which an annotation comes in: the handlers, each with one request.
func readers(t *testing.T, name, text string) map[string]func() {
	with := func(others map[string]string) map[string]string {
		all := map[string]string{name: text}
		for key, value := range others {
			if key != name {
				all[key] = value
			}
		}
		return all
	}
	stamper := newStamper()
	metrics := record.NewMetrics(prometheus.NewRegistry())
	check := NewApprovalCheck(ApproverConfig{}, reporterAccount, metrics, scenario.AtNoon)
	handle := func(handler webhook.AdmissionHandler, req admissionv1.AdmissionRequest) func() {
		return func() { handler.Handle(t.Context(), webhook.AdmissionRequest{AdmissionRequest: req}) }
	}
	created, alone := setRequest(nil, with(nil)), setRequest(map[string]string{}, with(samples))
	all := map[string]func(){
		"a new ApplicationSet, mutate": handle(stamper, created), "a new ApplicationSet, validate": handle(check, created),
		"beside all others, mutate": handle(stamper, alone), "beside all others, validate": handle(check, alone),
	}
	c := scenario.Of("1:dev=Healthy@b 2:qa=Healthy@a 3:prod=Healthy@a")
	c.Sets[0].Annotations = with(nil)
	gate := newTrial(settings.Config{Pin: settings.PinCandidate}, c)
	all["a sync"] = func() { gate.handle(scenario.SyncOf(c, "qa").Request()) }
	if name == settings.AfterAnnotation {
		app := c.Apps[1].DeepCopy()
		app.Annotations, app.OwnerReferences = with(nil), nil
		all["an Application, mutate"] = handle(stamper, (&scenario.Attempt{After: app, User: "alice"}).Request())
	}
	return all
}

// TestDearTextsAreNoticed is the control of this file: a parser that looks each name up among all before it, and one
// that keeps each of a thousand bits, are found out.
func TestDearTextsAreNoticed(t *testing.T) {
	text := shapes("a", 64<<10)["names"]
	quadratic := func() {
		var names []string
		for name := range strings.SplitSeq(text, ",") {
			for _, other := range names {
				if strings.EqualFold(other, name) {
					return
				}
			}
			names = append(names, name)
		}
	}
	hungry := func() {
		var all []map[string]string
		for name := range strings.SplitSeq(text, ",") {
			all = append(all, map[string]string{name: name})
		}
		runtime.KeepAlive(all)
	}
	g := NewWithT(t)
	wanted := cost{dearestTime, uint64(dearestMemory*len(text) + aroundIt)}
	g.Expect(costOf(quadratic, wanted).time).To(BeNumerically(">", wanted.time))
	g.Expect(costOf(hungry, wanted).memory).To(BeNumerically(">", wanted.memory))
}

// TestNoBodyIsDear sends whole ApplicationSets and Applications that are large in one way: with each byte, a body may
// cost so much and no more.
func TestNoBodyIsDear(t *testing.T) {
	size := 3 << 20
	switch {
	case raced:
		size = 32 << 10
	case testing.Short():
		size = 512 << 10
	}
	fill := func(part string) string { return strings.Repeat(part, size/len(part)) }
	numbered := func(format string) string {
		var text strings.Builder
		for i := 0; text.Len() < size; i++ {
			fmt.Fprintf(&text, format, i)
		}
		return strings.TrimSuffix(text.String(), ",")
	}
	quoted := func(text string) string { q, _ := json.Marshal(text); return string(q) }
	stamper := newStamper()
	metrics := record.NewMetrics(prometheus.NewRegistry())
	check := NewApprovalCheck(ApproverConfig{}, reporterAccount, metrics, scenario.AtNoon)
	gate := newTrial(settings.Config{}, scenario.Of("1:dev=Healthy@b 2:qa=Healthy@a"))
	for name, metadata := range map[string]string{
		"one annotation":       `"annotations":{"stepgate.io/approved":` + quoted(fill("1,")) + `}`,
		"many names":           `"annotations":{"stepgate.io/after":` + quoted(numbered("n%06x,")) + `}`,
		"many annotations":     `"annotations":{` + numbered(`"stepgate.io/a%06x":"1",`) + `}`,
		"many subscriptions":   `"annotations":{` + numbered(`"notifications.argoproj.io/subscribe.t.s%06x":"1",`) + `}`,
		"somebody else's":      `"annotations":{"kubectl.kubernetes.io/last-applied-configuration":` + quoted(fill("[{")) + `}`,
		"a name":               `"name":` + quoted(fill("a")),
		"a long key":           `"annotations":{` + quoted("notifications.argoproj.io/"+fill("a")) + `:"1"}`,
		"a field nobody knows": `"x":` + fill("[") + fill("]"),
	} {
		object := []byte(`{"metadata":{` + metadata + `},"spec":{"strategy":{"type":"RollingSync","rollingSync":{"steps":[{}]}}}}`)
		set := setRequest(nil, nil)
		app := (&scenario.Attempt{After: scenario.App("a", "1", "Healthy", ""), User: "alice"}).Request()
		set.Object.Raw, app.Object.Raw = object, object
		read := costOf(func() { _ = json.Unmarshal(object, new(any)) }, cost{}).time
		for handler, handle := range map[string]func(){
			"mutate an ApplicationSet":   func() { stamper.Handle(t.Context(), webhook.AdmissionRequest{AdmissionRequest: set}) },
			"validate an ApplicationSet": func() { check.Handle(t.Context(), webhook.AdmissionRequest{AdmissionRequest: set}) },
			"mutate an Application":      func() { stamper.Handle(t.Context(), webhook.AdmissionRequest{AdmissionRequest: app}) },
			"validate an Application":    func() { gate.handle(app) },
		} {
			most := cost{dearestTime + timesRead*read, uint64(dearestMemory*len(object) + aroundIt)}
			if c := costOf(handle, most); c.time > most.time || c.memory > most.memory {
				t.Errorf("%s, %s, of %d bytes: %s and %d bytes of memory, want at most %s and %d", handler, name,
					len(object), c.time, c.memory, most.time, most.memory)
			}
		}
	}
}
