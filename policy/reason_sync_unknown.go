package policy

// SyncUnknown means that the last comparison failed.
const SyncUnknown Reason = "SyncUnknown"

var syncUnknown = blocking{
	row: row{
		reason:     SyncUnknown,
		level:      RequireRevision,
		when:       "its sync status is empty or Unknown",
		short:      "Argo CD cannot compare it",
		ofRevision: true,
		next:       "read the conditions of APP: Argo CD cannot compare it",
	},
	holds: func(_ *Input, a *Application) (detail string, ok bool) {
		return "", a.SyncStatus == "" || a.SyncStatus == "Unknown"
	},
}
