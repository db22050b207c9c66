// SPDX-License-Identifier: Apache-2.0

package act

import (
	"strconv"
	"strings"

	"github.com/stepgate/stepgate/cmd/dashboard"
)

// CommandOf is the command line that does the same; empty if there is none.
func CommandOf(a dashboard.Action) string {
	if a.Verb == dashboard.Refresh {
		return ""
	}
	words := []string{"stepgate", string(a.Verb), quoted(a.Name), "-n", quoted(a.Namespace)}
	if number := a.Number(); number != nil {
		words = append(words, "--step", strconv.Itoa(*number))
	}
	if a.Revision != "" {
		words = append(words, "--revision", quoted(a.Revision))
	}
	if a.Reason != "" {
		words = append(words, "--reason", quoted(a.Reason))
	}
	return strings.Join(words, " ")
}
