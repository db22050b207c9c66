package policy

// SelfHeal means that the operation deploys what is deployed.
const SelfHeal Reason = "SelfHeal"

var selfHeal = settling{
	row: row{
		reason: SelfHeal,
		when: "the operation names the revisions and sources of the newest history entry, the spec is compared, and " +
			"nothing around them has changed since, as far as is known",
	},
	outcome: Allow,
	settles: func(in *Input, _ int) bool {
		op := &in.Target.Operation
		return (op.Redeploys && !in.History.Unproven || in.History.Deployed) && op.Pinned && in.Target.SpecCompared &&
			!in.History.Altered
	},
}
