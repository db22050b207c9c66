package policy

import "time"

// HealthStale means that the status is from before the last operation. It would clear by itself, but the ApplicationSet
// controller does not wake up for a comparison that finds nothing new. A refresh wakes it.
const HealthStale Reason = "HealthStale"

var healthStale = blocking{
	row: row{
		reason: HealthStale,
		level:  RequireSynced,
		when:   "its last full operation finished after `reconciledAt`, or in the same second and it is OutOfSync",
		short:  "its status is older than its last sync",
		stale:  true,
		next:   "wait until Argo CD has compared APP",
	},
	holds: func(_ *Input, a *Application) (detail string, ok bool) {
		last := &a.LastOperation
		switch {
		case last.Full && last.FinishedAt.After(a.ReconciledAt):
			return "compared before its last operation ended", true
		case a.SyncStatus != "Synced" && a.LastSync.AtCompared && sameSecond(a.LastSync.FinishedAt, a.ReconciledAt):
			return "compared in the second in which its last sync ended", true
		case last.Full && !last.AtCompared && sameSecond(last.FinishedAt, a.ReconciledAt):
			return "compared in the second in which its last operation ended", true
		}
		return "", false
	},
}

// sameSecond compares at the resolution of Argo CD's times.
func sameSecond(a, b time.Time) bool {
	return !a.IsZero() && a.Truncate(time.Second).Equal(b.Truncate(time.Second))
}
