// SPDX-License-Identifier: Apache-2.0

// Package vulncheck tests that `make vulncheck` tells a vulnerability from none, and from a database that it cannot
// read.
package vulncheck

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// TestVulncheck runs `make vulncheck` with a database that knows nothing, with one that knows a vulnerability in a
// function that the package calls, and with one that cannot be reached. CI runs it with the real database.
func TestVulncheck(t *testing.T) {
	const known = `{"id": "GO-0000-0001", "summary": "made up", "affected": [{
		"package": {"name": "stdlib", "ecosystem": "Go"}, "ranges": [{"type": "SEMVER", "events": [{"introduced": "0"}]}],
		"ecosystem_specific": {"imports": [{"path": "strings", "symbols": ["Join"]}]}}],
		"database_specific": {"url": "https://example.com/GO-0000-0001"}}`
	for name, tc := range map[string]struct {
		database  func(dir string) string
		files     map[string]string
		wantError bool
		want      string
	}{
		"no vulnerability":       {want: "No vulnerabilities found."},
		"a function is affected": {files: map[string]string{"GO-0000-0001.json": known}, wantError: true, want: "calls strings.Join"},
		"no network": {
			database:  func(string) string { return "http://127.0.0.1:1" },
			wantError: true, want: "vulncheck: govulncheck did not finish, and nothing was checked. It needs the network: it reads http://127.0.0.1:1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			dir := t.TempDir()
			for file, text := range tc.files {
				g.Expect(os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600)).To(Succeed())
			}
			database := "file://" + dir
			if tc.database != nil {
				database = tc.database(dir)
			}
			command := exec.CommandContext(t.Context(), "make", "--no-print-directory", "vulncheck", "VULNDB="+database,
				"VULNCHECK=./policy")
			command.Dir = "../.."
			text, err := command.CombinedOutput()
			g.Expect(err != nil).To(Equal(tc.wantError), string(text))
			g.Expect(string(text)).To(ContainSubstring(tc.want))
			g.Expect(strings.Contains(string(text), "nothing was checked")).To(Equal(tc.database != nil))
		})
	}
}
