// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"fmt"

	"github.com/stepgate/stepgate/policy"
)

// Problem says what is wrong with an annotation, and what to do about it.
type Problem struct{ Annotation, Text string }

// Approvals are the approvals of an ApplicationSet in its annotations, and what is wrong with these. An entry without a
// stamp approves nothing.
func Approvals(annotations map[string]string, set *policy.ApplicationSet) (approvals []policy.Approval, problems []Problem) {
	text, has := annotations[Approved]
	if !has {
		return nil, nil
	}
	entries, wrong := Entries(text, set)
	for _, p := range wrong {
		problems = append(problems, Problem{Approved, p})
	}
	if len(entries) > maxEntries {
		problems = append(problems, Problem{
			Approved, fmt.Sprintf(
				"it has more than %d entries, and the others approve nothing: remove those that are no longer needed", maxEntries,
			),
		})
		entries = entries[:maxEntries]
	}
	all, err := readStamps(annotations[ApprovedBy])
	if err != nil {
		return nil, append(problems, Problem{ApprovedBy, err.Error() + ": remove both annotations, and approve again"})
	}
	unstamped := 0
	for _, e := range entries {
		s, is := all[e]
		if step, err := set.Step(e.Number); is && err == nil {
			approvals = append(approvals, policy.Approval{Step: step, What: e.What, By: s.By, At: s.time()})
		} else if unstamped++; unstamped <= maxProblems {
			problems = append(problems, Problem{
				Approved, fmt.Sprintf("%s has no stamp in %s, and approves nothing: remove the entry, and then write it again",
					shown(e.String()), ApprovedBy),
			})
		}
	}
	return approvals, problems
}
