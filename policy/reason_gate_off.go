// SPDX-License-Identifier: Apache-2.0

package policy

// GateOff means that the ApplicationSet is switched off.
const GateOff Reason = "GateOff"

var gateOff = settling{
	row: row{
		reason: GateOff,
		means: "The ApplicationSet has the annotation `stepgate.io/mode: off`, which has no time limit. An Event " +
			"`SyncGateOff` says it.",
		when:     "mode `off` on the ApplicationSet",
		recorded: true,
	},
	outcome: NotGated,
	settles: func(in *Input, _ int) bool { return in.Settings.Off },
}
