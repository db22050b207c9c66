// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"

	past "github.com/stepgate/stepgate/cmd/audit"
	"github.com/stepgate/stepgate/cmd/live"
	"github.com/stepgate/stepgate/test/report"
	"github.com/stepgate/stepgate/test/script"
)

// earlyStart is the first start of an Application at a revision before its turn.
type earlyStart struct{ application, revision string }

// history holds `stepgate audit` against the observer: the early starts of one rollout that both saw, or one of them.
type history struct {
	found []earlyStart
	// missed has a reason for each.
	missed map[earlyStart]string
	// alone are early starts that only the audit saw.
	alone []past.Early
	// unclear is the number of rollouts that the audit could not judge.
	rollouts, unclear int
}

// notOnRecord is why an early start was missed whose sync the Application has no record of, such as a sync of a
// revision of the rollout: it failed, was a repetition of an older revision, or its record was dropped.
const notOnRecord = "no such sync on record"

// readHistory audits the live Applications of the rollout as `stepgate audit` does, and compares.
func (o *outcome) readHistory() {
	r, collected := o.rollout, &past.Collection{}
	script.Must(live.ApplicationSets(r.ctx, r.Admin, string(r.mode), func(set *argo.ApplicationSet) {
		if set.Name == r.name {
			collected.AddSet(set)
		}
	}))
	script.Must(live.Applications(r.ctx, r.Admin, string(r.mode), collected.AddApplication))
	report := collected.Report(past.Options{Now: time.Now()})
	o.history = r.compareHistory(report, o.observedEarly())
}

// observedEarly are the early starts that the observer saw, each Application and revision once.
func (o *outcome) observedEarly() map[earlyStart]bool {
	observed := map[earlyStart]bool{}
	for _, s := range o.starts {
		for _, m := range o.rollout.members {
			if m.name == s.Application && s.OutOfOrder() {
				observed[earlyStart{m.name, m.changes[s.Change].Revision}] = true
			}
		}
	}
	return observed
}

func (r *rollout) compareHistory(report *past.Report, observed map[earlyStart]bool) *history {
	h := &history{missed: map[earlyStart]string{}}
	for e := range observed {
		h.missed[e] = notOnRecord
	}
	if len(report.ApplicationSets) == 0 {
		for e := range observed {
			h.missed[e] = "the ApplicationSet is gone"
		}
		return h
	}
	for _, audited := range report.ApplicationSets[0].Rollouts {
		if !r.measured(audited.Revision) {
			continue // not of a change of the measured rollout
		}
		h.rollouts++
		if audited.Verdict == past.Unclear {
			h.unclear++
		}
		h.compare(audited, observed)
	}
	return h
}

// measured says that a revision is of a change that was made in the measured rollout.
func (r *rollout) measured(revision string) bool {
	for _, m := range r.members {
		for i, state := range m.changes {
			if !r.changedAt[i].Before(r.began) && slices.Contains(strings.Split(state.Revision, ","), revision) {
				return true
			}
		}
	}
	return false
}

// compare compares the early starts of a revision.
func (h *history) compare(audited past.Rollout, observed map[earlyStart]bool) {
	claimed := map[string]past.Early{}
	for _, e := range audited.Early {
		claimed[e.Application] = e
	}
	for _, sync := range audited.Syncs {
		seen := earlyStart{sync.Application, audited.Revision}
		for e := range observed {
			if e.application == sync.Application && slices.Contains(strings.Split(e.revision, ","), audited.Revision) {
				seen = e
			}
		}
		early, claims := claimed[sync.Application]
		switch {
		case claims && observed[seen]:
			if !slices.Contains(h.found, seen) {
				h.found = append(h.found, seen)
			}
			delete(h.missed, seen)
		case claims:
			h.alone = append(h.alone, early)
		case observed[seen] && !slices.Contains(h.found, seen):
			h.missed[seen] = whyMissed(audited, sync)
		}
	}
}

// whyMissed says what the audit says of a sync instead.
func whyMissed(audited past.Rollout, sync past.Sync) string {
	if sync.Unclear != "" {
		return string(sync.Unclear)
	}
	if audited.Verdict == past.OneStep {
		return string(past.OneStep)
	}
	if audited.LeftOut > 0 {
		return "an earlier Application has no record"
	}
	return string(past.InOrder)
}

// why sums up the reasons for what was missed.
func (h *history) why() string {
	n := map[string]int{}
	for _, reason := range h.missed {
		n[reason]++
	}
	var all []string
	for _, reason := range slices.Sorted(maps.Keys(n)) {
		all = append(all, fmt.Sprintf("%s (%d)", reason, n[reason]))
	}
	return strings.Join(all, ", ")
}

// recorded is a sync with its times on record.
func recorded(s past.Sync) string {
	text := fmt.Sprintf("%s (%s, from %s", s.Application, s.Outcome, s.StartedAt.UTC().Format(time.TimeOnly))
	if s.FinishedAt != nil {
		text += " to " + s.FinishedAt.UTC().Format(time.TimeOnly)
	}
	return text + ")"
}

// historyTotals are the sums over all rollouts.
type historyTotals struct {
	rollouts, found, missed, alone, unclear int
	// foundOff and seenOff count, without the gate, the early starts that were found, and those that could have been.
	foundOff, seenOff int
}

func (t *historyTotals) add(m mode, h *history) {
	t.rollouts, t.found, t.missed = t.rollouts+h.rollouts, t.found+len(h.found), t.missed+len(h.missed)
	t.alone, t.unclear = t.alone+len(h.alone), t.unclear+h.unclear
	if m != off {
		return
	}
	t.foundOff, t.seenOff = t.foundOff+len(h.found), t.seenOff+len(h.found)
	for _, why := range h.missed {
		if !slices.Contains(notTold, why) {
			t.seenOff++
		}
	}
}

// notTold are the reasons for which no record can tell an early start: the commit was of one step, or the syncs were
// too short or too close for times of whole seconds.
var notTold = []string{string(past.OneStep), string(past.SameSecond), string(past.MayHaveWaited)}

// verdict is an error if the audit said something wrong, or found nothing where there was something to find.
func (t *historyTotals) verdict() error {
	if t.alone > 0 {
		return fmt.Errorf("stepgate audit says of %d starts that they were early, and the observer does not", t.alone)
	}
	if t.seenOff > 0 && t.foundOff == 0 {
		return fmt.Errorf("stepgate audit found none of %d early starts", t.seenOff)
	}
	return nil
}

// printHistory prints a table and the sums.
func printHistory(out *report.Printer, chosen []scenario, all table) error {
	var t historyTotals
	var alone []string
	out.Line("stepgate audit, afterwards, from the live Applications alone:")
	out.Line("| rollout | mode | revisions | found | missed | false | cannot tell | why missed " +
		"|\n|---|---|---|---|---|---|---|---|")
	for _, sc := range chosen {
		for _, m := range slices.Sorted(maps.Keys(all[sc.key])) {
			h := all[sc.key][m].history
			if h == nil {
				continue
			}
			out.Line("| `%s` | %s | %d | %d | %d | %d | %d | %s |", sc.key, m, h.rollouts, len(h.found), len(h.missed),
				len(h.alone), h.unclear, h.why())
			kind := "false"
			if sc.repairs {
				kind = "a repair of drift"
			}
			for _, e := range h.alone {
				alone = append(alone, fmt.Sprintf("%s, %s: %s: %s, before %s", sc.key, m, kind, recorded(e.Sync),
					recorded(e.Before[0])))
			}
			if sc.repairs {
				h.alone = nil // no error of the audit: a record does not tell a repair from a rollout
			}
			t.add(m, h)
		}
	}
	for _, line := range alone {
		out.Line("%s", line)
	}
	out.Line("stepgate audit: rollouts=%d found=%d missed=%d false=%d cannot_tell=%d", t.rollouts, t.found, t.missed,
		t.alone, t.unclear)
	return t.verdict()
}
