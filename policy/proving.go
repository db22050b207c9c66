// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"slices"
	"time"
)

// ProvingTime is for how long after a sync the target waits for the comparison that shows what came of that. Without one
// it goes on, and later steps have to wait for another revision.
const ProvingTime = 8 * time.Second

// proving is until when the target has to wait for the comparison that shows what came of its last sync; zero if there
// was one, or if it waits no longer.
func (in *Input) proving() (until time.Time) {
	t := &in.Target
	proven := slices.ContainsFunc(in.History.Past(t.Name).Completions, func(c Completion) bool {
		return !c.Doubted && c.OperatedAt.Equal(t.SyncStartedAt)
	})
	until = t.SyncFinishedAt.Add(ProvingTime)
	if !in.Settings.Candidates || !t.Operation.Automated || t.SyncStartedAt.IsZero() || proven || !in.Now.Before(until) {
		return time.Time{}
	}
	return until
}
