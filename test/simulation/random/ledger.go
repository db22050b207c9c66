// SPDX-License-Identifier: Apache-2.0

package random

import (
	"time"

	"pgregory.net/rapid"

	"github.com/stepgate/stepgate/cmd/simulation"
)

// Kept are the histories of a kind with the ledger, in which stepgate starts again at any moment: some replicas are told to
// end, and write what is left, and some are killed.
func Kept(kind *rapid.Generator[*simulation.Scenario]) *rapid.Generator[*simulation.Scenario] {
	return rapid.Custom(func(t *rapid.T) *simulation.Scenario {
		s := kind.Draw(t, "of its kind")
		s.Ledger = true
		a := actors{drawing: drawing{t, s, s.Applications[0].Name}, testifying: testifying{t: t, s: s}}
		end := 30 * time.Second
		for _, event := range s.Events {
			end += event.After
		}
		for range rapid.IntRange(1, 4).Draw(t, "ends") {
			moment := rapid.IntRange(0, int(end/time.Millisecond)).Draw(t, "ends at")
			a.add(time.Duration(moment)*time.Millisecond, pick(t, "how", "kill", "restart all", "restart stepgate"))
		}
		a.merge()
		return s
	})
}
