// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// pathOfPage is a page as somebody names it who has a checkout.
var pathOfPage = regexp.MustCompile(`(^|[^/\w])(docs/)?[a-z-]+\.md\b`)

// Who reads a message has the program and no checkout: a message names the address of a page (screen.Page), and no path.
func TestMessagesNameAddressesOfPages(t *testing.T) {
	g := NewWithT(t)
	for _, room := range []string{"cmd", "webhook", "policy", "certs"} {
		g.Expect(filepath.WalkDir(filepath.Join(root, room), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			name, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			g.Expect(pathsOfPages(file)).To(BeEmpty(), name)
			return nil
		})).To(Succeed())
	}
}

// pathsOfPages are the strings of a file that name a page by its path, but for the arguments of screen.Page, and for
// Advice: TestAdvice of cmd/rollout sees that nobody gets its links.
func pathsOfPages(file *ast.File) (found []string) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch node := n.(type) {
		case *ast.CallExpr:
			called, is := node.Fun.(*ast.SelectorExpr)
			return !is || called.Sel.Name != "Page"
		case *ast.KeyValueExpr: // rows of the rule have the Markdown of docs/decisions.md
			key, is := node.Key.(*ast.Ident)
			return !is || key.Name != "means" && key.Name != "do"
		case *ast.BasicLit:
			text, err := strconv.Unquote(node.Value)
			if err == nil && pathOfPage.MatchString(text) {
				found = append(found, text)
			}
		}
		return true
	})
	return found
}
