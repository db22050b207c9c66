// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"

	. "github.com/onsi/gomega"

	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestMatch(t *testing.T) {
	event := func(app, reason string, seconds float64) eventsv1.Event {
		e := eventsv1.Event{
			Reason: reason, EventTime: metav1.NewMicroTime(after(seconds)), Note: "1 Application of step 1 is not done: x-dev (NotCompleted)",
		}
		e.Regarding.Name = app
		return e
	}
	other := event("x-prod", "SyncWouldBeDenied", 0.9)
	other.Note = "1 Application of step 2 is not done: x-qa (NotCompleted)"
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
		"reported before the rollout began":          {1, []eventsv1.Event{event("x-prod", would, -1)}, 1, 0, 0},
		"reported too long before":                   {1, []eventsv1.Event{event("x-prod", would, -600)}, 0, 1, 0},
		"reported with another blocker":              {1, []eventsv1.Event{other}, 0, 1, 0},
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
