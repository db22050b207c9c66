// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"strings"

	"github.com/stepgate/stepgate/policy"
)

func believed(r policy.Recorded) *Believed {
	b := &Believed{Status: "Waiting", Step: r.Step, Revisions: r.Revisions, Since: timeOf(r.TransitionedAt)}
	switch {
	case r.Healthy:
		b.Status = "Healthy"
	case r.Started:
		b.Status = "Progressing"
	case r.Pending:
		b.Status = "Pending"
	}
	return b
}

// differs says how the record of the ApplicationSet controller differs from the truth where that makes it start later
// steps too early, or not at all.
func differs(r policy.Recorded, a *policy.Application, shown *Application, step int) string {
	switch {
	case r.Step == -1:
		return ""
	case r.Step != step+1:
		return fmt.Sprintf("believes that it is in step %d", r.Step)
	case r.Healthy && !shown.Done && shown.ends != policy.CompareSettled:
		return "believes that it is done" + at(r.Revisions)
	case r.Healthy && r.Behind(a.Compared):
		return "believes that it is Healthy" + at(r.Revisions)
	case (r.Pending || r.Started) && !r.Healthy && len(shown.WaitsFor) > 0 && shown.Waits == "":
		return "believes that its turn has come"
	case r.Started && !r.Healthy && shown.Done && !shown.Syncing:
		return "believes that it is still Progressing"
	}
	return ""
}

func at(revisions []string) string {
	if len(revisions) == 0 {
		return ""
	}
	var all []string
	for _, r := range revisions {
		all = append(all, policy.Short(r))
	}
	return " at " + strings.Join(all, ", ")
}
