// SPDX-License-Identifier: Apache-2.0

package process

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"
)

func start(t *testing.T, script string) *Process {
	command := exec.Command("sh", "-c", script)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p, err := Start("it", command, filepath.Join(t.TempDir(), "log"), (*exec.Cmd).Start)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return p
}

func TestWaitGivesUpWhenTheProcessEnds(t *testing.T) {
	g := NewWithT(t)
	err := start(t, "echo no such port; exit 1").Wait(t.Context(), func() error { return errors.New("refused") })
	g.Expect(err).To(MatchError(And(ContainSubstring("it does not answer"), ContainSubstring("it has ended"),
		ContainSubstring("no such port"))))
}

func TestStopGroupEndsChildren(t *testing.T) {
	g := NewWithT(t)
	p := start(t, "sleep 600 & echo $!; wait")
	g.Eventually(p.end).Should(MatchRegexp(`^\d+\n$`))
	child := "/proc/" + strings.TrimSpace(p.end()) + "/cmdline"
	g.Expect(p.Wait(t.Context(), func() error { return nil })).To(Succeed())
	// Until the child runs sleep, its command is the one of its parent.
	g.Eventually(func() ([]byte, error) { return os.ReadFile(child) }).Should(BeEquivalentTo("sleep\x00600\x00"))
	p.StopGroup()
	g.Eventually(func() string { // it is empty or gone once the child has ended
		text, _ := os.ReadFile(child)
		return string(text)
	}).Should(BeEmpty())
}
