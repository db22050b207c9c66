package policy

// RefreshPending means that Argo CD is about to look at the sibling.
const RefreshPending Reason = "RefreshPending"

var refreshPending = blocking{
	row: row{
		reason: RefreshPending,
		level:  RequireSynced,
		when:   "the refresh annotation is present",
		short:  "a refresh is requested and not done yet",
		stale:  true,
		next:   "wait until Argo CD has compared APP",
	},
	holds: func(_ *Input, a *Application) (detail string, ok bool) { return "", a.RefreshRequested },
}
