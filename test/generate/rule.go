package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/stepgate/stepgate/policy"
)

// rulePages are the pages with tables of the rule.
var rulePages = []string{"docs/rule.md", "docs/decisions.md"}

// ruleTable is a mark in a page, and the table after it.
var ruleTable = regexp.MustCompile("<!-- rule: ([a-z-]+) -->\n\n(?:\\|[^\n]*\n)*")

// ruleTables are the tables, by their marks.
var ruleTables = map[string]func() []string{
	"writes": writes, "siblings": siblings, "siblings-in-short": siblingsInShort,
}

// rule is a page with the tables as the rule is now.
func rule(path string) (string, error) {
	page, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	var failed error
	text := ruleTable.ReplaceAllStringFunc(string(page), func(block string) string {
		mark := ruleTable.FindStringSubmatch(block)[1]
		table, known := ruleTables[mark]
		if !known {
			failed = fmt.Errorf("%s: there is no table %q", path, mark)
			return block
		}
		return fmt.Sprintf("<!-- rule: %s -->\n\n%s\n", mark, strings.Join(table(), "\n"))
	})
	if failed == nil && !strings.Contains(text, "<!-- rule:") {
		failed = fmt.Errorf("%s has no table of the rule", path)
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
		if r.Recorded {
			outcome += ", recorded"
		}
		add(r.When, reason, outcome)
	}
	return lines
}

// siblings are the rows about a sibling of an earlier step.
func siblings() []string {
	lines := []string{"| # | the sibling is not done if | reason | level | stale |", "|---|---|---|---|---|"}
	for i, r := range policy.SiblingRows() {
		stale := ""
		if r.Stale {
			stale = "yes "
		}
		lines = append(lines, fmt.Sprintf("| %d | %s | %s | %s | %s|", i+1, r.When, r.Reason, r.Level, stale))
	}
	return lines
}

// siblingsInShort has each reason once, with the strictest level of its rows.
func siblingsInShort() []string {
	rows := policy.SiblingRows()
	level := map[policy.Reason]policy.Require{}
	for _, r := range rows {
		level[r.Reason] = r.Level
	}
	lines := []string{"| reason | level | in one line |", "|---|---|---|"}
	for i, r := range rows {
		if later := rows[i+1:]; !has(later, r.Reason) {
			lines = append(lines, fmt.Sprintf("| [%s](#%s) | %s | %s |", r.Reason, strings.ToLower(string(r.Reason)),
				level[r.Reason], r.Short))
		}
	}
	return lines
}

func has(rows []policy.Row, reason policy.Reason) bool {
	for _, r := range rows {
		if r.Reason == reason {
			return true
		}
	}
	return false
}
