// SPDX-License-Identifier: Apache-2.0

package policy

// NotHealthy means that the sibling is not Healthy, or that Argo CD has not looked at it yet.
const NotHealthy Reason = "NotHealthy"

var notHealthy = blocking{
	row: row{
		reason: NotHealthy,
		means: "Its live health is not Healthy, or Argo CD has not compared it even once. The detail says what it " +
			"is.",
		do: "if it is Progressing, wait. Otherwise `argocd app get APP` shows which resource is not Healthy; " +
			"repair that. A suspended resource (a paused Rollout, a CronJob) blocks later steps, as it does for " +
			"the ApplicationSet controller.",
		level: RequireHealth,
		when:  "its health is not Healthy, or it has no `reconciledAt`",
		short: "it is Progressing, Degraded, Missing, Suspended or Unknown",
		next:  "wait until APP is Healthy, or repair it",
	},
	lacks: []lack{
		neverCompared, unhealthy,
	},
}

// neverLookedAt is the detail of an Application that is new.
const neverLookedAt = "Argo CD has never compared it"

var neverCompared = lack{
	next: "wait until Argo CD has compared APP",
	holds: func(_ *Input, a *Application) (detail string, ok bool) {
		return neverLookedAt, a.ReconciledAt.IsZero() || a.Health == ""
	},
}

var unhealthy = lack{
	holds: func(_ *Input, a *Application) (detail string, ok bool) {
		if a.Health == "Healthy" {
			return "", false // a detail of each sibling that is done would cost more than the rest of the rule
		}
		return clean(a.Health), true
	},
}
