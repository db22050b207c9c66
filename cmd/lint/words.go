// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// maxNames bounds the names that a message lists.
const maxNames = 4

// names lists names, sorted, and counts those that are too many.
func names(all []string) string {
	all = slices.Sorted(slices.Values(all))
	if len(all) > maxNames {
		return fmt.Sprintf("%s and %d more", strings.Join(all[:maxNames], ", "), len(all)-maxNames)
	}
	return and(all)
}

// and joins texts: a, b and c.
func and(all []string) string {
	if len(all) < 2 {
		return strings.Join(all, "")
	}
	return strings.Join(all[:len(all)-1], ", ") + " and " + all[len(all)-1]
}

// stepNames are the 1-based numbers of steps: "step 2", "steps 1 and 3".
func stepNames(steps []int) string {
	var all []string
	for _, step := range steps {
		all = append(all, strconv.Itoa(step+1))
	}
	if len(all) == 1 {
		return "step " + all[0]
	}
	return "steps " + and(all)
}

// count is a number of things.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// capital begins a sentence with a word of lint. A name stays as it is.
func capital(text string) string {
	if rest, ok := strings.CutPrefix(text, "some "); ok {
		return "Some " + rest
	}
	if rest, ok := strings.CutPrefix(text, "an Application"); ok {
		return "An Application" + rest
	}
	return text
}

// isAre is the verb for a number of things.
func isAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// short bounds a text from an object, and takes out what a terminal would obey.
func short(text string) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
	if runes := []rune(text); len(runes) > 80 {
		return string(runes[:79]) + "…"
	}
	return text
}
