package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

// screensPage is the page that shows what the commands print.
const screensPage = "docs/cli.md"

// shown is a mark in the page, and the block after it, which is what a test has seen the command print.
var shown = regexp.MustCompile("(?s)<!-- golden: ([^ ]+) -->\n```text\n.*?```\n")

// screens is the page with the blocks as the goldens are now.
func screens() (string, error) {
	page, err := os.ReadFile(screensPage)
	if err != nil {
		return "", err
	}
	var failed error
	text := shown.ReplaceAllStringFunc(string(page), func(block string) string {
		path := shown.FindStringSubmatch(block)[1]
		golden, err := os.ReadFile(path)
		if err != nil {
			failed = err
		}
		return fmt.Sprintf("<!-- golden: %s -->\n```text\n%s\n```\n", path, strings.Trim(string(golden), "\n"))
	})
	if marks, blocks := strings.Count(text, "<!-- golden:"), len(shown.FindAllString(text, -1)); failed == nil &&
		marks != blocks {
		failed = fmt.Errorf("%s: %d of %d marks have no block after them", screensPage, marks-blocks, marks)
	}
	return text, failed
}
