package policy

import (
	"slices"
	"time"
)

// NotProven means that the target has to be found Healthy with what it runs before it goes on to something else that is
// not the newest.
const NotProven Reason = "NotProven"

// ProvingTime is for how long after a sync the target waits for the comparison that shows what came of that. Without one
// it goes on, and later steps have to wait for another revision.
const ProvingTime = 8 * time.Second

var notProven = waiting{
	row: row{
		reason: NotProven,
		level:  RequireRevision,
		when: "level `revision`: pinning is `qualified`, the operation is automated and names another revision than the " +
			"compared one, and the target, of a step before the last, was synced less than 8 s ago and has not been compared " +
			"since",
		message: func(d Decision) string {
			return d.of() + " may not sync before " + moment(d.NotBefore) +
				" (NotProven: it has just been synced, and has to be found Healthy before it goes on). Next: wait"
		},
	},
	denies: func(in *Input, d Decision) (denied Decision, ok bool) {
		d.NotBefore = in.proving()
		return d, !d.NotBefore.IsZero() && in.wantsOther() && d.Step > 0 && d.Step+1 < len(in.ApplicationSet.Steps)
	},
}

// proving is until when the target has to wait for the comparison that shows what came of its last sync; zero if there
// was one, or if it waits no longer.
func (in *Input) proving() (until time.Time) {
	t := &in.Target
	proven := slices.ContainsFunc(in.History.Past(t.Name).Completions, func(c Completion) bool {
		return c.OperatedAt.Equal(t.SyncStartedAt)
	})
	until = t.SyncFinishedAt.Add(ProvingTime)
	if !in.Settings.Train || !t.Operation.Automated || t.SyncStartedAt.IsZero() || proven || !in.Now.Before(until) {
		return time.Time{}
	}
	return until
}
