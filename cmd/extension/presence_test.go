// SPDX-License-Identifier: Apache-2.0

package extension_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/cmd/dashboard"
	. "github.com/stepgate/stepgate/cmd/extension"
	"github.com/stepgate/stepgate/webhook/settings"
)

const off = "namespace argocd has the label stepgate.io/ignore=true"

// TestWithoutAGateTheUISaysSo, and what would wait.
func TestWithoutAGateTheUISaysSo(t *testing.T) {
	g, w := NewWithT(t), newWorld(t)
	w.presence = settings.Presence{NoGate: off}
	handler := w.serve(w.objects)
	d := read[dashboard.Detail](t, handler, "/api/v1/rollout", "prod")
	g.Expect(d.Rollout.Open).To(BeTrue())
	g.Expect(d.Rollout.Exempt).To(Equal([]string{"nothing is held or denied: " + off}))
	g.Expect(d.Said["engineering-prod-guestbook"].Text).To(HavePrefix("would wait for "))
	s := read[Status](t, handler, "/api/v1/status", "prod")
	g.Expect(s.Rollout.Open).To(BeTrue())
	g.Expect(s.Said.Text).To(HavePrefix("would wait for "))
	x := read[dashboard.Explained](t, handler, "/api/v1/explanation", "prod")
	g.Expect(x.Verdict).To(HaveSuffix("is let through now although it is too early: " + off + "."))
}

// TestWhatRefusesAllIsAProblemInTheUI: the gate fails closed, so what waits does.
func TestWhatRefusesAllIsAProblemInTheUI(t *testing.T) {
	g, w := NewWithT(t), newWorld(t)
	w.presence = settings.Presence{Problem: "every sync is refused"}
	d := read[dashboard.Detail](t, w.serve(w.objects), "/api/v1/rollout", "prod")
	g.Expect(d.Rollout.Open).To(BeFalse())
	g.Expect(d.Rollout.Problems).To(Equal([]string{"every sync is refused"}))
	g.Expect(d.Said["engineering-prod-guestbook"].Text).To(HavePrefix("waits for "))
}

// TestWithoutAGateNobodyPauses: a pause is refused, and so is the dry run before it. A resume and an approval say that
// nothing is held.
func TestWithoutAGateNobodyPauses(t *testing.T) {
	g, w := NewWithT(t), newGated(t)
	handler := w.handler()
	approval := done(t, handler, dashboard.Action{Verb: dashboard.Approve, DryRun: true}).Approves
	g.Expect(approval).NotTo(BeEmpty())
	g.Expect(done(t, handler, dashboard.Action{Verb: dashboard.Pause, Step: 3, DryRun: true}).OK).To(BeTrue())
	w.presence = settings.Presence{NoGate: off}
	for _, a := range []dashboard.Action{
		{Verb: dashboard.Pause, Step: 3, DryRun: true}, {Verb: dashboard.Pause, Step: 3}, {Verb: dashboard.Pause, Step: 3},
	} {
		answer := done(t, handler, a)
		g.Expect(answer.OK).To(BeFalse())
		g.Expect(strings.Join(answer.Lines, "\n")).To(ContainSubstring("Nothing is held or refused: " + off))
	}
	for _, a := range []dashboard.Action{
		{Verb: dashboard.Resume}, {Verb: dashboard.Approve, Approves: approval},
	} {
		answer := done(t, handler, a)
		g.Expect(answer.OK).To(BeTrue(), strings.Join(answer.Lines, "\n"))
		g.Expect(strings.Join(answer.Lines, "\n")).To(ContainSubstring("Nothing is held or refused: " + off))
		g.Expect(strings.Join(answer.Lines, "\n")).NotTo(ContainSubstring("start by themselves"))
	}
}
