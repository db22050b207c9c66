package main

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stepgate/stepgate/test/e2e/observer"
)

var began = time.Unix(1_800_000_000, 0)

func after(seconds float64) time.Time {
	return began.Add(time.Duration(seconds * float64(time.Second)))
}

// ended is an outcome with so many starts out of order, which took so many seconds; 0 is one that did not complete.
func ended(m mode, outOfOrder int, seconds float64) *outcome {
	o := &outcome{
		rollout: &rollout{suite: &suite{recorder: &recorder{}}, mode: m, name: "x", began: began},
		took:    time.Duration(seconds * float64(time.Second)), ended: after(60),
	}
	for range outOfOrder {
		o.starts = append(o.starts, observer.Start{Application: "x-prod", At: after(1), Behind: []string{"x-dev"}})
	}
	o.starts = append(o.starts, observer.Start{Application: "x-dev", At: after(2)})
	return o
}

func TestVerdict(t *testing.T) {
	for name, tc := range map[string]struct {
		without, with *outcome
		resync        bool
		want          string
	}{
		"in order with the gate, out of order without": {ended(off, 1, 3), ended(on, 0, 7.9), false, ""},
		"out of order with the gate":                   {ended(off, 1, 3), ended(on, 1, 3), false, "1 starts out of order with the gate"},
		"never out of order, which tests nothing": {
			ended(off, 0, 3), ended(on, 0, 3), false, "nothing went out of order without the gate",
		},
		"not complete with the gate":             {ended(off, 1, 3), ended(on, 0, 0), false, "x did not complete with the gate"},
		"too slow with the gate":                 {ended(off, 1, 3), ended(on, 0, 8.1), false, "x took 8.1s with the gate and 3.0s without"},
		"as slow as the chance of a comparison":  {ended(off, 1, 3), ended(on, 0, 12.9), true, ""},
		"too slow even for that":                 {ended(off, 1, 3), ended(on, 0, 13.1), true, "x took 13.1s"},
		"without the gate it does not even end":  {ended(off, 1, 0), ended(on, 0, 30), false, ""},
		"only the gate was played, and in order": {nil, ended(on, 0, 3), false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			sc := scenario{key: "x", resync: tc.resync}
			tc.with.rollout.scenario = sc
			modes := map[mode]*outcome{on: tc.with}
			if tc.without != nil {
				modes[off] = tc.without
			}
			err := total([]scenario{sc}, table{"x": modes}).verdict()
			if tc.want == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(ContainSubstring(tc.want)))
		})
	}
}

func TestVerdictOfProven(t *testing.T) {
	for name, tc := range map[string]struct {
		proven *outcome
		want   string
	}{
		"in order":     {ended(proven, 0, 60), ""},
		"out of order": {ended(proven, 1, 60), "1 starts out of order with the gate"},
		"not complete": {ended(proven, 0, 0), "x did not complete with --pin proven"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			modes := map[mode]*outcome{off: ended(off, 1, 3), unpinned: ended(unpinned, 1, 3), proven: tc.proven, on: ended(on, 0, 3)}
			err := total([]scenario{{key: "x", beside: []mode{unpinned, proven}}}, table{"x": modes}).verdict()
			if tc.want == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(ContainSubstring(tc.want)))
		})
	}
}

func TestModesOfAScenario(t *testing.T) {
	g := NewWithT(t)
	all := []mode{off, on, audit}
	g.Expect(scenario{}.in(all)).To(Equal(all))
	g.Expect(scenario{world: true}.in(all)).To(Equal([]mode{off, on}))
	g.Expect(scenario{world: true, beside: []mode{unpinned}}.in(all)).To(Equal([]mode{off, unpinned, on}))
	g.Expect(scenario{beside: []mode{unpinned}}.in([]mode{off})).To(Equal([]mode{off}))
}

func TestMatch(t *testing.T) {
	event := func(app, reason string, seconds float64) eventsv1.Event {
		e := eventsv1.Event{Reason: reason, EventTime: metav1.NewMicroTime(after(seconds))}
		e.Regarding.Name = app
		return e
	}
	const would = "SyncWouldBeDenied"
	for name, tc := range map[string]struct {
		outOfOrder                   int
		events                       []eventsv1.Event
		wantFound, wantMissed, alone int
	}{
		"reported":                                   {1, []eventsv1.Event{event("x-prod", would, 0.9)}, 1, 0, 0},
		"one Event stands for all starts":            {3, []eventsv1.Event{event("x-prod", would, 0.9)}, 3, 0, 0},
		"not reported":                               {1, nil, 0, 1, 0},
		"reported for another Application":           {1, []eventsv1.Event{event("x-dev", would, 0.9)}, 0, 1, 1},
		"reported in other words":                    {1, []eventsv1.Event{event("x-prod", "SyncDenied", 0.9)}, 0, 1, 0},
		"reported only long after":                   {1, []eventsv1.Event{event("x-prod", would, 30)}, 0, 1, 0},
		"reported for another rollout":               {1, []eventsv1.Event{event("y-prod", would, 0.9)}, 0, 1, 0},
		"reported before the rollout began":          {1, []eventsv1.Event{event("x-prod", would, -1)}, 0, 1, 0},
		"reported although nothing was out of order": {0, []eventsv1.Event{event("x-prod", would, 0.9)}, 0, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o := ended(audit, tc.outOfOrder, 3)
			o.rollout.members = []*member{{name: "x-dev"}, {name: "x-prod"}}
			m := match(o, tc.events)
			g.Expect([]int{m.found, len(m.missed), len(m.alone)}).To(Equal([]int{tc.wantFound, tc.wantMissed, tc.alone}))
		})
	}
}

func TestCountsOfTheAuditLog(t *testing.T) {
	g := NewWithT(t)
	o := ended(on, 0, 3)
	o.rollout.members = []*member{{name: "x-dev"}}
	by := func(user, namespace, name string, code int, seconds float64) write {
		var w write
		w.User.Username, w.ObjectRef.Namespace, w.ObjectRef.Name = user, namespace, name
		w.ResponseStatus.Code, w.RequestReceivedTimestamp = code, after(seconds)
		return w
	}
	const controller = "system:serviceaccount:argocd:argocd-applicationset-controller"
	const gate = "system:serviceaccount:stepgate-on:stepgate-on"
	g.Expect(o.counts([]write{
		by(controller, "on", "x-dev", 200, 1), by(controller, "on", "x-dev", 403, 2), by(controller, "on", "x", 200, 3),
		by(gate, "on", "x-dev", 200, 2), by("jane", "on", "x-dev", 403, 2), by("jane", "on", "x-dev", 200, 2),
		by(controller, "off", "x-dev", 200, 1), by(controller, "on", "y-dev", 200, 1), by(controller, "on", "x-dev", 200, -1),
		by(gate, "on", "x-dev", 200, 61),
	})).To(Equal(counts{denials: 2, refreshes: 1, controller: 3}))
	g.Expect(counts{controller: 3}.perMinute(30 * time.Second)).To(Equal(6.0))
}

func TestMedianLeavesOutWhatDidNotComplete(t *testing.T) {
	g := NewWithT(t)
	g.Expect(median([]time.Duration{0, 3, 1})).To(Equal(time.Duration(2)))
	g.Expect(median([]time.Duration{5, 0, 1, 2})).To(Equal(time.Duration(2)))
	g.Expect(median([]time.Duration{0})).To(BeZero())
}
