// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/policy"
)

// TestWhatRowsSay replaces what a row says, and nothing else of the page.
func TestWhatRowsSay(t *testing.T) {
	means, do := policy.OperationFailed.Advice()
	said := "### OperationFailed\n\n" + means + " **Do:** " + do + "\n\n"
	first, _ := policy.FirstStep.Advice()
	for name, tc := range map[string]struct{ page, want string }{
		"old text":            {"# A\n\n## B\n\n### OperationFailed\n\nOld.\n\nOlder.\n\n## C\n\ntext\n", "# A\n\n## B\n\n" + said + "## C\n\ntext\n"},
		"a heading alone":     {"### OperationFailed\n", said},
		"what is by hand":     {"### OperationFailed\n\nOld.\n\n<!-- more -->\n\n- a\n\n### C\n", said + "<!-- more -->\n\n- a\n\n### C\n"},
		"nothing to do":       {"### FirstStep\n", "### FirstStep\n\n" + first + "\n\n"},
		"of something else":   {"### Excluding\n\ntext\n", "### Excluding\n\ntext\n"},
		"without any heading": {"text", "text"},
	} {
		t.Run(name, func(t *testing.T) { NewWithT(t).Expect(saidByRows(tc.page)).To(Equal(tc.want)) })
	}
}
