// SPDX-License-Identifier: Apache-2.0

package skew

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// say has a process of the test print its clock.
const say = "STEPGATE_TEST_SAY_CLOCK"

func TestMain(m *testing.M) {
	if os.Getenv(say) != "" {
		began := time.Now()
		_, _ = os.Stdout.WriteString(began.Format(time.RFC3339Nano) + " " + time.Since(began).Truncate(time.Minute).String())
		return
	}
	os.Exit(m.Run())
}

func TestTheClockOfAProcess(t *testing.T) {
	for name, ahead := range map[string]time.Duration{
		"as it is": 0, "ahead": time.Second, "far ahead": time.Hour, "behind": -time.Second, "far behind": -30 * time.Hour,
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			command := exec.Command(os.Args[0])
			command.Env = append(os.Environ(), say+"=1")
			out, err := command.StdoutPipe()
			g.Expect(err).NotTo(HaveOccurred())
			before := time.Now()
			g.Expect(Start(command, ahead)).To(Succeed())
			text := make([]byte, 100)
			n, err := out.Read(text)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(command.Wait()).To(Succeed())
			after := time.Now()
			said, since, _ := strings.Cut(string(text[:n]), " ")
			at, err := time.Parse(time.RFC3339Nano, said)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(at.Add(-ahead)).To(And(BeTemporally(">=", before.Add(-time.Microsecond)), BeTemporally("<=", after)))
			g.Expect(since).To(Equal("0s"), "its timers go as always")
		})
	}
}
