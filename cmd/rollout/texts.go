// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
)

// selector is a step's expressions as text, as in "env In (dev, qa)".
func selector(step policy.Step) string {
	if len(step) == 0 {
		return "everything"
	}
	var all []string
	for _, e := range step {
		all = append(all, fmt.Sprintf("%s %s (%s)", e.Key, e.Operator, strings.Join(e.Values, ", ")))
	}
	return strings.Join(all, " and ")
}

func revisionsOf(compared []policy.Source) []string {
	var all []string
	for _, s := range compared {
		all = append(all, s.Revision)
	}
	return all
}

// revisions are all revisions of the Applications, the most frequent one first.
func revisions(owned []*argocd.Projection) []string {
	count := map[string]int{}
	for _, p := range owned {
		if p.Application.SyncStatus == "Unknown" {
			continue
		}
		for _, s := range p.Application.Compared {
			if s.Revision != "" {
				count[s.Revision]++
			}
		}
	}
	all := make([]string, 0, len(count))
	for r := range count {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b)) })
	return all
}
