// SPDX-License-Identifier: Apache-2.0

package policy

// NotRollingSync means that the ApplicationSet asks for no order.
const NotRollingSync Reason = "NotRollingSync"

var notRollingSync = settling{
	row: row{
		reason: NotRollingSync,
		means:  "The ApplicationSet's strategy type is not exactly `RollingSync`, or it has no steps. Nor has it waves.",
		when:   "its strategy is not exactly `RollingSync`, or has no steps, and it has no `stepgate.io/waves`",
	},
	outcome: NotGated,
	settles: func(in *Input, _ int) bool { return !in.ApplicationSet.Ordered() },
}
