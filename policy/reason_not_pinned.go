// SPDX-License-Identifier: Apache-2.0

package policy

// NotPinned means that the operation would resolve the branch anew.
const NotPinned Reason = "NotPinned"

var notPinned = settling{
	row: row{
		reason: NotPinned,
		means: "An automated operation does not name its revisions and sources, or a retry would resolve the branch " +
			"again. stepgate's mutating webhook should have [pinned](#pinned-operations) it, but was not called.",
		do:   "`kubectl get mutatingwebhookconfiguration`; see that stepgate's Pods are ready.",
		when: "an automated operation lacks its revisions or sources, or has `retry.refresh`; not if reported",
		next: "check that stepgate's MutatingWebhookConfiguration exists and that its Pods are ready",
	},
	outcome: Deny,
	says: func(_ *Input, d Decision) Decision {
		d.Detail = "the operation is not pinned to a revision and its sources, and would deploy the newest when it starts"
		return d
	},
	settles: func(in *Input, _ int) bool {
		return in.Target.Operation.Automated && !in.Target.Operation.Pinned && !in.Target.Reported
	},
}
