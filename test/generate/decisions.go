// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"regexp"
	"strings"

	"github.com/stepgate/stepgate/policy"
)

// decisionsPage is the page with a section for each reason.
const decisionsPage = "docs/decisions.md"

// more is a mark in a section: what follows was written by hand.
const more = "<!-- more -->"

// heading begins a section, and ofReason one of a reason.
var (
	heading  = regexp.MustCompile(`(?m)^##+ `)
	ofReason = regexp.MustCompile(`^### (\w+)\n`)
)

// decisions is the page with what the rows of the rule say of their reasons.
func decisions() (string, error) {
	page, err := os.ReadFile(decisionsPage)
	if err != nil {
		return "", err
	}
	return saidByRows(string(page)), nil
}

func saidByRows(page string) string {
	starts := heading.FindAllStringIndex(page, -1)
	if len(starts) == 0 {
		return page
	}
	text := page[:starts[0][0]]
	for i, start := range starts {
		end := len(page)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		text += saidByRow(page[start[0]:end])
	}
	return text
}

func saidByRow(section string) string {
	match := ofReason.FindStringSubmatch(section)
	if match == nil {
		return section
	}
	means, do := policy.Reason(match[1]).Advice()
	if means == "" {
		return section // of something else
	}
	text := match[0] + "\n" + means
	if do != "" {
		text += " **Do:** " + do
	}
	if _, byHand, found := strings.Cut(section, more); found {
		text += "\n\n" + more + "\n\n" + strings.TrimSpace(byHand)
	}
	return text + "\n\n"
}
