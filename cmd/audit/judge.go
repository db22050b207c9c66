// SPDX-License-Identifier: Apache-2.0

package audit

import "time"

// compare tells whether the sync of a later step was in order, seen against an earlier one of the same rollout.
func compare(late, early *member) (Verdict, Reason) {
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
	case early.mayHaveHadIt(l.started):
		return Unclear, Trimmed
	case early.doubt != "":
		return Unclear, early.doubt
	}
	// The later one started before the earlier one had finished. It was to deploy this revision from the start on if it
	// also finished before, or if the earlier one was deploying it already.
	finishedFirst := !l.finished.IsZero() && l.finished.Before(early.ended())
	if !finishedFirst && e.started.After(l.started) {
		return Unclear, MayHaveWaited
	}
	if !l.automated {
		return ByHand, ""
	}
	return OutOfOrder, ""
}

// mayHaveHadIt says that a record of the revision may have been dropped, from before a moment: the sync is the oldest
// on record, or all on record are younger, or it followed a rollback.
func (m *member) mayHaveHadIt(before time.Time) bool {
	return m.trimmed && (m.at == 0 || m.reaches().After(before) || !m.syncs[m.at-1].automated)
}

// doubt is why the first sync of the revision on record does not show that the Application lacked the revision until
// then.
func (r *rollout) doubt(m *member) Reason {
	sync := m.sync()
	if !sync.automated {
		return EarlierByHand
	}
	if m.at == 0 {
		return ""
	}
	if !sync.onlyChanges(r.source.Key, m.syncs[m.at-1]) {
		return OtherChange
	}
	for _, before := range m.syncs[:m.at] {
		if r.newer[before.revision(r.source.Key)] {
			return WentBack
		}
	}
	return ""
}

// absent tells about an Application of an earlier step whose record of the revision may have been dropped. A dropped
// record is older than all others, so it matters only if they all are younger than the later step's start.
func absent(late *member, early *application) (Verdict, Reason) {
	started := late.sync().started
	if !early.created.After(started) && early.reaches().After(started) {
		return Unclear, Trimmed
	}
	return leftOut, ""
}
