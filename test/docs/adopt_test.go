// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// TestEveryAlertIsSomebodys compares the table of docs/adopt.md with the alerts of the chart, and their severities with
// who is paged.
func TestEveryAlertIsSomebodys(t *testing.T) {
	g := NewWithT(t)
	_, table, _ := strings.Cut(read(g, "docs/adopt.md"), "| alert | who |")
	table, _, _ = strings.Cut(table, "\n\n")
	who := map[string]string{}
	for _, row := range strings.Split(table, "\n") {
		for _, alert := range regexp.MustCompile(`Stepgate\w+`).FindAllString(row, -1) {
			g.Expect(who).NotTo(HaveKey(alert))
			who[alert] = row
		}
	}
	alerts := regexp.MustCompile(`### (Stepgate\w+)\n\n[^\n]*\((critical|warning|info)`).
		FindAllStringSubmatch(read(g, "docs/reference/alerts.md"), -1)
	g.Expect(len(alerts)).To(BeNumerically(">", 10))
	for _, alert := range alerts {
		paged := strings.Contains(who[alert[1]], "| page ")
		g.Expect(who).To(HaveKey(alert[1]))
		g.Expect(paged).To(Equal(alert[2] == "critical"), "%s is %s", alert[1], alert[2])
		delete(who, alert[1])
	}
	g.Expect(who).To(BeEmpty(), "no such alerts")
}
