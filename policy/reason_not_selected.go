// SPDX-License-Identifier: Apache-2.0

package policy

// NotSelected means that the Application is in no step.
const NotSelected Reason = "NotSelected"

var notSelected = settling{
	row: row{
		reason: NotSelected,
		means:  "No step selects the Application. The ApplicationSet controller never syncs it by itself.",
		when:   "no step selects the target",
	},
	outcome: NotGated,
	settles: func(_ *Input, step int) bool { return step < 0 },
}
