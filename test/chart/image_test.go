// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

var copied = regexp.MustCompile(`(?m)^COPY ([^-].*) (\S+)$`)

// The Dockerfile copies everything that its build needs, and .dockerignore lets it through. The image itself needs a
// container engine.
func TestTheImagesBuildHasAllThatItNeeds(t *testing.T) {
	g := NewWithT(t)
	text, err := os.ReadFile(filepath.Join(shared.Root, "Dockerfile"))
	g.Expect(err).NotTo(HaveOccurred())
	ignore, err := os.ReadFile(filepath.Join(shared.Root, ".dockerignore"))
	g.Expect(err).NotTo(HaveOccurred())
	dir := t.TempDir()
	for _, match := range copied.FindAllStringSubmatch(string(text), -1) {
		for _, name := range strings.Fields(match[1]) {
			g.Expect(strings.Split(string(ignore), "\n")).To(ContainElement("!" + name))
			command := exec.CommandContext(t.Context(), "cp", "-r", "--parents", name, dir)
			command.Dir = shared.Root
			log, err := command.CombinedOutput()
			g.Expect(err).NotTo(HaveOccurred(), string(log))
		}
	}
	out := filepath.Join(dir, "stepgate-webhook")
	build := exec.CommandContext(t.Context(), "make", "build-webhook", "WEBHOOK="+out, "VERSION=v9.8.7", "COMMIT=c0ffee")
	build.Dir = dir
	log, err := build.CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), string(log))
	version, err := exec.CommandContext(t.Context(), out, "version").Output()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(version)).To(HavePrefix("stepgate v9.8.7, commit c0ffee, go"))
}
