// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// triedBy are the rows of the tables of SECURITY.md by their first cells, and the tests that try them on a real API
// server, in test/integration and in test/chart.
var triedBy = map[string][]string{
	"a user of Argo CD without a bypass": {"TestAUserHasNoWayRound", "TestTricksAreNoWayRound", "TestEveryWriteFormIsJudged"},
	"a user in `config.bypassUsers`":     {"TestABypassIsNeverSilent", "TestABypassInASyncIsHonouredOnlyFromArgocdServer"},
	"whoever may edit an ApplicationSet": {"TestWhatAnApplicationSetSwitchesOffIsShown", "TestTheApplicationSetsAnnotationsWin"},

	"whoever may edit an Application directly": {"TestAFalseStatusIsBelieved"},
	"whoever may label a namespace":            {"TestANamespaceThatIsSwitchedOffIsShown"},
	"a Pod that reaches the webhook's port": {
		"TestARequestAboutAnApplicationThatDoesNotExistHasNoEffect", "TestAStrangerKeepsNoSlot", "TestOnlyTheAPIServerMayCall",
	},
	"stepgate's service account, if its token is stolen": {
		"TestAStolenToken", "TestTheAccountWritesNothingButTheRefreshAnnotation", "TestPermissions",
	},
	"a stepgate that is taken over": {
		"TestBothWebhooksGetTheSameWrites", "TestWritesThatAreNoOperationWritesNeverReachTheWebhook",
		"TestOrdinaryWritesOfApplicationSetsAreNotSent",
	},

	"ask for a refresh of any gated Application": {
		"TestTheAccountWritesNothingButTheRefreshAnnotation", "TestTheAccountWritesOnlyTheSyncsThatStepgateStarts",
	},
	"start a full sync":           {"TestTheAccountWritesOnlyTheSyncsThatStepgateStarts", "TestWhatIsDueIsStarted"},
	"terminate an automated sync": {"TestTheAccountTerminatesOnlyRetries"},
	"start another sync":          {"TestTheAccountWritesOnlyTheSyncsThatStepgateStarts", "TestTheAccountWritesNothingButTheRefreshAnnotation"},
	"hold the Lease":              {"TestAStolenTokenWithMore"},
	"`config.maxUpdate`":          {"TestAStolenTokenWithMore"},
	"`config.ledger`":             {"TestAStolenTokenWithMore"},
	"`config.verify.create`":      {"TestAStolenTokenWithMore"},
	"`notifications.enabled`":     {"TestTheAccountThatTellsPeopleWritesOneConfigMap"},
	"`ui.actions.enabled`":        {"TestAStolenTokenOfTheReporter"},
}

// firstCells are those of the rows of all tables of a page, without the heads.
func firstCells(page string) (cells []string) {
	head := true
	for line := range strings.Lines(page) {
		switch {
		case !strings.HasPrefix(line, "|"):
			head = true
		case strings.HasPrefix(line, "|---"):
			head = false
		case !head:
			cells = append(cells, strings.TrimSpace(strings.Split(line, "|")[1]))
		}
	}
	return cells
}

// tests are the names of the tests of folders.
func tests(g Gomega, folders ...string) map[string]bool {
	names := map[string]bool{}
	for _, folder := range folders {
		files, err := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
		g.Expect(err).NotTo(HaveOccurred())
		for _, file := range files {
			text, err := os.ReadFile(file)
			g.Expect(err).NotTo(HaveOccurred())
			for _, match := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllStringSubmatch(string(text), -1) {
				names[match[1]] = true
			}
		}
	}
	return names
}

// TestEveryRowOfTheSecurityPageIsTried on a real API server: a row that nobody tries is a promise that nobody keeps.
func TestEveryRowOfTheSecurityPageIsTried(t *testing.T) {
	g := NewWithT(t)
	exist := tests(g, "test/integration", "test/chart")
	rows := firstCells(read(g, "SECURITY.md"))
	g.Expect(len(rows)).To(BeNumerically(">", 10))
	tried := maps.Clone(triedBy)
	for _, row := range rows {
		of := slices.DeleteFunc(slices.Collect(maps.Keys(triedBy)), func(begin string) bool {
			return !strings.HasPrefix(row, begin)
		})
		g.Expect(of).To(HaveLen(1), "no test, or more than one entry, says who tries: %s", row)
		delete(tried, of[0])
		for _, name := range triedBy[of[0]] {
			g.Expect(exist).To(HaveKey(name), "who tries: %s", row)
		}
	}
	g.Expect(tried).To(BeEmpty(), "no row of SECURITY.md begins like this")
}
