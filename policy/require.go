// SPDX-License-Identifier: Apache-2.0

package policy

import "fmt"

// Require is how much an Application of an earlier step has to show before it counts as done. The zero value is the
// strictest.
type Require int

const (
	// RequireRevision asks for everything: also that it was compared with what the target is about to deploy.
	RequireRevision Require = iota
	// RequireCompleted asks for the same, but that it is Synced: it may stay OutOfSync on purpose if its last sync
	// deployed what is compared, or if nothing is left to do but to prune.
	RequireCompleted
	// RequireHealth asks only that it exists, was reconciled, is Healthy, and has no operation in progress.
	RequireHealth
)

// ParseRequire reads "health", "completed" or "revision". On any other text it returns the strictest,
// RequireRevision, together with an error that names the valid values.
func ParseRequire(s string) (Require, error) {
	for _, r := range []Require{RequireRevision, RequireCompleted, RequireHealth} {
		if s == r.String() {
			return r, nil
		}
	}
	return RequireRevision, fmt.Errorf("%q is not one of health, completed, revision", s)
}

// String is the text that ParseRequire reads.
func (r Require) String() string {
	switch r {
	case RequireCompleted:
		return "completed"
	case RequireHealth:
		return "health"
	case RequireRevision:
	}
	return "revision"
}

// asks reports whether a row of a level counts: a level includes the rows of those before it.
func (r Require) asks(level Require) bool {
	return level == RequireHealth || r != RequireHealth
}
