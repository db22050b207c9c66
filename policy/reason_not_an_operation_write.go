// SPDX-License-Identifier: Apache-2.0

package policy

// NotAnOperationWrite means that the write starts nothing.
const NotAnOperationWrite Reason = "NotAnOperationWrite"

var notAnOperationWrite = settling{
	row: row{
		reason: NotAnOperationWrite,
		means:  "The operation is absent, unchanged or removed.",
		when:   "the operation is absent, unchanged or removed",
	},
	outcome: NotGated,
	settles: func(in *Input, _ int) bool { return !in.Target.Operation.Written },
}
