// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"cmp"
	"time"
)

// NotGenerated means that the ApplicationSet controller has not written what an Application of
// an earlier step is to be.
const NotGenerated Reason = "NotGenerated"

// notCreated is about a sibling that does not exist. Nothing of it can be looked at: Input.missing finds it.
var notCreated = row{
	reason: NotGenerated,
	means: "The ApplicationSet controller has not written what the Applications of " +
		"earlier steps are to be.",
	do:    "usually nothing.",
	level: RequireHealth,
	when: "the ApplicationSet's status records it under an earlier step, but it does not exist (unless that is " +
		"being deleted)",
	short: "the ApplicationSet lists it, but it does not exist yet",
	next:  "wait until the ApplicationSet controller has created APP",
}

// notGenerated denies a change of the spec that Applications of earlier steps may still get. An error of the
// ApplicationSet holds it back for as long as that lasts. So does a denial of the gate, for later steps: the spec came in
// the same write. For its own step it would hold back itself for ever. A revision is no change of the spec: it is not
// written.
var notGenerated = waiting{
	row: row{
		reason: NotGenerated,
		level:  RequireRevision,
		when: "level `revision`: an Application has appeared or changed its step less than 10 s ago " +
			"(`--spec-settling`), or the steps have; or the target's spec has changed in a controller's pass " +
			"that goes on, or the ApplicationSet has ErrorOccurred, not by a denial of this step or a later one",
	},
	denies: func(in *Input, d Decision) (denied Decision, ok bool) {
		if until := in.settled(); d.Step > 0 && in.Now.Before(until) {
			d.NotBefore, d.Next = until, justWait
			d.Detail = "the ApplicationSet controller may still be writing its Applications"
			if in.ApplicationSet.Parent() {
				d.Detail = "a sync of the parent may still be writing its children"
			}
			return d, true
		}
		if in.ApplicationSet.Failing == "" || !in.changed() || in.ApplicationSet.FailingStep >= d.Step {
			return d, false
		}
		namespace, name := d.set()
		d.Detail = "the ApplicationSet reports an error, and may not have written an Application of an earlier step: " +
			Printable(in.ApplicationSet.Failing, maxText)
		d.Next = "repair the ApplicationSet: kubectl get applicationset " + name + " -n " + namespace + " -o yaml"
		return d, true
	},
}

// settled is when the ApplicationSet controller is done with what it has begun to write, as far as the target is
// concerned; zero if it has not been seen to write.
func (in *Input) settled() (until time.Time) {
	last := in.History.Joined
	switch {
	case !in.changed():
	case in.History.PassEnded:
		last = latest(last, in.History.AroundSince)
	default:
		last = latest(last, in.History.Respecified)
		if !in.History.ByAnother {
			last = latest(last, in.History.ContentSince)
		}
	}
	if last.IsZero() {
		return last
	}
	return last.Add(in.Settings.settling())
}

// SettlingTime is how long, unless Settings say otherwise, the ApplicationSet controller may take from one write of an
// Application to the next, where it is not known that its pass has ended. It writes them one after the other, by name
// (argo-cd v3.5.7, createOrUpdateInCluster in applicationset/controllers/applicationset_controller.go). A write may wait
// for other admission webhooks, and is given up after ten seconds.
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
