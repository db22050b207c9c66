// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	past "github.com/stepgate/stepgate/cmd/audit"
	"github.com/stepgate/stepgate/test/e2e/observer"
)

// The audit is held against the observer by Application and revision. Revisions from before the measured rollout do not
// count.
func TestCompareHistory(t *testing.T) {
	began := time.Now()
	r := &rollout{began: began, changedAt: []time.Time{began.Add(-time.Minute), began.Add(time.Second)}}
	for _, name := range []string{"dev", "qa", "prod"} {
		r.members = append(r.members, &member{name: name, changes: []observer.State{{Revision: "a"}, {Revision: "b,x"}}})
	}
	sync := func(name string, unclear past.Reason) past.Sync {
		return past.Sync{Application: name, Unclear: unclear}
	}
	early := func(name string) past.Early { return past.Early{Sync: sync(name, "")} }
	audited := func(rollouts ...past.Rollout) *past.Report {
		return &past.Report{ApplicationSets: []past.ApplicationSet{{Rollouts: rollouts}}}
	}
	prod, qa := earlyStart{"prod", "b,x"}, earlyStart{"qa", "b,x"}
	for name, tc := range map[string]struct {
		report   *past.Report
		observed []earlyStart
		want     history
	}{
		"found": {
			audited(past.Rollout{Revision: "b", Early: []past.Early{early("prod")}, Syncs: []past.Sync{sync("prod", "")}}),
			[]earlyStart{prod},
			history{rollouts: 1, found: []earlyStart{prod}, missed: map[earlyStart]string{}},
		},
		"not seen by the observer": {
			audited(past.Rollout{Revision: "b", Early: []past.Early{early("prod")}, Syncs: []past.Sync{sync("prod", "")}}), nil,
			history{rollouts: 1, alone: []past.Early{early("prod")}, missed: map[earlyStart]string{}},
		},
		"missed": {
			audited(past.Rollout{Revision: "b", Verdict: past.Unclear, Syncs: []past.Sync{sync("prod", past.SameSecond)}}),
			[]earlyStart{prod, qa},
			history{rollouts: 1, unclear: 1, missed: map[earlyStart]string{prod: "SameSecond", qa: notOnRecord}},
		},
		"of the installation": {
			audited(past.Rollout{Revision: "a", Early: []past.Early{early("prod")}, Syncs: []past.Sync{sync("prod", "")}}), nil,
			history{missed: map[earlyStart]string{}},
		},
		"deleted": {&past.Report{}, []earlyStart{prod}, history{missed: map[earlyStart]string{prod: "the ApplicationSet is gone"}}},
	} {
		t.Run(name, func(t *testing.T) {
			observed := map[earlyStart]bool{}
			for _, e := range tc.observed {
				observed[e] = true
			}
			NewWithT(t).Expect(*r.compareHistory(tc.report, observed)).To(Equal(tc.want))
		})
	}
}

func TestHistoryVerdict(t *testing.T) {
	g := NewWithT(t)
	seen := earlyStart{"prod", "b"}
	verdict := func(m mode, h *history) error {
		var totals historyTotals
		totals.add(m, h)
		return totals.verdict()
	}
	g.Expect(verdict(off, &history{found: []earlyStart{seen}})).To(Succeed())
	for _, why := range []string{string(past.OneStep), string(past.SameSecond), string(past.MayHaveWaited)} {
		g.Expect(verdict(off, &history{missed: map[earlyStart]string{seen: why}})).To(Succeed())
	}
	g.Expect(verdict(off, &history{
		missed: map[earlyStart]string{seen: string(past.Trimmed)},
	})).To(MatchError("stepgate audit found none of 1 early starts"))
	g.Expect(verdict(on, &history{alone: []past.Early{{}}})).To(MatchError(ContainSubstring("says of 1 starts")))
}
