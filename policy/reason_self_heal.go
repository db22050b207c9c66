// SPDX-License-Identifier: Apache-2.0

package policy

// SelfHeal means that the operation deploys what is deployed.
const SelfHeal Reason = "SelfHeal"

var selfHeal = settling{
	row: row{
		reason: SelfHeal,
		means: "The operation deploys again what the Application has deployed last, or has been seen Synced with, " +
			"and nothing else of its spec has changed. After a restart, stepgate has to see an Application " +
			"Synced once before its drift counts.",
		when: "it deploys what is deployed, by the last stamp or history entry, and nothing around it has changed",
	},
	outcome: Allow,
	settles: func(in *Input, _ int) bool {
		op := &in.Target.Operation
		return (op.Redeploys || in.History.Deployed) && op.Pinned && in.Target.SpecCompared &&
			!in.altered()
	},
}
