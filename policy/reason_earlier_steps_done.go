package policy

// EarlierStepsDone means that every Application of the earlier steps is done, and every condition holds.
const EarlierStepsDone Reason = "EarlierStepsDone"

var earlierStepsDone = row{
	reason: EarlierStepsDone,
	when:   "otherwise",
}
