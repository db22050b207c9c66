// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"

	. "github.com/onsi/gomega"

	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestEventsOfStepgateInATimeline(t *testing.T) {
	const early = "step 3 of ApplicationSet on/x may not sync yet: "
	for name, tc := range map[string]struct {
		app, reason, note string
		seconds           float64
		want              string
	}{
		"held, for Applications of earlier steps": {
			"x-prod", "SyncHeld", early + "2 Applications of steps 1 and 2 are not done: x-dev (NotCompleted: OutOfSync), x-qa (NotHealthy: Degraded). Next: sync x-dev first", 1,
			"stepgate HOLDS its sync: dev (NotCompleted: OutOfSync), qa (NotHealthy: Degraded)",
		},
		"held, for itself": {
			"x-prod", "SyncHeld", early + "x-prod (ContentUnknown: its spec is new). Next: wait", 1, "stepgate HOLDS its sync: prod (ContentUnknown: its spec is new)",
		},
		"denied":                  {"x-prod", "SyncDenied", early + "1 Application of step 1 is not done: x-dev (NotCompleted). Next: wait", 1, "stepgate DENIES its sync: dev (NotCompleted)"},
		"released":                {"x-prod", "SyncReleased", "step 3 of ApplicationSet on/x may sync now: it has waited for 3s, last for x-dev (NotCompleted)", 1, "stepgate lets its sync through, which has waited for 3s"},
		"something else":          {"x-prod", "SyncGateBypassed", "the gate was bypassed", 1, ""},
		"of another Application":  {"x-qa", "SyncHeld", early, 1, ""},
		"from before the rollout": {"x-prod", "SyncHeld", early, -1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := eventsv1.Event{Reason: tc.reason, Note: tc.note, EventTime: metav1.NewMicroTime(after(tc.seconds))}
			e.Regarding.Name = tc.app
			var texts []string
			for _, line := range ended(on, 0, 3).rollout.told(&member{name: "x-prod", env: "prod"}, []eventsv1.Event{e, e}) {
				texts = append(texts, line.text)
			}
			if tc.want == "" {
				g.Expect(texts).To(BeEmpty())
				return
			}
			g.Expect(texts).To(Equal([]string{tc.want}), "each text once")
		})
	}
}
