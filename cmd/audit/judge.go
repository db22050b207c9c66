package audit

import "time"

// compare tells whether the sync of a later step was in order, seen against an earlier one of the same rollout.
func (r *rollout) compare(late, early member) (Verdict, Reason) {
	l, e := late.sync(), early.sync()
	switch {
	case e.outcome == Succeeded && l.started.After(e.finished):
		return InOrder, ""
	case e.outcome == Succeeded && l.started.Equal(e.finished):
		return Unclear, SameSecond
	case e.outcome == Failed && !l.started.Before(e.finished):
		return Unclear, EarlierFailed
	case early.created.After(l.started):
		return leftOut, ""
	case early.created.Equal(l.started):
		return Unclear, SameSecond
	}
	if reason := r.doubt(early, l.started); reason != "" {
		return Unclear, reason
	}
	// The later one started before the earlier one had finished. It was to deploy this revision from the start on if it also finished
	// before, or if the earlier one was deploying it already.
	finishedFirst := !l.finished.IsZero() && (e.finished.IsZero() || l.finished.Before(e.finished))
	if !finishedFirst && e.started.After(l.started) {
		return Unclear, MayHaveWaited
	}
	if !l.automated {
		return ByHand, ""
	}
	return OutOfOrder, ""
}

// doubt is why the first sync on record of an earlier step does not show that it lacked the revision until then.
func (r *rollout) doubt(early member, since time.Time) Reason {
	if early.trimmed && (early.at == 0 || early.syncs[0].started.After(since) || !early.syncs[early.at-1].automated) {
		return Trimmed
	}
	sync := early.sync()
	if !sync.automated {
		return EarlierByHand
	}
	if early.at == 0 {
		return ""
	}
	if !sync.onlyChanges(r.source.Key, early.syncs[early.at-1]) {
		return OtherChange
	}
	for _, before := range early.syncs[:early.at] {
		if r.newer[before.revision(r.source.Key)] {
			return WentBack
		}
	}
	return ""
}

// absent tells about an Application of an earlier step whose record of the revision may have been dropped. A dropped record is older
// than all others, so it matters only if they all are younger than the later step's start.
func absent(late member, early *application) (Verdict, Reason) {
	started := late.sync().started
	if !early.created.After(started) && early.reaches().After(started) {
		return Unclear, Trimmed
	}
	return leftOut, ""
}
