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
		t := &in.Target
		d.NotBefore = t.SyncFinishedAt.Add(ProvingTime)
		proven := slices.ContainsFunc(in.History.Past(t.Name).Completions, func(c Completion) bool {
			return c.OperatedAt.Equal(t.SyncStartedAt)
		})
		return d, in.Settings.Train && t.Operation.Automated && !t.SyncStartedAt.IsZero() && !proven && in.wantsOther() &&
			d.Step > 0 && d.Step+1 < len(in.ApplicationSet.Steps) && in.Now.Before(d.NotBefore)
	},
}
