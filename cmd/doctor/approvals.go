// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/stepgate/stepgate/webhook/record"
)

// approvals checks the webhooks of a release for ApplicationSets, where the configurations exist: other checks say that
// one does not. That they carry stepgate's CA is a part of its readiness.
func (f *Facts) approvals(r *Installation) []Check {
	var checks []Check
	if r.Validating != nil {
		checks = append(checks, r.approval())
	}
	if r.Mutating != nil {
		checks = append(checks, r.stamps())
	}
	return in(r.subject(), "Approvals", checks...)
}

func (r *Installation) approval() Check {
	const name = "approval"
	switch w := r.Approval; {
	case w == nil:
		return problem(name, "The webhook %s is missing: everybody who may write an ApplicationSet can approve its steps, "+
			"and in the name of anybody.", ApprovalWebhook).
			do("Install the chart again.").by(r.upgrade())
	case w.Webhook.FailurePolicy != nil && *w.Webhook.FailurePolicy != admissionv1.Fail:
		return warning(name, "%s: while stepgate does not answer, everybody who may write an ApplicationSet can approve "+
			"in the name of anybody.", *w.Webhook.FailurePolicy).
			do("Install the chart again.").by(r.upgrade())
	case !w.honoursSwitch():
		return r.switchless(name)
	}
	return ok(name, "stepgate refuses approvals in somebody else's name.")
}

func (r *Installation) stamps() Check {
	const name = "annotations"
	switch w := r.Stamps; {
	case w == nil:
		return problem(name, "The webhook %s is missing: nobody can approve, and pauses do not say who has set them.",
			AnnotationsWebhook).do("Install the chart again.").by(r.upgrade())
	case !w.honoursSwitch():
		return r.switchless(name)
	}
	return ok(name, "stepgate writes down who approves and who pauses.")
}

func (r *Installation) switchless(name string) Check {
	return warning(name, "The namespaceSelector lacks %s: the emergency switch does nothing.",
		record.IgnoreLabel).do("Install the chart again.").by(r.upgrade())
}
