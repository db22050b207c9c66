// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/cluster"
	"github.com/stepgate/stepgate/webhook/ledger"
	"github.com/stepgate/stepgate/webhook/slots"
)

// numberIn is a number of a source file whose constant has no name outside its package.
func numberIn(g Gomega, file, pattern string) int {
	found := regexp.MustCompile(pattern).FindStringSubmatch(read(g, file))
	g.Expect(found).To(HaveLen(2), "%s has nothing like %s", file, pattern)
	number, err := strconv.Atoi(found[1])
	g.Expect(err).NotTo(HaveOccurred())
	return number
}

// Pages repeat some facts. Each of them is the one of the code.
func TestFactsThatPagesRepeat(t *testing.T) {
	g := NewWithT(t)
	for fact, row := range map[string]struct {
		says  string // with the number
		is    int
		least int // pages that say so
	}{
		"the share of the webhook's time that a decision gets": {
			says: `(\d+)\s+%\s+of\s+(?:the\s+time|them|` + "`webhook.timeoutSeconds`)",
			is:   10 * numberIn(g, "webhook/server/http.go", `timeout\*(\d+)/10`), least: 3,
		},
		"the Applications of a namespace from which on the write barrier is used": {
			says: `namespaces?\s+(?:of|with|has)\s+more\s+than\s+(\d+)\s+Applications`, is: cluster.ShortList, least: 3,
		},
		"the KiB of an annotation": {
			says: `(?:each\s+up\s+to|has\s+at\s+most)\s+(\d+)\s+KiB`, is: argocd.MostText >> 10, least: 2,
		},
		"the seconds after which a pass has settled": {
			says: `(?:changed|step)\s+(?:for|less\s+than)\s+(\d+)\s+s\b`, is: int(policy.SettlingTime.Seconds()), least: 2,
		},
		"the milliseconds for which a judgment is taken over": {
			says: `less\s+than\s+(\d+)\s+ms\s+old`,
			is:   numberIn(g, "webhook/passes.go", `passTTL = (\d+) \* time\.Millisecond`), least: 1,
		},
	} {
		found := map[string]bool{}
		for page, text := range pages(g) {
			for _, match := range regexp.MustCompile(row.says).FindAllStringSubmatch(text, -1) {
				g.Expect(match[1]).To(Equal(fmt.Sprint(row.is)), "%s: %s: %q", page, fact, match[0])
				found[page] = true
			}
		}
		g.Expect(len(found)).To(BeNumerically(">=", row.least), "%s: found in %v", fact, found)
	}
}

// What stepgate's program creates stays when the chart goes.
func TestWhatIsLeftAfterUninstall(t *testing.T) {
	g := NewWithT(t)
	page := read(g, "docs/uninstall.md")
	reporter := regexp.MustCompile(`"(stepgate\.io/notifications)"`).FindStringSubmatch(read(g, "cmd/notify/store.go"))
	g.Expect(reporter).To(HaveLen(2))
	for _, label := range []string{ledger.Label, slots.Label, reporter[1]} {
		g.Expect(page).To(ContainSubstring(label))
	}
	for _, kind := range []string{"ConfigMap", "Lease", "Event", "AnalysisRun", "Secret", "Pod"} {
		g.Expect(page).To(ContainSubstring(kind))
	}
}

// alone are words about Applications without an ApplicationSet.
var alone = regexp.MustCompile(`(?i)without\s+an\s+ApplicationSet|that\s+no\s+ApplicationSet\s+controls|neither\s+an\s+ApplicationSet`)

// An Application alone is gated if it says after what it comes, and only then. Who writes about it says so.
func TestPagesAgreeAboutApplicationsAlone(t *testing.T) {
	g, found := NewWithT(t), 0
	for page, text := range pages(g) {
		for paragraph := range strings.SplitSeq(text, "\n\n") {
			if alone.MatchString(paragraph) && page != "CHANGELOG.md" {
				found++
				g.Expect(paragraph).To(MatchRegexp(`stepgate\.io/after|after\.md|comes\s+after|\*\*alone\*\*|\| alone \|`), page)
			}
		}
	}
	g.Expect(found).To(BeNumerically(">=", 3))
}
