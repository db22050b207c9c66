// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"io"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/test/e2e/observer"
	"github.com/stepgate/stepgate/test/report"
)

func TestHold(t *testing.T) {
	noon := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	resumed := moment{noon, 100}
	start := observer.Start{
		Application: "qa", Change: 2, ResourceVersion: 99, At: noon.Add(-time.Second), Open: noon.Add(-7 * time.Second),
	}
	for name, tc := range map[string]struct {
		edit func(*hold, *observer.Start)
		want bool
	}{
		"a start that is stored before the resume":            {want: true},
		"the same, seen after the resume":                     {edit: func(_ *hold, s *observer.Start) { s.At = noon.Add(time.Second) }, want: true},
		"a start that is stored after the resume":             {edit: func(_ *hold, s *observer.Start) { s.ResourceVersion = 101 }},
		"of a change before":                                  {edit: func(_ *hold, s *observer.Start) { s.Change = 1 }},
		"of a change after":                                   {edit: func(_ *hold, s *observer.Start) { s.Change = 3 }, want: true},
		"of a change after, where only one is held":           {edit: func(h *hold, s *observer.Start) { h.only, s.Change = true, 3 }},
		"of an Application that is not held":                  {edit: func(_ *hold, s *observer.Start) { s.Application = "dev" }},
		"before a time":                                       {edit: func(h *hold, _ *observer.Start) { h.due.version = 0 }, want: true},
		"after a time":                                        {edit: func(h *hold, s *observer.Start) { h.due.version, s.At = 0, noon }},
		"at any time, where nothing ends the hold":            {edit: func(h *hold, s *observer.Start) { h.due, s.At = moment{}, noon.Add(time.Hour) }, want: true},
		"after a time, of the right Application and change 3": {edit: func(h *hold, s *observer.Start) { h.due.version, s.At, s.Change = 0, noon, 3 }},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			h, s := &hold{members: []*member{{name: "qa"}}, change: 2, due: resumed}, start
			if tc.edit != nil {
				tc.edit(h, &s)
			}
			w := &waiting{holds: []*hold{h}, starts: []observer.Start{s}}
			g.Expect(w.early()).To(HaveLen(map[bool]int{true: 1, false: 0}[tc.want]))
		})
	}
}

func TestTimes(t *testing.T) {
	g := NewWithT(t)
	noon := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }
	w := &waiting{
		holds: []*hold{{members: []*member{{name: "qa"}, {name: "prod"}}, change: 2, due: moment{noon, 100}}},
		starts: []observer.Start{
			{Application: "qa", Change: 1, ResourceVersion: 90, At: at(-20), Open: at(-21)},
			{Application: "qa", Change: 2, ResourceVersion: 101, At: at(1), Open: at(-6)},
			{Application: "qa", Change: 2, ResourceVersion: 102, At: at(2), Open: at(-6)},
			{Application: "prod", Change: 2, ResourceVersion: 103, At: at(4), Open: at(3)},
		},
	}
	held, released := w.times()
	g.Expect(held).To(Equal([]time.Duration{6 * time.Second}), "prod waited for qa, and not for the condition")
	g.Expect(released).To(Equal([]time.Duration{time.Second}))
}

// TestTells is the negative control of the part itself: a run whose rollouts without the gate start nothing early
// fails.
func TestTells(t *testing.T) {
	g := NewWithT(t)
	o := &conditionOutcome{waiting: &waiting{rollout: &rollout{name: "wait-pause", mode: off}}}
	quiet := &conditionOutcome{waiting: &waiting{rollout: &rollout{name: "auto-wait-pause", mode: off}}}
	g.Expect(tells([]*conditionOutcome{o, quiet})).To(MatchError(ContainSubstring("this tests nothing")))
	g.Expect(printConditions(report.To(io.Discard), []*conditionOutcome{
		o, {waiting: &waiting{rollout: &rollout{name: "wait-pause", mode: conditional}}},
	})).To(MatchError(ContainSubstring("this tests nothing")))
	o.holds = []*hold{{members: []*member{{name: "qa"}}}}
	o.starts = []observer.Start{{Application: "qa"}}
	g.Expect(tells([]*conditionOutcome{quiet, o})).To(Succeed())
	with := &conditionOutcome{waiting: &waiting{rollout: &rollout{name: "wait-pause", mode: conditional}}}
	with.holds, with.starts = o.holds, o.starts
	g.Expect(printConditions(report.To(io.Discard),
		[]*conditionOutcome{o, with})).To(MatchError(ContainSubstring("1 starts before they were due")))
}

func TestGitOpsPage(t *testing.T) {
	g := NewWithT(t)
	page, err := readGitOpsPage("../..")
	g.Expect(err).NotTo(HaveOccurred())
	for _, p := range parents(false) {
		g.Expect(page.table).To(ContainSubstring("\n| "+p.title+" | "),
			"the table has a row for each Application that is tried")
	}
	g.Expect(page.table).To(ContainSubstring("\n" + rowHeading + "\n"))
	g.Expect(page.application).To(ContainSubstring("RespectIgnoreDifferences=true"))
	g.Expect(page.applicationSet).To(ContainSubstring("stepgate.io/soak"))
}
