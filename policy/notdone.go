// SPDX-License-Identifier: Apache-2.0

package policy

// NotDone reports why an Application would hold up a later step that deploys what the Application itself is compared
// with, whatever its step is. It is for those who show the state of a rollout: a decision about a sync is Evaluate's
// alone. The input's Target and Siblings are ignored. An Application that is done for this may still be compared too
// early for the sync of another.
func NotDone(in Input, a *Application) (b Blocker, ok bool) {
	in.Target = Target{Wanted: a.Compared, Compared: a.Compared, SameSources: true}
	in.Settings.Candidates = false
	in.foresee()
	why := in.notDone(a)
	if why.Reason == "" {
		return Blocker{}, false
	}
	b = a.blocker(in.ApplicationSet.orOrphan(a.Name, why))
	b.Step = in.ApplicationSet.StepOf(a.Labels)
	return b, true
}

// NotCounted says why an Application of a step holds nobody up, whatever its state is; empty if it does count.
func NotCounted(in Input, a *Application) string {
	own := in.ApplicationSet.Sibling(a)
	switch {
	case a.Deleting:
		return "being deleted"
	case own.Orphan():
		return "not generated any more"
	case in.Settings.Excluded[a.Name]:
		return "excluded"
	}
	return ""
}

// Missing are the Applications that the ApplicationSet's status lists under a step, and that are not among the input's
// Siblings.
func Missing(in Input) []Blocker {
	in.Target = Target{}
	return in.missing(in.ApplicationSet.everyStep())
}
