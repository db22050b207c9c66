// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"errors"
	"testing"
	"time"

	"github.com/onsi/gomega"

	"github.com/stepgate/stepgate/test/process"
	"github.com/stepgate/stepgate/test/report"
)

// Record is a table of how fast a page is with many Applications.
type Record struct{ page *report.Page }

// NewRecord begins a section of test/results/browser.md, which ends with the test.
func NewRecord(t *testing.T, results *report.Results, section string) *Record {
	t.Helper()
	page, err := results.Page(report.Suite{
		Name: "browser", Title: "pages with many Applications, in a real Chromium: is a frame late?", Section: section,
	})
	gomega.NewWithT(t).Expect(err).NotTo(gomega.HaveOccurred())
	t.Cleanup(func() {
		var problem error
		if t.Failed() {
			problem = errors.New("the output of the test says why")
		}
		load, err := process.LoadAverage()
		gomega.NewWithT(t).Expect(err).NotTo(gomega.HaveOccurred())
		page.Line("\nThe load average over 1, 5 and 15 minutes was %s at the end.", load)
		gomega.NewWithT(t).Expect(page.Close(problem)).To(gomega.Succeed())
	})
	page.Line("| Applications | all tiles are there after | longest frame while one of them changes |\n|---|---|---|")
	return &Record{page}
}

// Add adds a row.
func (r *Record) Add(applications int, opened, longest time.Duration) {
	r.page.Line("| %d | %.1f s | %d ms |", applications, opened.Seconds(), longest.Milliseconds())
}
