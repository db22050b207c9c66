// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/policy"
)

// TestEveryReasonHasARow fails when a Reason is added without a row that wants it, and names it.
func TestEveryReasonHasARow(t *testing.T) {
	// TestARepetitionIsAllowed has the one that the rule denies nothing for.
	wanted := map[policy.Reason]bool{policy.AlreadySynced: true}
	for _, row := range rows() {
		wanted[row.wantReason] = true
	}
	for _, row := range afterRows() {
		d := row.decide()
		wanted[d.Reason] = true
		for _, b := range d.Blockers {
			wanted[b.Reason] = true
		}
	}
	var missing []policy.Reason
	for _, reason := range policy.Reasons() {
		if !wanted[reason] {
			missing = append(missing, reason)
		}
	}
	NewWithT(t).Expect(missing).To(BeEmpty(), "no row of the tables wants these")
}

// TestReasonsListsEveryReason compares Reasons with the constants in the source, of which each has a file of its own.
// One that is in no list of the rule is never looked for.
func TestReasonsListsEveryReason(t *testing.T) {
	g := NewWithT(t)
	files, err := filepath.Glob("reason_*.go")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(files).NotTo(BeEmpty())
	constant := regexp.MustCompile(`(?m)^const (\w+) Reason = "(\w+)"$`)
	var declared []policy.Reason
	for _, file := range files {
		text, err := os.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		found := constant.FindAllStringSubmatch(string(text), -1)
		g.Expect(found).To(HaveLen(1), "%s is the file of one reason", file)
		g.Expect(found[0][1]).To(Equal(found[0][2]), "a Reason's text is its name")
		g.Expect(strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(file, "reason_"), ".go"), "_",
			"")).To(Equal(strings.ToLower(found[0][1])))
		declared = append(declared, policy.Reason(found[0][1]))
	}
	g.Expect(policy.Reasons()).To(ConsistOf(declared))
}

// TestEveryRowIsWorded wants what the tables of the pages show.
func TestEveryRowIsWorded(t *testing.T) {
	g := NewWithT(t)
	writes, siblingsAt := policy.WriteRows()
	g.Expect(writes[siblingsAt-1].Reason).To(Equal(policy.NotPinned), "the siblings are asked after it")
	for _, r := range append(writes, policy.SiblingRows()...) {
		g.Expect(r.When).NotTo(BeEmpty(), string(r.Reason))
	}
	for _, r := range policy.SiblingRows() {
		g.Expect(r.Short).NotTo(BeEmpty(), string(r.Reason))
	}
}

// TestEveryReasonIsDocumented reads the page that operators are sent to.
func TestEveryReasonIsDocumented(t *testing.T) {
	g := NewWithT(t)
	page, err := os.ReadFile("../docs/decisions.md")
	g.Expect(err).NotTo(HaveOccurred())
	headings := map[string]bool{}
	for line := range strings.Lines(string(page)) {
		headings[strings.TrimSpace(line)] = true
	}
	var missing []policy.Reason
	for _, reason := range policy.Reasons() {
		if !headings["### "+string(reason)] {
			missing = append(missing, reason)
		}
	}
	g.Expect(missing).To(BeEmpty(), `docs/decisions.md has no heading "### <Reason>" for these`)
}
