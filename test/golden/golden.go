// SPDX-License-Identifier: Apache-2.0

// Package golden compares what a command prints with a file. docs/reference/screens.md shows some of the files. It is
// for tests only.
package golden

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/onsi/gomega"
)

// Update is the environment variable that has the files written anew.
const Update = "UPDATE_GOLDEN"

// Expect compares a text with testdata/NAME of the package under test.
func Expect(t *testing.T, name, text string) {
	t.Helper()
	g := gomega.NewWithT(t)
	path := filepath.Join("testdata", name)
	if os.Getenv(Update) != "" {
		g.Expect(os.MkdirAll("testdata", 0o755)).To(gomega.Succeed())
		g.Expect(os.WriteFile(path, []byte(text), 0o644)).To(gomega.Succeed())
	}
	want, err := os.ReadFile(path)
	g.Expect(err).NotTo(gomega.HaveOccurred(), "run the test with %s=1 to write it", Update)
	g.Expect(text).To(gomega.Equal(string(want)), "%s is out of date: look at the difference, and run the test with %s=1",
		path, Update)
}
