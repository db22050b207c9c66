package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Approval is an approval of one step for what is about to be deployed.
type Approval struct {
	// Step is 0-based.
	Step int
	// What is the text of ApprovalOf.
	What string
	// By is the user whom the API server had authenticated, and At is when.
	By string
	At time.Time
}

// sourcesPrefix begins the text of ApprovalOf for several sources.
const sourcesPrefix = "sources:"

// DryPrefix begins the key of the dry source of a hydrated Application.
const DryPrefix = "dry "

func isDry(s Source) bool { return strings.HasPrefix(s.Key, DryPrefix) }

// ApprovalOf is the text that stands for sources at their revisions in an approval: the revision if there is one source, else a hash of
// all. It is empty where a revision is not known. A dry source does not count: an operation deploys what it was hydrated to, and names that
// alone.
func ApprovalOf(sources []Source) string {
	sources = slices.DeleteFunc(slices.Clone(sources), isDry)
	lines := make([]string, 0, len(sources))
	for _, s := range sources {
		if s.Revision == "" {
			return ""
		}
		lines = append(lines, s.Key+"\x00"+s.Revision+"\n")
	}
	switch len(lines) {
	case 0:
		return ""
	case 1:
		return sources[0].Revision
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "")))
	return sourcesPrefix + hex.EncodeToString(sum[:16])
}

// notApproved reports whether the step needs an approval that there is not.
func (in *Input) notApproved(d Decision) (denied Decision, is bool) {
	c := &in.Settings.Conditions
	if !c.Approve.Has(d.Step) {
		return d, false
	}
	what := ApprovalOf(in.Target.Wanted)
	d.Reason, d.Detail = NotApproved, strconv.Itoa(d.Step+1)+"@"+Printable(what, maxText)
	switch {
	case in.Target.Operation.Foreign:
		d.Detail = "the operation brings manifests or sources of its own, which cannot be approved"
		return d, true
	case what == "":
		d.Detail = "the operation does not say which revision it deploys"
		return d, true
	}
	for _, approval := range c.Approved {
		if approval.Step != d.Step || approval.What != what {
			continue
		}
		switch {
		case in.predates(approval):
			d.Detail += ", which was approved before the spec of " + clean(in.Target.Name) + " changed"
		case c.FourEyes && in.started(d.Step, approval.By):
			d.Detail += ", which " + clean(approval.By) + " has approved, who has also started it"
		default:
			return d, false
		}
	}
	return d, true
}

// predates reports whether the target has got its spec since an approval was given, and has not deployed it yet: what was approved are the
// revisions of another spec.
func (in *Input) predates(approval Approval) bool {
	return in.changed() && !approval.At.After(in.Seen.ContentSince)
}

// started reports whether a user starts this sync by hand, or has started one of an earlier step that deployed the same.
func (in *Input) started(step int, user string) bool {
	return in.StartedBy == user || slices.ContainsFunc(in.Siblings, func(a Sibling) bool {
		return in.isEarlier(a, step) && a.LastSync.By == user && a.LastSync.AtCompared
	})
}
