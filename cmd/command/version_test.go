// SPDX-License-Identifier: Apache-2.0

package command

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"testing"

	. "github.com/onsi/gomega"
)

func TestBuildOf(t *testing.T) {
	recorded := &debug.BuildInfo{
		Main: debug.Module{Version: "v0.9.0"}, Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}},
	}
	modified := &debug.BuildInfo{
		Settings: append(recorded.Settings, debug.BuildSetting{Key: "vcs.modified", Value: "true"}),
	}
	for name, tc := range map[string]struct {
		version, commit string
		info            *debug.BuildInfo
		want            string
	}{
		"stamped":                     {"v1.2.3", "0123", recorded, "stepgate v1.2.3, commit 0123"},
		"not stamped":                 {"", "", recorded, "stepgate v0.9.0, commit abc"},
		"only the commit was stamped": {"", "0123", modified, "stepgate (devel), commit 0123"},
		"from a modified work tree":   {"", "", modified, "stepgate (devel), commit abc-dirty"},
		"nothing is known":            {"", "", nil, "stepgate (devel), commit unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(buildOf(tc.version, tc.commit, tc.info).String()).To(Equal(
				tc.want + ", " + runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH))
		})
	}
}

// The names that the Makefile gives to the linker are those of the variables.
func TestTheVersionIsStamped(t *testing.T) {
	g := NewWithT(t)
	binary := filepath.Join(t.TempDir(), "stepgate")
	build := exec.CommandContext(t.Context(), "make", "--no-print-directory", "-C", "../..", "build", "STEPGATE="+binary,
		"VERSION=v9.8.7", "COMMIT=c0ffee")
	text, err := build.CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), string(text))
	out, err := exec.CommandContext(t.Context(), binary, "version").Output()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(out)).To(HavePrefix("stepgate v9.8.7, commit c0ffee, go"))
}
