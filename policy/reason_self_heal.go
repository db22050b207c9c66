package policy

// SelfHeal means that the operation deploys what is deployed.
const SelfHeal Reason = "SelfHeal"

var selfHeal = settling{
	row: row{
		reason: SelfHeal,
		when: "the operation deploys what is deployed, as the stamp of the last sync or the newest history entry says, and " +
			"nothing around the sources has changed since",
	},
	outcome: Allow,
	settles: func(in *Input, _ int) bool {
		op := &in.Target.Operation
		return (op.Redeploys || in.History.Deployed) && op.Pinned && in.Target.SpecCompared &&
			!in.altered()
	},
}
