// SPDX-License-Identifier: Apache-2.0

package policy

// Bypassed means that somebody lets everything through.
const Bypassed Reason = "Bypassed"

var bypassed = settling{
	row: row{
		reason:   Bypassed,
		means:    "Somebody used a bypass. stepgate counts it, and an Event `SyncGateBypassed` says who and why.",
		when:     "a valid bypass",
		recorded: true,
	},
	outcome: NotGated,
	settles: func(in *Input, _ int) bool { return in.Settings.Bypassed },
}
