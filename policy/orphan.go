// SPDX-License-Identifier: Apache-2.0

package policy

import "strings"

// Orphan reports whether the ApplicationSet does not generate the Application any more: its controller records it under
// no step although a step selects its labels. One in no step is recorded in the same way (argo-cd v3.5.7, getAppStep in
// applicationset/progressivesync/progressive_sync.go), and is none.
func (s *Sibling) Orphan() bool { return s.RecordedStep == -1 && s.Step >= 0 }

// maybeOrphan ends the detail of a blocker of which nothing tells whether its ApplicationSet still generates it.
const maybeOrphan = "maybe not generated any more"

// orOrphan is the detail of why an Application is not done. Where the ApplicationSet keeps orphans, and does not record
// that it generates this one, it says so: nothing else may ever make an orphan done. What ends by a comparison, or by
// itself, does so for an orphan, too.
func (set *ApplicationSet) orOrphan(name string, why stop) stop {
	if why.Reason == "" || !set.Keeps || set.Recorded[name].Step > 0 || why.ends.Stale() ||
		why.Reason == OperationInProgress {
		return why
	}
	why.detail = strings.TrimPrefix(why.detail+", "+maybeOrphan, ", ")
	return why
}

// OrphanWayOut says what an operator can do about a blocker if it is an orphan; empty if it is none.
func (b *Blocker) OrphanWayOut() string {
	if !strings.HasSuffix(b.Detail, maybeOrphan) {
		return ""
	}
	return "if it is not generated any more, delete it, or name it in stepgate.io/exclude of its ApplicationSet"
}
