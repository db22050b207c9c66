package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"
)

// Conditions are what the steps of an ApplicationSet wait for beside the order. The zero value waits for nothing.
type Conditions struct {
	// Paused are the steps in which nothing new starts, and PausedWhy says why and by whom, if that is known.
	Paused    Steps
	PausedWhy string
	// Soak is how long the earlier steps have to prove themselves.
	Soak Soak
	// Approve are the steps that need an approval, and Approved are the approvals that there are.
	Approve  Steps
	Approved []Approval
	// FourEyes says that nobody approves what they have started.
	FourEyes bool
	// MaxFailures is how many Applications of a step may fail before its rest is held; nil means any number.
	MaxFailures *Budget
}

// Steps are some of the steps of an ApplicationSet.
type Steps struct {
	// All says that every step is among them, and Of are 0-based numbers.
	All bool
	Of  []int
}

// Has reports whether a 0-based step is among them.
func (s Steps) Has(step int) bool { return s.All && step >= 0 || slices.Contains(s.Of, step) }

// Soak is how long every Application of the earlier steps has to be deployed and Healthy before a step starts.
type Soak struct {
	// Every is the time for each step after the first that Of, by 0-based step, does not name.
	Every time.Duration
	Of    map[int]time.Duration
	// Unreadable says that the configuration cannot be read: later steps then wait until it is repaired.
	Unreadable bool
}

// Before is the time before a 0-based step.
func (s Soak) Before(step int) time.Duration {
	if step <= 0 {
		return 0
	}
	if of, named := s.Of[step]; named {
		return of
	}
	return s.Every
}

// Budget is how many Applications of a step may fail.
type Budget struct {
	// Most is a number of Applications, or with Percent a share of those of the step, of which fractions do not count.
	Most    int
	Percent bool
}

// Of is the number of Applications that may fail, of so many.
func (b Budget) Of(applications int) int {
	if b.Percent {
		return applications * b.Most / 100
	}
	return b.Most
}

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

// Window says whether the sync windows of a project let the target sync. The zero value does.
type Window struct {
	Closed bool
	// OpensAt is when it opens; zero when that is not known.
	OpensAt time.Time
	// Detail names the window that closes it, such as "deny 0 8 * * * for 2h".
	Detail string
}

// sourcesPrefix begins the text of ApprovalOf for several sources.
const sourcesPrefix = "sources:"

// ApprovalOf is the text that stands for sources at their revisions in an approval: the revision if there is one source, else a hash of
// all. It is empty where a revision is not known.
func ApprovalOf(sources []Source) string {
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
