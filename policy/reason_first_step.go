package policy

// FirstStep means that there is no earlier step.
const FirstStep Reason = "FirstStep"

var firstStep = settling{
	row: row{
		reason: FirstStep,
		when:   "the target is in the first step, which waits for no condition, and comes after nothing",
	},
	outcome: Allow,
	settles: func(in *Input, step int) bool { return step == 0 && !in.conditional(step) },
}
