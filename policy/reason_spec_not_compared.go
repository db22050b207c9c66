package policy

// SpecNotCompared means that the last comparison is older than the spec.
const SpecNotCompared Reason = "SpecNotCompared"

var specNotCompared = blocking{
	row: row{
		reason: SpecNotCompared,
		level:  RequireRevision,
		when: "`status.sync.comparedTo` differs from `spec` (sources, destination, `ignoreDifferences`), by Argo CD's " +
			"own Equals",
		short: "its spec changed after the last comparison",
		stale: true,
		next:  "refresh APP: argocd app get APP --refresh",
	},
	holds: func(_ *Input, a *Application) (detail string, ok bool) { return "", !a.SpecCompared },
}
