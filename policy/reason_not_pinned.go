package policy

// NotPinned means that the operation would resolve the branch anew.
const NotPinned Reason = "NotPinned"

var notPinned = settling{
	row: row{
		reason: NotPinned,
		when:   "an automated operation lacks its revisions or sources, or has `retry.refresh`",
		next:   "check that stepgate's MutatingWebhookConfiguration exists and that its Pods are ready",
		problem: func(Decision) string {
			return "the operation is not pinned to a revision and its sources, and would deploy the newest when it starts"
		},
	},
	outcome: Deny,
	settles: func(in *Input, _ int) bool {
		return in.Target.Operation.Automated && !in.Target.Operation.Pinned
	},
}
