// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stepgate/stepgate/test/e2e/observer"
	"github.com/stepgate/stepgate/test/report"
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
		without, with   *outcome
		resync, barrier bool
		want            string
	}{
		"in order with the gate, out of order without": {ended(off, 1, 3), ended(on, 0, 7.9), false, false, ""},
		"out of order with the gate":                   {ended(off, 1, 3), ended(on, 1, 3), false, false, "1 starts out of order with the gate"},
		"never out of order, which tests nothing": {
			ended(off, 0, 3), ended(on, 0, 3), false, false, "nothing went out of order without the gate",
		},
		"never out of order, thanks to Argo CD's barrier": {ended(off, 0, 3), ended(on, 0, 3), false, true, ""},
		"out of order behind Argo CD's barrier":           {ended(off, 0, 3), ended(on, 1, 3), false, true, "1 starts out of order with the gate"},
		"not complete with the gate":                      {ended(off, 1, 3), ended(on, 0, 0), false, false, "x did not complete with the gate"},
		"too slow with the gate":                          {ended(off, 1, 3), ended(on, 0, 8.1), false, false, "x took 8.1s with the gate and 3.0s without"},
		"as slow as the chance of a comparison":           {ended(off, 1, 3), ended(on, 0, 12.9), true, false, ""},
		"too slow even for that":                          {ended(off, 1, 3), ended(on, 0, 13.1), true, false, "x took 13.1s"},
		"without the gate it does not even end":           {ended(off, 1, 0), ended(on, 0, 30), false, false, ""},
		"only the gate was played, and in order":          {nil, ended(on, 0, 3), false, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			sc := scenario{key: "x", resync: tc.resync}
			tc.with.rollout.scenario = sc
			modes := map[mode]*outcome{on: tc.with}
			if tc.without != nil {
				modes[off] = tc.without
			}
			all := total([]scenario{sc}, table{"x": modes})
			all.strict, all.barrier = true, tc.barrier
			err := all.verdict(report.To(io.Discard))
			if tc.want == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(ContainSubstring(tc.want)))
		})
	}
}

func TestSlowRolloutsFailOnlyAStrictRun(t *testing.T) {
	g := NewWithT(t)
	sc, outcomes := scenario{key: "x"}, map[mode]*outcome{off: ended(off, 1, 3), on: ended(on, 0, 30)}
	lenient := total([]scenario{sc}, table{"x": outcomes})
	g.Expect(lenient.verdict(report.To(io.Discard))).To(Succeed())
	strict := total([]scenario{sc}, table{"x": outcomes})
	strict.strict = true
	g.Expect(strict.verdict(report.To(io.Discard))).To(MatchError(ContainSubstring("x took 30.0s")))
}

// TestWhatArgoCDAloneLeavesLyingFailsOnlyAStrictRun has a rollout that cannot be played to its end, without the gate
// and with it.
func TestWhatArgoCDAloneLeavesLyingFailsOnlyAStrictRun(t *testing.T) {
	for _, tc := range []struct {
		mode   mode
		strict bool
		want   bool
	}{{off, false, true}, {off, true, false}, {on, false, false}, {on, true, false}} {
		t.Run(fmt.Sprintf("%s, strict %t", tc.mode, tc.strict), func(t *testing.T) {
			g := NewWithT(t)
			outcomes := map[mode]*outcome{off: ended(off, 1, 3), on: ended(on, 0, 3)}
			outcomes[tc.mode].problem = errors.New("it did not happen")
			sums := total([]scenario{{key: "x"}}, table{"x": outcomes})
			sums.strict = tc.strict
			if tc.want {
				g.Expect(sums.verdict(report.To(io.Discard))).To(Succeed())
				return
			}
			g.Expect(sums.verdict(report.To(io.Discard))).To(MatchError(ContainSubstring("it did not happen")))
		})
	}
}

func TestMostOfManyRolloutsMayNotBeSlower(t *testing.T) {
	for name, tc := range map[string]struct {
		rollouts int
		off, on  float64
		want     string
	}{
		"not much slower":             {ratioOf, 3, 4.4, ""},
		"slower":                      {ratioOf, 3, 4.6, "in the median, a rollout takes 1.53 times as long with the gate as without"},
		"slower, but too few to tell": {ratioOf - 1, 3, 4.6, ""},
		"faster":                      {ratioOf, 3, 2, ""},
		"nothing to compare it with":  {ratioOf, 0, 3, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			chosen, all := []scenario{}, table{}
			for i := range tc.rollouts {
				sc := scenario{key: fmt.Sprint(i)}
				chosen, all[sc.key] = append(chosen, sc), map[mode]*outcome{off: ended(off, 1, tc.off), on: ended(on, 0, tc.on)}
			}
			sums := total(chosen, all)
			sums.strict = true
			if tc.want == "" {
				g.Expect(sums.verdict(report.To(io.Discard))).To(Succeed())
				return
			}
			g.Expect(sums.verdict(report.To(io.Discard))).To(MatchError(ContainSubstring(tc.want)))
		})
	}
}

func TestErrorsOfAnApplicationSetThatTheGateCaused(t *testing.T) {
	g := NewWithT(t)
	shown := func(status argo.ApplicationSetConditionStatus, message string) *argo.ApplicationSet {
		set := &argo.ApplicationSet{ObjectMeta: metav1.ObjectMeta{Namespace: "on", Name: "x"}}
		set.Status.Conditions = []argo.ApplicationSetCondition{
			{Type: argo.ApplicationSetConditionErrorOccurred, Status: status, Message: message},
		}
		return set
	}
	c := &conditions{errors: map[string][]string{}}
	c.keep(shown(argo.ApplicationSetConditionStatusTrue, "the repository does not answer"))
	c.keep(shown(argo.ApplicationSetConditionStatusFalse, `admission webhook "operation.stepgate.io" denied the request`))
	g.Expect(c.ofGate("on", "x")).To(BeEmpty())
	refused := `admission webhook "operation.stepgate.io" denied the request: not yet`
	for range 2 {
		c.keep(shown(argo.ApplicationSetConditionStatusTrue, refused))
	}
	g.Expect(c.ofGate("on", "x")).To(Equal([]string{refused}))
	var sums totals
	all := table{"x": {on: ended(on, 0, 3), refusing: ended(refusing, 0, 3)}}
	g.Expect(sums.errorOccurred(all, c)).To(Succeed())
	g.Expect(sums.onErrorOccurred).To(Equal(1))
	g.Expect(sums.problems).To(HaveLen(1))
}

func TestVerdictOfStarting(t *testing.T) {
	for name, tc := range map[string]struct {
		starting *outcome
		want     string
	}{
		"in order":     {ended(starting, 0, 60), ""},
		"out of order": {ended(starting, 1, 60), "1 starts out of order with the gate"},
		"not complete": {ended(starting, 0, 0), "x did not complete with --start"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			modes := map[mode]*outcome{
				off: ended(off, 1, 3), audit: ended(audit, 1, 3), starting: tc.starting, on: ended(on, 0, 3),
			}
			err := total([]scenario{
				{key: "x", beside: []mode{audit, starting}},
			}, table{"x": modes}).verdict(report.To(io.Discard))
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
	g.Expect(scenario{world: true, beside: []mode{audit}}.in(all)).To(Equal([]mode{off, audit, on}))
	g.Expect(scenario{beside: []mode{audit}}.in([]mode{off})).To(Equal([]mode{off}))
}

func TestMedianLeavesOutWhatDidNotComplete(t *testing.T) {
	g := NewWithT(t)
	g.Expect(median([]time.Duration{0, 3, 1})).To(Equal(time.Duration(2)))
	g.Expect(median([]time.Duration{5, 0, 1, 2})).To(Equal(time.Duration(2)))
	g.Expect(median([]time.Duration{0})).To(BeZero())
}
