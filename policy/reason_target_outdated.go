package policy

import "slices"

// TargetOutdated means that the target was compared too early.
const TargetOutdated Reason = "TargetOutdated"

var targetOutdated = waiting{
	row: row{
		reason: TargetOutdated,
		level:  RequireRevision,
		when: "level `revision`: another Application was compared with a newer revision, and the operation names none; " +
			"or an earlier sibling has gone on without completing what the operation deploys; or the branch went back to " +
			"what the target has run",
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
	for _, a := range in.Peers {
		if found, ok := in.outdatedByPeer(a.Application); ok && !in.isEarlier(a, step) && a.Name != in.Target.Name &&
			!a.Deleting && (!outdated || a.Name < first) {
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
	return differs(a, at, wanted), true
}

// outdatedByPeer reports whether an Application that holds nobody up seems to be compared with a newer revision than
// the target, where the operation names none. Its comparison is not older, and the target has not run that revision. A
// comparison that failed tells nothing: where a cluster does not answer, Argo CD may write the name of the branch in
// place of a revision.
func (in *Input) outdatedByPeer(a *Application) (detail string, outdated bool) {
	if in.Target.Operation.Pinned || a.ReconciledAt.Before(in.Target.ReconciledAt) || a.SyncStatus == "Unknown" {
		return "", false
	}
	for _, source := range a.Compared {
		if wanted := in.mismatch(source, a.Compared); wanted != nil && !slices.Contains(in.Target.Ran, source) {
			return differs(a, source, wanted), true
		}
	}
	return "", false
}

func differs(a *Application, source Source, wanted []Source) string {
	return "compared to " + oneOf(wanted, source.Key) + ", and " + clean(a.Name) + " to " + Short(source.Revision) +
		" since"
}
