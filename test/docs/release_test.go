// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"os/exec"
	"path/filepath"
	"regexp"
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
