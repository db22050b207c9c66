// SPDX-License-Identifier: Apache-2.0

package policy

// notReady denies a target that was compared too early, or that has to complete what it runs first.
var notReady = waiting{
	row: row{
		reason: NotCompleted,
		level:  RequireRevision,
		when: "level `revision`: an earlier sibling has gone on without completing what the operation deploys, or " +
			"the branch went back to what the target has run; or `candidate` names another revision than the " +
			"compared one within 8 s of the last sync, before a comparison and the last step",
	},
	denies: func(in *Input, d Decision) (denied Decision, ok bool) {
		if detail, ok := in.targetOutdated(d.Step); ok {
			d.Detail, d.Next, d.Ends = detail, RefreshIt, CompareAgain
			return d, true
		}
		d.NotBefore = in.proving()
		d.Detail, d.Next = "it has just been synced, and has to be found Healthy before it goes on", justWait
		return d, !d.NotBefore.IsZero() && in.wantsOther() && d.Step > 0 && d.Step+1 < in.ApplicationSet.everyStep()
	},
}

// justWait is the way out of what ends by itself.
const justWait = "wait"

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
