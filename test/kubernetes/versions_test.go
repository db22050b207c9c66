// SPDX-License-Identifier: Apache-2.0

// Package kubernetes has the script that runs suites on other versions of Kubernetes (make kubernetes-versions).
package kubernetes

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	. "github.com/onsi/gomega"
)

// The script runs each suite with the API server of each version, prints a line for each, and fails if one fails. make
// and the API server are stand-ins.
func TestVersions(t *testing.T) {
	const suite = "#!/bin/sh\necho \"ran $* with $(basename $KUBEBUILDER_ASSETS)\"\n"
	for name, tc := range map[string]struct {
		make, says, suites string
		lines, errors      string
		code               int
	}{
		"all is well": {
			make: suite, says: "v1.28.15", suites: "one two", code: 0,
			lines: "kubernetes: version=v1.28.15 suite=one result=ok seconds=N\nkubernetes: version=v1.28.15 suite=two result=ok seconds=N\n",
		},
		"a suite fails, and the next one is run all the same": {
			make: suite + "[ $2 != one ]\n", says: "v1.28.15", suites: "one two", code: 1,
			lines:  "kubernetes: version=v1.28.15 suite=one result=failed seconds=N\nkubernetes: version=v1.28.15 suite=two result=ok seconds=N\n",
			errors: "ran --no-print-directory one with kubernetes-v1.28.15\nkubernetes: failed: one with v1.28.15\n",
		},
		"the program is of another version": {make: suite, says: "v1.29.1", suites: "one two", code: 1},
		"no suite is named":                 {make: suite, says: "v1.28.15", code: 1},
	} {
		t.Run(name, func(t *testing.T) {
			g, bin := NewWithT(t), t.TempDir()
			folder := filepath.Join(bin, "kubernetes-v1.28.15")
			g.Expect(os.Mkdir(folder, 0o755)).To(Succeed())
			program := func(path, text string) {
				g.Expect(os.WriteFile(path, []byte(text), 0o755)).To(Succeed())
			}
			program(filepath.Join(bin, "make"), tc.make)
			program(filepath.Join(folder, "kube-apiserver"), "#!/bin/sh\necho Kubernetes "+tc.says+"\n")
			command := exec.CommandContext(t.Context(), "./versions.sh", bin, tc.suites, "v1.28.15")
			command.Env = append(os.Environ(), "MAKE="+filepath.Join(bin, "make"))
			var stdout, stderr bytes.Buffer
			command.Stdout, command.Stderr = &stdout, &stderr
			_ = command.Run()
			g.Expect(command.ProcessState.ExitCode()).To(Equal(tc.code))
			g.Expect(regexp.MustCompile(`seconds=\d+`).ReplaceAllString(stdout.String(), "seconds=N")).To(Equal(tc.lines))
			if tc.errors != "" {
				g.Expect(stderr.String()).To(Equal(tc.errors))
			}
		})
	}
}

// With --results, the page says what the lines say, and why the run failed.
func TestResults(t *testing.T) {
	g, dir := NewWithT(t), t.TempDir()
	command := exec.CommandContext(t.Context(), "./versions.sh", "--results", dir, "bin", "integration")
	text, err := command.CombinedOutput()
	g.Expect(err).To(HaveOccurred(), string(text))
	page, err := os.ReadFile(filepath.Join(dir, "kubernetes.md"))
	g.Expect(err).NotTo(HaveOccurred(), string(text))
	g.Expect(string(page)).To(HavePrefix("# kubernetes: "))
	g.Expect(string(page)).To(ContainSubstring("| command | `./versions.sh bin integration` |\n"))
	g.Expect(string(page)).To(ContainSubstring("| result | FAILED: kubernetes: no version, or no suite |\n"))
}
