package policy

// ForeignContent means that no earlier step has what the operation brings.
const ForeignContent Reason = "ForeignContent"

var foreignContent = settling{
	row: row{
		reason: ForeignContent,
		when: "the target is in step 2 or later, and the operation brings manifests or sources of its own and is no " +
			"rollback",
		message: func(d Decision) string {
			what, next := "the operation brings manifests or sources of its own, which no earlier step has",
				"bring the change to Git, where it passes the earlier steps, or bypass stepgate for this sync"
			if d.Detail != "" {
				what, next = "the operation brings "+d.Detail+" of its own, which stepgate writes", "leave it out"
			}
			return d.of() + " may not sync yet: " + d.Application + " (ForeignContent: " + what + "). Next: " + next
		},
	},
	outcome: Deny,
	settles: func(in *Input, step int) bool {
		return step > 0 && in.Target.Operation.Foreign && !in.Target.Operation.RollsBack
	},
}
