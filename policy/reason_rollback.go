// SPDX-License-Identifier: Apache-2.0

package policy

// Rollback means that somebody goes back to what the Application has run before.
const Rollback Reason = "Rollback"

var rollback = settling{
	row: row{
		reason: Rollback,
		means: "A sync that is not automated names the revisions and sources of an older entry of the Application's " +
			"history, and the destination is unchanged. `config.gateRollbacks` gates these as well.",
		when: "the operation is not automated and names exactly an older history entry, not what is compared; " +
			"nothing around it has changed; `--gate-rollbacks` is off",
	},
	outcome: Allow,
	settles: func(in *Input, _ int) bool {
		op := &in.Target.Operation
		return op.RollsBack && !op.Automated && !in.Settings.GateRollbacks && !in.altered()
	},
}
