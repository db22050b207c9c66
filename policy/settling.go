package policy

import (
	"cmp"
	"time"
)

// SettlingTime is how long, unless Settings say otherwise, the ApplicationSet controller may take from one write of an Application to the
// next. It writes them one after the other, by name, and nothing in the ApplicationSet tells when a pass has ended (argo-cd v3.5.7,
// createOrUpdateInCluster in applicationset/controllers/applicationset_controller.go). A write may wait for other admission webhooks, and is
// given up after ten seconds.
const SettlingTime = 10 * time.Second

// unsettled reports whether the ApplicationSet controller may still have to create, adopt or change an Application of an earlier step, so that
// the siblings do not show yet what is to come. One that it cannot write is an error of the ApplicationSet, and holds back what has
// changed for as long as that lasts. So does a denial of the gate, for later steps: the spec came in the same write. For its own step it would hold
// back itself for ever. A revision is no change of the spec: it is not written.
func (in *Input) unsettled(d Decision) (denied Decision, is bool) {
	if d.Step == 0 || in.Settings.Require == RequireHealth {
		return d, false
	}
	last := in.Seen.Joined
	if in.changed() {
		last = latest(last, in.Seen.Respecified, in.Seen.ContentSince)
	}
	switch until := last.Add(cmp.Or(in.Settings.Settling, SettlingTime)); {
	case !last.IsZero() && in.Now.Before(until):
		d.Reason, d.NotBefore = SpecSettling, until
		return d, true
	case in.changed() && in.ApplicationSet.Failing != "" && in.ApplicationSet.FailingStep < d.Step:
		d.Reason, d.Detail = ApplicationSetFailing, Printable(in.ApplicationSet.Failing, maxText)
		return d, true
	}
	return d, false
}

func latest(times ...time.Time) time.Time {
	var last time.Time
	for _, t := range times {
		if t.After(last) {
			last = t
		}
	}
	return last
}
