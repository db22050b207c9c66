package policy_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/policy"
)

// TestEveryReasonHasARow fails when a Reason is added without a row that wants it, and names it.
func TestEveryReasonHasARow(t *testing.T) {
	wanted := map[policy.Reason]bool{}
	for _, row := range rows() {
		wanted[row.wantReason] = true
	}
	var missing []policy.Reason
	for _, reason := range policy.Reasons() {
		if !wanted[reason] {
			missing = append(missing, reason)
		}
	}
	NewWithT(t).Expect(missing).To(BeEmpty(), "no row of the tables wants these")
}

// TestReasonsListsEveryReason compares Reasons with the constants in the source.
func TestReasonsListsEveryReason(t *testing.T) {
	g := NewWithT(t)
	file, err := parser.ParseFile(token.NewFileSet(), "reason.go", nil, parser.SkipObjectResolution)
	g.Expect(err).NotTo(HaveOccurred())
	var declared []policy.Reason
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Names) != 1 || len(spec.Values) != 1 {
			return true
		}
		if kind, ok := spec.Type.(*ast.Ident); !ok || kind.Name != "Reason" {
			return true
		}
		literal, ok := spec.Values[0].(*ast.BasicLit)
		g.Expect(ok).To(BeTrue(), "%s is not a plain text", spec.Names[0].Name)
		text, err := strconv.Unquote(literal.Value)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(text).To(Equal(spec.Names[0].Name), "a Reason's text is its name")
		declared = append(declared, policy.Reason(text))
		return true
	})
	g.Expect(declared).NotTo(BeEmpty(), "nothing was found in reason.go: does this test still read it rightly?")
	// The order too: metric label values and docs follow it.
	g.Expect(policy.Reasons()).To(Equal(declared))
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
