// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/stepgate/stepgate/policy"
)

// rulePage is the page with tables of the rule.
const rulePage = "docs/rule.md"

// ruleTable is a mark in a page, and the table after it.
var ruleTable = regexp.MustCompile("<!-- rule: ([a-z-]+) -->\n\n(?:\\|[^\n]*\n)*")

// ruleTables are the tables, by their marks.
var ruleTables = map[string]func() []string{
	"writes": writes, "siblings": siblingRows,
}

// rule is the page with the tables as the rule is now.
func rule() (string, error) {
	page, err := os.ReadFile(rulePage)
	if err != nil {
		return "", err
	}
	var failed error
	text := ruleTable.ReplaceAllStringFunc(string(page), func(block string) string {
		mark := ruleTable.FindStringSubmatch(block)[1]
		table, known := ruleTables[mark]
		if !known {
			failed = fmt.Errorf("%s: there is no table %q", rulePage, mark)
			return block
		}
		return fmt.Sprintf("<!-- rule: %s -->\n\n%s\n", mark, strings.Join(table(), "\n"))
	})
	if failed == nil && !strings.Contains(text, "<!-- rule:") {
		failed = fmt.Errorf("%s has no table of the rule", rulePage)
	}
	return text, failed
}

// writes are the rows about a write and its target.
func writes() []string {
	lines := []string{"| # | condition | reason | outcome |", "|---|---|---|---|"}
	add := func(when, reason, outcome string) {
		lines = append(lines, fmt.Sprintf("| %d | %s | %s | %s |", len(lines)-1, when, reason, outcome))
	}
	rows, siblingsAt := policy.WriteRows()
	for i, r := range rows {
		if i == siblingsAt {
			add("an earlier sibling is not done (next table)", "the first blocker's reason", "deny")
		}
		reason, outcome := string(r.Reason), strings.ReplaceAll(r.Outcome.String(), "_", " ")
		if r.Reason == policy.EarlierStepsDone {
			reason += ", or " + string(policy.FirstStep)
		}
		if r.Reason == policy.AlreadySynced {
			outcome = "hold"
		}
		if r.Recorded {
			outcome += ", recorded"
		}
		add(r.When, reason, outcome)
	}
	return lines
}

// siblingRows are the rows about a sibling of an earlier step.
func siblingRows() []string {
	lines := []string{"| # | the sibling is not done if | reason | level |", "|---|---|---|---|"}
	for i, r := range policy.SiblingRows() {
		when := strings.Join(append([]string{r.When}, r.Lacks...), "<br>")
		lines = append(lines, fmt.Sprintf("| %d | %s | %s | %s |", i+1, when, r.Reason, r.Level))
	}
	return lines
}

// eachOnce are the rows with the last one of each reason, which is the strictest.
func eachOnce(rows []policy.Row) []policy.Row {
	var last []policy.Row
	for i, r := range rows {
		if !slices.ContainsFunc(rows[i+1:], func(later policy.Row) bool { return later.Reason == r.Reason }) {
			last = append(last, r)
		}
	}
	return last
}
