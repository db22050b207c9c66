package policy

// TargetNotCompared means that nothing shows that earlier steps have the change.
const TargetNotCompared Reason = "TargetNotCompared"

var targetNotCompared = settling{
	row: row{
		reason:  TargetNotCompared,
		when:    "the target has not been compared with its spec",
		next:    "wait until Argo CD has compared APP",
		problem: func(Decision) string { return "Argo CD has not compared it with its new spec" },
	},
	outcome: Deny,
	settles: func(in *Input, _ int) bool { return !in.Target.SpecCompared },
}
