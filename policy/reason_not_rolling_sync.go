// SPDX-License-Identifier: Apache-2.0

package policy

// NotRollingSync means that the ApplicationSet asks for no order.
const NotRollingSync Reason = "NotRollingSync"

var notRollingSync = settling{
	row: row{
		reason: NotRollingSync,
		means:  "The ApplicationSet's strategy type is not exactly `RollingSync`, or it has no steps.",
		when:   "its strategy is not exactly `RollingSync`, or has no steps",
	},
	outcome: NotGated,
	settles: func(in *Input, _ int) bool { return !in.ApplicationSet.Ordered() },
}
