package policy

// NotHealthy means that the sibling is not Healthy, or that Argo CD has not looked at it yet.
const NotHealthy Reason = "NotHealthy"

var notHealthy = blocking{
	row: row{
		reason: NotHealthy,
		level:  RequireHealth,
		when:   "its health is not Healthy, or it has no `reconciledAt`",
		short:  "it is Progressing, Degraded, Missing, Suspended or Unknown",
		next:   "wait until APP is Healthy, or repair it",
	},
	lacks: []lack{
		neverCompared, unhealthy,
	},
}

var neverCompared = lack{
	next: "wait until Argo CD has compared APP",
	holds: func(_ *Input, a *Application) (detail string, ok bool) {
		return "Argo CD has never compared it", a.ReconciledAt.IsZero() || a.Health == ""
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
