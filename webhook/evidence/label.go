// SPDX-License-Identifier: Apache-2.0

package evidence

import "strings"

const (
	// RevisionLabel is the label by which an object says which revision it speaks of.
	RevisionLabel = "stepgate.io/revision"
	// ForLabel is the label of an object that stepgate has created: the UID of the ApplicationSet for which it has done
	// so. It says nothing to any other one.
	ForLabel = "stepgate.io/for"
)

// longestLabel is how long the value of a label may be.
const longestLabel = 63

// LabelOf is the value of RevisionLabel for what is deployed, which is a text of policy.ApprovalOf: a commit or a chart
// version as it is, and of a digest, or of several sources, what comes after the last colon, cut to what a label holds.
func LabelOf(what string) string {
	value := what[strings.LastIndexByte(what, ':')+1:]
	value = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-' {
			return r
		}
		return '_' // such as the + of a chart's version
	}, value)
	return strings.Trim(value[:min(len(value), longestLabel)], "._-")
}
