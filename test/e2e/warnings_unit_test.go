// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"

	. "github.com/onsi/gomega"

	eventsv1 "k8s.io/api/events/v1"
)

func TestWarningsOfAnOrdinaryRollout(t *testing.T) {
	event := func(kind, name, controller string) eventsv1.Event {
		e := eventsv1.Event{Type: kind, Reason: "SyncDenied", ReportingController: controller}
		e.Regarding.Name = name
		return e
	}
	const gate = "stepgate.io/stepgate"
	for name, tc := range map[string]struct {
		event  eventsv1.Event
		manual bool
		want   int
	}{
		"a Warning":                       {event("Warning", "x-prod", gate), false, 1},
		"nothing to worry about":          {event("Normal", "x-prod", gate), false, 0},
		"a Warning of Argo CD":            {event("Warning", "x-prod", "argocd-application-controller"), false, 0},
		"of a rollout that is not judged": {event("Warning", "y-prod", gate), false, 0},
		"a user has asked too early":      {event("Warning", "x-prod", gate), true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o := ended(on, 0, 3)
			o.rollout.members, o.rollout.scenario.manual = []*member{{name: "x-prod"}}, tc.manual
			var sums totals
			sums.warned(table{"x": {on: o}}, on, []eventsv1.Event{tc.event, tc.event})
			g.Expect(sums.problems).To(HaveLen(tc.want))
		})
	}
}
