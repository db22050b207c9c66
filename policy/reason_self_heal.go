package policy

// SelfHeal means that the operation deploys what is deployed.
const SelfHeal Reason = "SelfHeal"

var selfHeal = settling{
	row: row{
		reason: SelfHeal,
		when:   "it deploys what is deployed, by the last stamp or history entry, and nothing around it has changed",
	},
	outcome: Allow,
	settles: func(in *Input, _ int) bool {
		op := &in.Target.Operation
		return (op.Redeploys || in.History.Deployed) && op.Pinned && in.Target.SpecCompared &&
			!in.altered()
	},
}
