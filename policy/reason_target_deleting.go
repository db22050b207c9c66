// SPDX-License-Identifier: Apache-2.0

package policy

// TargetDeleting means that the sync would create again what the deletion removes.
const TargetDeleting Reason = "TargetDeleting"

var targetDeleting = settling{
	row: row{
		reason: TargetDeleting,
		means: "The Application is being deleted, and an automated sync of it would create again what the deletion " +
			"removes ([argo-cd#28511](https://github.com/argoproj/argo-cd/issues/28511)).",
		do: "wait until it is deleted. If it stays, something does not remove its finalizer: look at its " +
			"`metadata.finalizers` and its conditions.",
		when: "the operation is automated, and the target is being deleted",
		next: "wait until APP is deleted; if it stays, look at its finalizers",
	},
	outcome: Deny,
	says: func(_ *Input, d Decision) Decision {
		d.Detail = "it is being deleted, and a sync would create again what the deletion removes"
		return d
	},
	settles: func(in *Input, _ int) bool { return in.Target.Deleting && in.Target.Operation.Automated },
}
