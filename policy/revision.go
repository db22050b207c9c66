package policy

import "slices"

// notCompared asks whether the sibling was compared with what the target is about to deploy, or has completed it and gone on: by
// revision for a source that both have, else by a comparison that is known to be fresh. One that has gone on without completing
// it makes the target outdated, and does not block it. Times decide nothing: Argo CD takes reconciledAt before
// it resolves the revision, may use cached refs that are three minutes old, and the clocks of its shards differ.
func (in *Input) notCompared(a *Application) (Reason, string) {
	for _, source := range a.Compared {
		if wanted := in.mismatch(source); wanted != nil && !in.newer(a, source, wanted) {
			return RevisionMismatch, "compared to " + short(source.Revision) + ", not " + oneOf(wanted, source.Key)
		}
	}
	if (in.pendingElsewhere(a) || in.changedBehind()) && !in.Seen.Past(a.Name).Fresh {
		return ComparisonOlder, "not known to be compared since the change to " + clean(in.Target.Name) + " was seen"
	}
	return "", ""
}

// mismatch returns the sources that the target deploys where a sibling's source is at none of their revisions; nil where
// it is at one, or where a revision is not known.
func (in *Input) mismatch(source Source) (wanted []Source) {
	wanted = in.Target.deploys(source.Key)
	if source.Revision == "" || !known(wanted, source.Key) || slices.Contains(wanted, source) {
		return nil
	}
	return wanted
}

// deploys returns the sources that tell which revision of a source siblings have to match. A source that the operation
// or a change of spec leaves behind counts with the revision that the target was compared with: naming another source is
// no way round the gate.
func (t *Target) deploys(key string) []Source {
	if known(t.Wanted, key) {
		return t.Wanted
	}
	return t.Compared
}

// newer reports whether a sibling's revision is known to be newer than the wanted ones. Its comparison has to be later than the
// target's: without that, the branch may have come to the wanted one since, or come back to it. And the target was compared
// with the wanted ones before, or the sibling completed them before.
func (in *Input) newer(a *Application, source Source, wanted []Source) bool {
	past := in.Seen.Past(a.Name)
	for _, w := range wanted {
		if w.Key != source.Key || w.Revision == "" {
			continue
		}
		ran := slices.Contains(past.Completed, w) && in.ranBefore(a, w, source)
		if !past.Later || !slices.Contains(in.Target.Compared, w) && !ran {
			return false
		}
	}
	return true
}

// completed reports whether the sibling was seen to complete a source at all wanted revisions. To be compared with a newer one shows
// nothing: it may have skipped them, or have failed at them.
func (in *Input) completed(a *Application, wanted []Source, key string) bool {
	done := in.Seen.Past(a.Name).Completed
	return !slices.ContainsFunc(wanted, func(w Source) bool { return w.Key == key && !slices.Contains(done, w) })
}

// ranBefore reports whether what the sibling followed, oldest first, has a source at one revision, and has it at the later
// revision only after that or not yet. A history in which the branch went back and forth tells no order. Neither does one
// in which the target's own revisions come after the earlier one: the sibling tried it, and went back.
func (in *Input) ranBefore(a *Application, earlier, later Source) bool {
	last := -1
	for i, s := range a.Followed {
		if s == earlier {
			last = i
		}
	}
	return last >= 0 && !slices.Contains(a.Followed[:last], later) &&
		!slices.ContainsFunc(a.Followed[last+1:], func(s Source) bool { return s.Key == earlier.Key && slices.Contains(in.Target.Ran, s) })
}

// outdatedBy reports whether a sibling of an earlier step, which is done, was compared with a newer revision than the
// target. An operation that names no revision then deploys the newer one, before its turn. One that names its revision
// deploys the older one. That is right if the sibling has completed that one, unless the target has already run the newer one:
// then the branch went back.
func (in *Input) outdatedBy(a *Application) (detail string, outdated bool) {
	for _, source := range a.Compared {
		wanted := in.mismatch(source)
		if wanted != nil && (!in.Target.Operation.Pinned || slices.Contains(in.Target.Ran, source) || !in.completed(a, wanted, source.Key)) {
			return differs(a, source, wanted), true
		}
	}
	return "", false
}

// outdatedByPeer reports whether an Application that holds nobody up seems to be compared with a newer revision than the
// target, where the operation names none. Its comparison is not older, and the target has not run that revision. A comparison that
// failed tells nothing: where a cluster does not answer, Argo CD may write the name of the branch in place of a revision.
func (in *Input) outdatedByPeer(a *Application) (detail string, outdated bool) {
	if in.Target.Operation.Pinned || a.ReconciledAt.Before(in.Target.ReconciledAt) || a.SyncStatus == "Unknown" {
		return "", false
	}
	for _, source := range a.Compared {
		if wanted := in.mismatch(source); wanted != nil && !slices.Contains(in.Target.Ran, source) {
			return differs(a, source, wanted), true
		}
	}
	return "", false
}

func differs(a *Application, source Source, wanted []Source) string {
	return "compared to " + oneOf(wanted, source.Key) + ", and " + clean(a.Name) + " to " + short(source.Revision) + " since"
}

// pendingElsewhere reports whether the target deploys a change in a source that the sibling does not have. A source at
// the revision that the target runs already is no change, unless the spec has changed since: it may be a parameter that the
// target alone has. A target that deploys nothing known may deploy anything.
func (in *Input) pendingElsewhere(a *Application) bool {
	if len(in.Target.Wanted) == 0 {
		return true
	}
	changed := in.changed()
	return slices.ContainsFunc(in.Target.Wanted, func(w Source) bool {
		return (changed || !in.Target.runs(w)) && !known(a.Compared, w.Key)
	})
}

// changed reports whether the target deploys a change of its spec: other sources than it runs, maybe at the same revisions, or the same with another
// destination or other options.
func (in *Input) changed() bool { return !in.Target.SameSources || in.Seen.Altered }

// changedBehind reports whether the target deploys such a change at another revision than it was compared with. A sibling at that
// revision may have been compared before the change.
func (in *Input) changedBehind() bool {
	return in.changed() && slices.ContainsFunc(in.Target.Wanted, func(w Source) bool { return !slices.Contains(in.Target.Compared, w) })
}

// runs reports whether the newest entry of the target's history that has the source has it at this revision.
func (t *Target) runs(w Source) bool {
	s, known := t.running(w.Key)
	return known && s == w && w.Revision != ""
}

// running is the newest entry of the target's history that has a source.
func (t *Target) running(key string) (s Source, known bool) {
	for _, s := range slices.Backward(t.Ran) {
		if s.Key == key {
			return s, true
		}
	}
	return Source{}, false
}

// known reports whether the revision of a source with the key is known.
func known(sources []Source, key string) bool {
	return slices.ContainsFunc(sources, func(s Source) bool { return s.Key == key && s.Revision != "" })
}
