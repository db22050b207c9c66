// SPDX-License-Identifier: Apache-2.0

package policy

// Paused means that somebody has paused the step.
const Paused Reason = "Paused"

var paused = settling{
	row: row{
		reason: Paused,
		means: "Somebody has set the annotation `stepgate.io/pause` on the ApplicationSet. Syncs that run already " +
			"go on. Nobody starts a new one in the paused steps. The text says who paused it and why, if " +
			"stepgate knows.",
		do:        "ask them, or end the pause with `stepgate resume`.",
		when:      "the step is paused",
		condition: true,
		words: func(d Decision) (text, next string) {
			why := ""
			if d.Detail != "" {
				why = ": " + d.Detail
			}
			return d.of() + " is paused (Paused" + why + ")",
				"stepgate resume " + d.flags() + ", or correct the annotation stepgate.io/pause"
		},
	},
	outcome: Deny,
	settles: func(in *Input, step int) bool { return in.Settings.Conditions.Paused.Has(step) },
	says: func(in *Input, d Decision) Decision {
		d.Detail = Printable(in.Settings.Conditions.PausedWhy, maxText)
		return d
	},
}
