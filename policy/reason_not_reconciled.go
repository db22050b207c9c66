package policy

// NotReconciled means that Argo CD has not looked at the sibling yet.
const NotReconciled Reason = "NotReconciled"

var notReconciled = blocking{
	row: row{
		reason: NotReconciled,
		level:  RequireHealth,
		when:   "it has no `reconciledAt` or no health",
		short:  "Argo CD has never compared it",
		next:   "wait until Argo CD has compared APP",
	},
	holds: func(_ *Input, a *Application) (detail string, ok bool) {
		return "", a.ReconciledAt.IsZero() || a.Health == ""
	},
}
