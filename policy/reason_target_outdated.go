package policy

// TargetOutdated means that the target was compared too early.
const TargetOutdated Reason = "TargetOutdated"

var targetOutdated = waiting{
	row: row{
		reason: TargetOutdated,
		level:  RequireRevision,
		when: "level `revision`: an earlier sibling has gone on without completing what the operation deploys, or the " +
			"branch went back to what the target has run",
		stale:   true,
		next:    "refresh APP: argocd app get APP --refresh",
		problem: func(d Decision) string { return d.Detail },
	},
	denies: func(in *Input, d Decision) (denied Decision, ok bool) {
		d.Detail, ok = in.targetOutdated(d.Step)
		return d, ok
	},
}

// targetOutdated reports whether a sibling shows that the target was compared too early. The first one by name counts,
// so that the text stays the same.
func (in *Input) targetOutdated(step int) (detail string, outdated bool) {
	first := ""
	for _, a := range in.Siblings {
		if !in.before(&a, step) {
			continue
		}
		if found, ok := in.outdatedBy(a.Application); ok && in.isEarlier(a, step) && (!outdated || a.Name < first) {
			detail, outdated, first = found, true, a.Name
		}
	}
	return detail, outdated
}

// outdatedBy reports whether a sibling of an earlier step, which is done, has not completed what the target deploys: it
// was compared with something newer. An operation that names no revision would deploy the newer one, before its turn.
func (in *Input) outdatedBy(a *Application) (detail string, outdated bool) {
	at, wanted := in.mismatched(a.Compared)
	if wanted == nil || in.completed(a) {
		return "", false
	}
	return "compared to " + oneOf(wanted, at.Key) + ", and " + clean(a.Name) + " to " + Short(at.Revision) + " since", true
}
