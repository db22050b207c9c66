// SPDX-License-Identifier: Apache-2.0

package policy

// OperationInProgress means that an operation of the sibling waits or runs.
const OperationInProgress Reason = "OperationInProgress"

var operationInProgress = blocking{
	row: row{
		reason: OperationInProgress,
		means: "An operation is waiting or running: `operation` is set, or the phase is Running or Terminating. A " +
			"sync that waits for a sync window counts as in progress. A sync that is retried has failed before.",
		do:    "wait, or end it with `argocd app terminate-op APP`.",
		level: RequireHealth,
		when:  "`operation` is set, or the phase is Running or Terminating",
		short: "it is syncing now",
		next:  "wait until the operation of APP has ended",
	},
	lacks: []lack{{holds: func(_ *Input, a *Application) (detail string, ok bool) {
		if !a.OperationSet && !a.LastOperation.Running() {
			return "", false
		}
		return a.LastOperation.trouble(), true
	}}},
}

// Running reports whether it has started and not ended.
func (last *LastOperation) Running() bool {
	return last.Phase == "Running" || last.Phase == "Terminating"
}

// trouble says that a running operation does not come to its end at once, as where its cluster does not answer.
func (last *LastOperation) trouble() string {
	if last.Running() && last.Retried {
		return "its sync failed, and is tried again"
	}
	return ""
}
