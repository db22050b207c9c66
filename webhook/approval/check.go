// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stepgate/stepgate/policy"
)

// tolerance is how far the time of a new stamp may be from the time of the check: the API server calls the mutating
// webhook first, and the two calls may reach replicas whose clocks differ.
const tolerance = time.Minute

// maxRefusal bounds the text of a refusal.
const maxRefusal = 1024

// Approvers are who may approve. Without any, everybody may who may write the ApplicationSet.
type Approvers struct {
	// Users and Groups are names as the API server knows them.
	Users, Groups []string
}

func (a Approvers) allow(user string, groups []string) bool {
	return len(a.Users)+len(a.Groups) == 0 || slices.Contains(a.Users, user) ||
		slices.ContainsFunc(groups, func(g string) bool { return slices.Contains(a.Groups, g) })
}

// Write is a write of an ApplicationSet.
type Write struct {
	// Set is the NAMESPACE/NAME of the ApplicationSet.
	Set string
	// Waves says that its steps are sync waves.
	Waves bool
	// Old and New are its annotations before and after that can be read; Old is empty if it is created.
	Old, New map[string]string
	// TooLong are the annotations that the write makes too long to be read.
	TooLong []string
	// User and Groups are whom the API server has authenticated, or the user of Argo CD for whom that account writes.
	User   string
	Groups []string
	// At is when the write is judged.
	At time.Time
}

// Check says why a write has to be refused; it is empty if it has not. It judges the annotations as they are to be
// stored, after the stamps were written. It never refuses that an annotation is removed.
func Check(w Write, approvers Approvers) string {
	added := Added(w.Old, w.New)
	var refusal string
	switch {
	case slices.Contains(w.TooLong, PausedBy):
		refusal = leaveOut(PausedBy)
	case slices.Contains(w.TooLong, Approved), slices.Contains(w.TooLong, ApprovedBy):
		refusal = fmt.Sprintf("the approvals of %s, or their stamps, have more than %d bytes. Next: remove "+
			"those from annotation %s that are no longer needed", policy.Called(w.Set), maxStamps, Approved)
	case w.changed(Approved) && tooMany(w.New[Approved]):
		refusal = fmt.Sprintf(
			"annotation %s of %s has more than %d entries. Next: remove those that are no longer needed",
			Approved, policy.Called(w.Set), maxEntries,
		)
	case len(added) > 0 && !approvers.allow(w.User, w.Groups):
		refusal = fmt.Sprintf("%s may not approve %s of %s: stepgate's --approver and --approver-group do "+
			"not name this user "+
			"or a group of this user. Next: ask somebody whom they name", shown(w.User), w.steps(added), policy.Called(w.Set))
	case len(added) > 0 && !isName(w.User):
		refusal = fmt.Sprintf("a user whose name has no character, or more than %d, may not approve %s of %s",
			maxUser, w.steps(added), policy.Called(w.Set))
	case w.changed(ApprovedBy) && !w.allowsStamps():
		refusal = leaveOut(ApprovedBy)
	case w.changed(PausedBy) && !w.allowsPausedBy():
		refusal = leaveOut(PausedBy)
	default:
		refusal = w.unstamped(added)
	}
	return policy.Printable(refusal, maxRefusal)
}

func leaveOut(annotation string) string {
	return "annotation " + annotation + " is written by stepgate: leave it out"
}

// unstamped says which of the added entries has no stamp of this user.
func (w Write) unstamped(added []Entry) string {
	want, given := w.stamped(), known(w.New)
	for _, e := range added {
		if !w.allowsNew(given[e], want[e]) {
			return fmt.Sprintf("%s of annotation %s has no stamp in %s: the API server has not called stepgate's mutating "+
				"webhook, which writes it. "+
				"Next: write %s again, and if this lasts, run stepgate doctor", shown(e.String()), Approved, ApprovedBy, Approved)
		}
	}
	return ""
}

// changed reports whether the write sets an annotation to something else than it was.
func (w Write) changed(annotation string) bool {
	is, has := w.New[annotation]
	was, had := w.Old[annotation]
	return has && (!had || is != was)
}

// stamped are the stamps that the write has to leave.
func (w Write) stamped() stamps { return stamped(w.Old, w.New, w.User, w.At) }

// allowsStamps reports whether ApprovedBy says nothing else than it has to, in the form in which stepgate writes it.
func (w Write) allowsStamps() bool {
	given, err := readStamps(w.New[ApprovedBy])
	entries := entriesOf(w.New)
	if err != nil || given.written(entries) != w.New[ApprovedBy] {
		return false
	}
	want, added := w.stamped(), Added(w.Old, w.New)
	for e, s := range given {
		isNew := slices.Contains(added, e)
		if s != want[e] && (!isNew || !w.allowsNew(s, want[e])) {
			return false
		}
	}
	return true
}

// allowsNew reports whether a stamp is the new one that has to be, or differs from it no more than two calls do.
func (w Write) allowsNew(given, want stamp) bool {
	if want == (stamp{}) || !near(given.time(), w.At) {
		return false
	}
	given.At = want.At
	return given == want
}

// allowsPausedBy reports whether PausedBy says what it has to.
func (w Write) allowsPausedBy() bool {
	given, want := w.New[PausedBy], pausedBy(w.Old, w.New, w.User, w.At)
	if given == want {
		return true
	}
	if pauseKept(w.Old, w.New) || want == "" {
		return false
	}
	user, at := cutMoment(given)
	wanted, _ := cutMoment(want)
	return user == wanted && near(momentOf(at), w.At)
}

// cutMoment takes PausedBy apart. The name of a user may hold anything.
func cutMoment(text string) (user, at string) {
	i := strings.LastIndex(text, atMoment)
	if i < 0 {
		return text, ""
	}
	return text[:i], text[i+len(atMoment):]
}

// near reports whether a time that moment has written may be of another call about the same write.
func near(written, now time.Time) bool {
	return written.Sub(now.Truncate(time.Second)).Abs() <= tolerance
}

// steps names the steps of entries.
func (w Write) steps(entries []Entry) string {
	steps := make([]int, len(entries))
	for i, e := range entries {
		if steps[i] = e.Number - 1; w.Waves {
			steps[i] = policy.WaveStep(e.Number)
		}
	}
	return policy.StepNames(steps)
}
