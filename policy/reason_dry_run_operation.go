package policy

// DryRunOperation means that the operation deploys nothing.
const DryRunOperation Reason = "DryRunOperation"

var dryRunOperation = settling{
	row: row{
		reason: DryRunOperation,
		when:   "the operation is a dry run",
	},
	outcome: NotGated,
	settles: func(in *Input, _ int) bool { return in.Target.Operation.DryRun },
}
