// SPDX-License-Identifier: Apache-2.0

package policy

// DryRunOperation means that the operation deploys nothing.
const DryRunOperation Reason = "DryRunOperation"

var dryRunOperation = settling{
	row: row{
		reason: DryRunOperation,
		means:  "`argocd app sync --dry-run`: nothing is deployed.",
		when:   "the operation is a dry run",
	},
	outcome: NotGated,
	settles: func(in *Input, _ int) bool { return in.Target.Operation.DryRun },
}
