package policy

// RevisionMismatch means that the sibling was compared with another revision than the target deploys.
const RevisionMismatch Reason = "RevisionMismatch"

var revisionMismatch = blocking{
	row: row{
		reason: RevisionMismatch,
		level:  RequireRevision,
		when: "it shares a source key with the target, was compared at another revision, and has not gone on from the " +
			"wanted one",
		short: "Argo CD compared it with another commit than the one to be deployed",
		stale: true,
		next:  "refresh APP: argocd app get APP --refresh",
	},
	holds: func(in *Input, a *Application) (detail string, ok bool) {
		at, wanted := in.mismatched(a.Compared)
		if wanted == nil || in.goneOn(a) {
			return "", false
		}
		return "compared to " + Short(at.Revision) + ", not " + oneOf(wanted, at.Key), true
	},
}
