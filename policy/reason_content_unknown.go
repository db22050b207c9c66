// SPDX-License-Identifier: Apache-2.0

package policy

// ContentUnknown means that nothing can show that earlier steps have what the operation would deploy.
const ContentUnknown Reason = "ContentUnknown"

var contentUnknown = settling{
	row: row{
		reason: ContentUnknown,
		means: "Nothing can show that earlier steps have what the sync would deploy. The operation brings manifests " +
			"(`argocd app sync --local`) or sources that are not those of the Application's spec; or Argo CD has " +
			"not compared the Application with its present spec.",
		do: "bring the change to Git, or use a [bypass](#bypassed). In the other case wait; if it lasts, look at " +
			"the conditions of the Application, and at `status.sourceHydrator`.",
		when: "in step 2 or later, the operation brings manifests or sources of its own and is no rollback; or the " +
			"target has not been compared with its spec",
		next: "wait until Argo CD has compared APP, or bring the change to Git",
	},
	outcome: Deny,
	settles: func(in *Input, step int) bool { return in.foreign(step) || !in.Target.SpecCompared },
	says: func(in *Input, d Decision) Decision {
		if in.foreign(d.Step) {
			d.Detail = "the operation brings manifests or sources of its own, which no earlier step has"
			d.Next = "bring the change to Git, where it passes the earlier steps, or bypass stepgate for this sync"
			return d
		}
		d.Detail, d.Next = "Argo CD has not compared it with its new spec", "wait until Argo CD has compared APP"
		if d.Ends = CompareAgain; in.Target.Reported {
			d.Detail, d.Next = "no report of it is known to be of its new spec", "wait for the next report of APP"
			d.Ends = NoComparison
		}
		return d
	},
}

// foreign reports whether the operation of a target of the step brings what no earlier step has.
func (in *Input) foreign(step int) bool {
	return step > 0 && in.Target.Operation.Foreign && !in.Target.Operation.RollsBack
}
