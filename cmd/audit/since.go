// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"fmt"
	"regexp"
	"strconv"
	"time"
)

var (
	days    = regexp.MustCompile(`^(?:([0-9]+)w)?(?:([0-9]+)d)?(.*)$`)
	perUnit = [...]time.Duration{7 * 24 * time.Hour, 24 * time.Hour}
)

// mostSince is the longest time to look back: 10 years.
const mostSince = 10 * 365 * 24 * time.Hour

// ParseSince reads a duration such as 2w, 7d, 1d12h or 90m. Weeks and days come before the units of Go.
func ParseSince(text string) (time.Duration, error) {
	parts := days.FindStringSubmatch(text)
	var total time.Duration
	for i, unit := range perUnit {
		if parts[i+1] == "" {
			continue
		}
		n, err := strconv.Atoi(parts[i+1])
		if err != nil || n > int(mostSince/unit) {
			return 0, fmt.Errorf("%q is longer than 10 years", text)
		}
		total += time.Duration(n) * unit
	}
	if rest := parts[3]; rest != "" {
		d, err := time.ParseDuration(rest)
		if err != nil {
			return 0, fmt.Errorf("%q is not a duration such as 2w, 7d, 24h or 90m", text)
		}
		total += d
	}
	if total <= 0 || total > mostSince {
		return 0, fmt.Errorf("%q is not a duration such as 2w, 7d, 24h or 90m", text)
	}
	return total, nil
}
