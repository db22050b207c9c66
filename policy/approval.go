// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
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

// ApprovalOf is the text that stands for sources at their revisions in an approval: the revision if there is one
// source, else a hash of all. It is empty if a revision is not known. A dry source does not count: an operation
// deploys what it was hydrated to, and names that alone.
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
