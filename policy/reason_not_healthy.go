package policy

// NotHealthy means that the sibling is not Healthy.
const NotHealthy Reason = "NotHealthy"

var notHealthy = blocking{
	row: row{
		reason: NotHealthy,
		level:  RequireHealth,
		when:   "its health is not Healthy",
		short:  "it is Progressing, Degraded, Missing, Suspended or Unknown",
		next:   "wait until APP is Healthy, or repair it",
	},
	holds: func(_ *Input, a *Application) (detail string, ok bool) {
		if a.Health == "Healthy" {
			return "", false
		}
		return clean(a.Health), true
	},
}
