// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/ledger"
)

// TestFromLedger judges what Argo CD's records have lost.
func TestFromLedger(t *testing.T) {
	at := func(minutes int) time.Time {
		return time.Unix(1_800_000_000, 0).Add(time.Duration(minutes) * time.Minute)
	}
	step := func(n, started, completed int, by ...string) ledger.Step {
		s := ledger.Step{Step: n, StartedAt: at(started), By: by}
		if completed > 0 {
			s.CompletedAt = at(completed)
		}
		return s
	}
	for name, tc := range map[string]struct {
		rollout ledger.Rollout
		wants   Verdict
		reason  Reason
		says    string
	}{
		"in order":     {ledger.Rollout{Steps: []ledger.Step{step(1, 0, 2), step(2, 2, 5)}}, InOrder, "", ""},
		"out of order": {ledger.Rollout{Steps: []ledger.Step{step(1, 0, 5), step(2, 2, 8)}}, OutOfOrder, "", "the first Application (step 2) started 3m before the last one (step 1) had finished"},
		"by hand": {
			ledger.Rollout{Steps: []ledger.Step{step(1, 0, 5), step(2, 2, 8, "bob")}}, ByHand, "",
			"the first Application (step 2) started by hand (bob) 3m before the last one (step 1) had finished",
		},
		"bypassed":  {ledger.Rollout{Steps: []ledger.Step{step(1, 0, 5), step(2, 2, 8)}, Bypasses: []ledger.Bypass{{Why: "x"}}}, ByHand, "", ""},
		"not known": {ledger.Rollout{Steps: []ledger.Step{step(1, 0, 0), step(2, 2, 8)}}, Unclear, NotWritten, ""},
		"by waves": {
			ledger.Rollout{Steps: []ledger.Step{step(policy.WaveStep(-1)+1, 0, 5), step(policy.WaveStep(20)+1, 2, 8)}},
			OutOfOrder, "", "the first Application (wave 20) started 3m before the last one (wave -1) had finished",
		},
		"a step, and then waves": {ledger.Rollout{Steps: []ledger.Step{step(2, 0, 5), step(policy.WaveStep(0)+1, 2, 8)}}, OneStep, "", ""},
		"one step":               {ledger.Rollout{Steps: []ledger.Step{step(1, 0, 2), {Step: 2, Skipped: true}}}, OneStep, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			r := tc.rollout
			r.Source, r.Revision, r.StartedAt, r.EndedAt = "https://git.example.com/deploy  main", "b", at(0), at(9)
			log := &ledger.Log{Rollouts: []ledger.Rollout{r}}
			all := fromLedger(log, nil)
			g.Expect(all).To(HaveLen(1))
			g.Expect(all[0].Verdict).To(Equal(tc.wants))
			g.Expect(all[0].Reason).To(Equal(tc.reason))
			g.Expect(all[0].FromLedger).To(BeTrue())
			g.Expect(where(&all[0])).To(Equal("git.example.com/deploy main"))
			if tc.says != "" {
				g.Expect(all[0].Early[0].sentence()).To(Equal(tc.says))
			}
			onRecord := []*rollout{{source: policy.Source{Key: r.Source, Revision: "b"}}}
			g.Expect(fromLedger(log, onRecord)).To(BeEmpty(), "Argo CD's records have it")
		})
	}
}
