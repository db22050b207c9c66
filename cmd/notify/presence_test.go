// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	gate "github.com/stepgate/stepgate/webhook/settings"
)

// withoutGate says that nobody answers.
var withoutGate = gate.Presence{NoGate: "namespace argocd has the label stepgate.io/ignore=true"}

// TestWithoutAGateNothingWaits: nobody is told that a step is held up which nobody holds.
func TestWithoutAGateNothingWaits(t *testing.T) {
	for name, tc := range map[string]struct {
		is          string
		annotations map[string]string
	}{
		"an approval":         {turn, map[string]string{"stepgate.io/approve": "3"}},
		"a pause":             {turn, map[string]string{"stepgate.io/pause": "3"}},
		"a step before it":    {atWork, nil},
		"too many failures":   {turn, map[string]string{"stepgate.io/max-failures": "0"}},
		"what nobody started": {turn, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			for key, value := range tc.annotations {
				w.set.Annotations[key] = value
			}
			w.presence = withoutGate
			w.is(tc.is)
			n := w.new()
			w.look(n)
			w.clock.Step(40 * time.Minute)
			w.look(n)
			w.Expect(w.take()).To(BeEmpty())
		})
	}
}

// TestAGateThatComesAndGoes tells nobody twice, also where a trigger has no oncePer.
func TestAGateThatComesAndGoes(t *testing.T) {
	w := newWorld(t)
	w.set.Annotations["stepgate.io/approve"] = "3"
	w.config.Data["trigger.stepgate-on-own"] = "- when: rollout.approval.is\n  send: [stepgate-own]"
	w.config.Data["template.stepgate-own"] = "webhook:\n  people:\n    method: POST\n    body: own"
	w.subscribe("stepgate-on-own", "people")
	w.is(turn)
	n := w.new()
	w.look(n)
	w.Expect(w.take()).To(ConsistOf(needsApproval, "own"))
	for range 5 {
		for _, p := range []gate.Presence{withoutGate, {}, {Problem: "every sync is refused"}, {}} {
			w.presence = p
			w.clock.Step(lookEvery)
			w.look(n)
		}
	}
	w.Expect(w.take()).To(BeEmpty())

	// Without the gate going away, a trigger that has no oncePer tells of it each time.
	delete(w.set.Annotations, "stepgate.io/approve")
	w.is(turn)
	w.look(n)
	w.set.Annotations["stepgate.io/approve"] = "3"
	w.is(turn)
	w.look(n)
	w.Expect(w.take()).To(ConsistOf("own"))
}

// TestWhatRefusesAllIsTold before what a step waits for.
func TestWhatRefusesAllIsTold(t *testing.T) {
	w := newWorld(t)
	w.presence = gate.Presence{Problem: "every sync is refused: no replica of Deployment stepgate/stepgate is ready"}
	w.is(turn)
	n := w.new()
	w.look(n)
	w.clock.Step(30 * time.Minute)
	w.look(n)
	w.Expect(w.take()).To(ConsistOf(
		ContainSubstring("minutes (at 78de5d3): " + w.presence.Problem + "; ")))
}
