// SPDX-License-Identifier: Apache-2.0

package policy

// EarlierStepsDone means that every Application of the earlier steps is done, and every condition holds.
const EarlierStepsDone Reason = "EarlierStepsDone"

var earlierStepsDone = row{
	reason: EarlierStepsDone,
	means:  "Every Application of every earlier step is done, as the API server saw it at that moment.",
	when:   "otherwise",
}
