// SPDX-License-Identifier: Apache-2.0

package policy_test

import "github.com/stepgate/stepgate/policy"

// reportedRows are Applications of which an agent reports what the Argo CD of another cluster says.
func reportedRows() map[string]row {
	blocked := func(scenario string, reason policy.Reason, detail, next string) row {
		text := string(reason) + ": as reported"
		if detail != "" {
			text += ": " + detail
		}
		return row{
			scenario: scenario, wantReason: reason, wantBlockers: "1:dev=" + string(reason),
			wantMessage: one + "(" + text + "). Next: " + next,
		}
	}
	respecified := blocked("1:dev,reported > 2:prod,auto,reported", policy.NotCompleted,
		"its spec has changed since it was compared",
		"wait for the next report of dev, or sync it: argocd app sync dev")
	respecified.edit = func(in *policy.Input) {
		in.History.Of = func(string) policy.Past { return policy.Past{Freshness: policy.Fresh, Respecified: true} }
	}
	return map[string]row{
		"reported at the revision that is reported of the target":   allowed("1:dev,reported > 2:prod,auto,reported"),
		"reported at the revision that the target is compared with": allowed("1:dev,reported > 2:prod,auto,pinned"),
		"reported Degraded": blocked("1:dev=Degraded,reported > 2:prod,auto,reported", policy.NotHealthy, "Degraded",
			"wait until dev is Healthy, or repair it"),
		"reported OutOfSync": blocked("1:dev=Healthy/OutOfSync,reported > 2:prod,auto,reported", policy.NotCompleted, "OutOfSync",
			"sync dev first: argocd app sync dev"),
		"reported to sync": blocked("1:dev,running,reported > 2:prod,auto,reported", policy.OperationInProgress, "",
			"wait until the operation of dev has ended"),
		"its reported sync has failed": blocked("1:dev,failed:99,reported > 2:prod,auto,reported", policy.OperationFailed, "Failed",
			"sync dev again: argocd app sync dev"),
		"reported at another revision": blocked("1:dev@a,reported > 2:prod@b,auto,reported", policy.NotCompleted, "compared to a, not b",
			"wait for the next report of dev, or sync it: argocd app sync dev"),
		"reported before its spec has changed": respecified,
		"nothing is reported of it yet": blocked("1:dev,nohealth,nosync,at:never,reported > 2:prod,auto,reported", policy.NotHealthy,
			"Argo CD has never compared it", "wait until Argo CD has compared dev"),
		"nothing is reported of the target yet": {
			scenario: "1:dev,reported > 2:prod,auto,respec,reported", wantReason: policy.ContentUnknown, wantSettled: true,
			wantMessage: "step 2 of ApplicationSet argocd/guestbook may not sync yet: prod (ContentUnknown: no report of it is known to be of its new spec). Next: wait for the next report of prod",
		},
	}
}
