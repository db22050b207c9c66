// SPDX-License-Identifier: Apache-2.0

package render

import "strings"

// Nearest is the name that a misspelt one probably stands for, or "".
func Nearest(text string, all []string) string {
	best, least := "", 4
	for _, candidate := range all {
		if d := distance(strings.ToLower(text), strings.ToLower(candidate)); d < least {
			best, least = candidate, d
		}
	}
	return best
}

// distance is the number of letters to insert, remove or replace; texts of more than 100 letters are far from each
// other.
func distance(a, b string) int {
	if max(len(a), len(b)) > 100 {
		return 100
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
