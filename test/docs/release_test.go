package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"
)

func TestReleaseCheck(t *testing.T) {
	g := NewWithT(t)
	check := func(tag string) (string, error) {
		command := exec.CommandContext(t.Context(), "make", "--no-print-directory", "release-check", "TAG="+tag)
		command.Dir = root
		text, err := command.CombinedOutput()
		return string(text), err
	}
	var c struct{ Version, AppVersion string }
	g.Expect(yaml.Unmarshal([]byte(read(g, "charts/stepgate/Chart.yaml")), &c)).To(Succeed())
	g.Expect(c.AppVersion).To(Equal(c.Version))
	text, err := check("v" + c.Version)
	g.Expect(err).NotTo(HaveOccurred(), text)
	for _, wrong := range []string{"v99.0.0", c.Version + "-rc1", ""} {
		text, err = check(wrong)
		g.Expect(err).To(HaveOccurred(), wrong)
		g.Expect(text).To(ContainSubstring("is not v and the version of charts/stepgate/Chart.yaml"))
	}
	g.Expect(read(g, ".github/workflows/release.yaml")).To(ContainSubstring(`make release-check TAG="$TAG"`))
}

// TestVulncheck runs `make vulncheck` with a database that knows nothing, with one that knows a vulnerability in a function that the
// package calls, and with one that cannot be reached. CI runs it with the real database.
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
			command := exec.CommandContext(t.Context(), "make", "--no-print-directory", "vulncheck", "VULNDB="+database, "VULNCHECK=./policy")
			command.Dir = root
			text, err := command.CombinedOutput()
			g.Expect(err != nil).To(Equal(tc.wantError), string(text))
			g.Expect(string(text)).To(ContainSubstring(tc.want))
			g.Expect(strings.Contains(string(text), "nothing was checked")).To(Equal(tc.database != nil))
		})
	}
}

// TestActionsArePinned wants a commit, and the version that it is, for every action.
func TestActionsArePinned(t *testing.T) {
	g := NewWithT(t)
	paths, err := filepath.Glob(filepath.Join(root, ".github/workflows/*.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(paths).NotTo(BeEmpty())
	for _, path := range paths {
		name, err := filepath.Rel(root, path)
		g.Expect(err).NotTo(HaveOccurred())
		for _, use := range regexp.MustCompile(`(?m)uses: (.*)$`).FindAllStringSubmatch(read(g, name), -1) {
			g.Expect(use[1]).To(MatchRegexp(`^[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`), name)
		}
	}
}
