// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"slices"
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
	// Verify is what has to be said yes to what is deployed.
	Verify Verify
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

// Window says whether the sync windows of a project let the target sync. The zero value does.
type Window struct {
	Closed bool
	// OpensAt is when it opens; zero when that is not known.
	OpensAt time.Time
	// Detail names the window that closes it, such as "deny 0 8 * * * for 2h".
	Detail string
}
