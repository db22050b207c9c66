package policy

// Deleting means that the ApplicationSet is about to be gone.
const Deleting Reason = "Deleting"

var deleting = settling{
	row: row{
		reason: Deleting,
		when:   "the ApplicationSet is being deleted",
	},
	outcome: NotGated,
	settles: func(in *Input, _ int) bool { return in.ApplicationSet.Deleting },
}
