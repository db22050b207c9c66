// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// NotApproved means that nobody has approved what would be deployed.
const NotApproved Reason = "NotApproved"

var notApproved = waiting{
	row: row{
		reason: NotApproved,
		means: "The annotation `stepgate.io/approve` names this step, and nobody has approved what the sync would " +
			"deploy. The text has the approval that is missing, such as `4@REVISION`.",
		do:        "let somebody who may approve it run `stepgate approve` ([who may](conditions.md#approve)).",
		level:     RequireHealth,
		when:      "its step needs an approval of what it deploys, and there is none",
		condition: true,
		words: func(d Decision) (text, next string) {
			return d.of() + " is not approved (NotApproved: " + d.Detail + ")", "stepgate approve " + d.flags()
		},
	},
	denies: (*Input).notApproved,
}

// notApproved reports whether the step needs an approval that there is not.
func (in *Input) notApproved(d Decision) (denied Decision, ok bool) {
	c := &in.Settings.Conditions
	if !c.Approve.Has(d.Step) {
		return d, false
	}
	what := ApprovalOf(in.Target.Wanted)
	d.Detail = strconv.Itoa(StepNumber(d.Step)) + "@" + Printable(what, maxText)
	switch {
	case in.Target.Operation.Foreign:
		d.Detail = "the operation brings manifests or sources of its own, which cannot be approved"
		return d, true
	case what == "":
		d.Detail = "the operation does not say which revision it deploys"
		return d, true
	}
	for _, approval := range c.Approved {
		if approval.Step != d.Step || approval.What != what {
			continue
		}
		switch {
		case in.predates(approval.At):
			d.Detail += ", which was approved before the spec of " + clean(in.Target.Name) + " changed"
		case c.FourEyes && in.started(d.Step, approval.By):
			d.Detail += ", which " + clean(approval.By) + " has approved, who has also started it"
		default:
			return d, false
		}
	}
	return d, true
}

// predates reports whether the target has got its spec since a moment, and has not deployed it yet: what was approved or
// found out then are the revisions of another spec.
func (in *Input) predates(at time.Time) bool {
	return in.changed() && !at.After(in.History.ContentSince)
}

// Respecified is since when the target has a spec that it has not deployed yet; zero if it has deployed it.
func (in *Input) Respecified() time.Time {
	if !in.changed() {
		return time.Time{}
	}
	return in.History.ContentSince
}

// ArgoCDUser begins the name of whoever approves in Argo CD's UI. The rest is the name that Argo CD gives who starts a
// sync.
const ArgoCDUser = "argocd:"

// started reports whether a user starts this sync by hand, or has started one of an earlier step that deployed the
// same.
func (in *Input) started(step int, user string) bool {
	user = strings.TrimPrefix(user, ArgoCDUser)
	return in.StartedBy == user || slices.ContainsFunc(in.Siblings, func(a Sibling) bool {
		c, completed := in.completion(a.Application)
		return in.isEarlier(a, step) && (a.LastSync.By == user && a.LastSync.AtCompared || completed && c.By == user)
	})
}
