// SPDX-License-Identifier: Apache-2.0

package policy

// FirstStep means that there is no earlier step.
const FirstStep Reason = "FirstStep"

var firstStep = settling{
	row: row{
		reason: FirstStep,
		means:  "The Application is in step 1.",
		when:   "it is in step 1, which waits for no condition, and comes after nothing",
	},
	outcome: Allow,
	settles: func(in *Input, step int) bool { return step == 0 && !in.conditional(step) },
}
