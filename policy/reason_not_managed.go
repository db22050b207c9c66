// SPDX-License-Identifier: Apache-2.0

package policy

// NotManaged means that no ApplicationSet controls the Application.
const NotManaged Reason = "NotManaged"

var notManaged = settling{
	row: row{
		reason: NotManaged,
		means:  "No ApplicationSet controls the Application, neither before nor after the write.",
		when:   "no ApplicationSet controls the Application, before or after",
	},
	outcome: NotGated,
	settles: func(in *Input, _ int) bool { return !in.Target.Managed },
}
