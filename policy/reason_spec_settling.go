package policy

import (
	"cmp"
	"time"
)

// SpecSettling means that the ApplicationSet controller may still be writing.
const SpecSettling Reason = "SpecSettling"

var specSettling = waiting{
	row: row{
		reason: SpecSettling,
		level:  RequireRevision,
		when: "level above `health`: an Application has appeared in the ApplicationSet or come to another step less " +
			"than 10 s ago (`--spec-settling`), or the steps have changed, or the target has a change of its spec and the " +
			"spec of one was written",
		message: func(d Decision) string {
			return d.of() + " may not sync before " + moment(d.NotBefore) +
				" (SpecSettling: the ApplicationSet controller may still be writing its Applications). Next: wait"
		},
	},
	denies: func(in *Input, d Decision) (denied Decision, ok bool) {
		last := in.History.Joined
		if in.changed() {
			last = latest(last, in.History.Respecified, in.History.ContentSince)
		}
		until := last.Add(in.Settings.settling())
		d.NotBefore = until
		return d, d.Step > 0 && !last.IsZero() && in.Now.Before(until)
	},
}

// SettlingTime is how long, unless Settings say otherwise, the ApplicationSet controller may take from one write of an
// Application to the next. It writes them one after the other, by name, and nothing in the ApplicationSet tells when a
// pass has ended (argo-cd v3.5.7, createOrUpdateInCluster in applicationset/controllers/applicationset_controller.go).
// A write may wait for other admission webhooks, and is given up after ten seconds.
const SettlingTime = 10 * time.Second

// settling is SettlingTime, or what the Settings say.
func (s *Settings) settling() time.Duration { return cmp.Or(s.Settling, SettlingTime) }

func latest(times ...time.Time) time.Time {
	var last time.Time
	for _, t := range times {
		if t.After(last) {
			last = t
		}
	}
	return last
}
