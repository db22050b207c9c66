// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/stepgate/stepgate/webhook/settings"
)

// webhooks checks both webhooks of an installation.
func (f *Facts) webhooks(r *Installation) []Check {
	return slices.Concat(
		in(r.subject(), "Validating webhook", f.registration(r, r.Validating, r.validatingExists())...),
		in(r.subject(), "Mutating webhook", f.registration(r, r.Mutating, r.mutatingExists())...),
	)
}

func (f *Facts) registration(r *Installation, w *Registration, exists Check) []Check {
	if w == nil {
		return []Check{exists}
	}
	return []Check{
		exists, w.rules(r), w.conditions(r), w.selectors(f, r), w.failurePolicy(r), w.timeout(r), w.options(r),
		w.bundle(f, r),
	}
}

func (r *Installation) validatingExists() Check {
	if r.Validating == nil {
		return problem("registered", "The ValidatingWebhookConfiguration %s is missing: nothing is refused, and every "+
			"sync goes through.", r.Name).do("Install the chart again.").by(r.upgrade())
	}
	return ok("registered", "ValidatingWebhookConfiguration %s.", r.Name)
}

// mutatingExists says whether the mutating webhook exists where it has to.
func (r *Installation) mutatingExists() Check {
	const name = "registered"
	switch {
	case r.MutatingErr != nil:
		return notRead(name, "the MutatingWebhookConfiguration", r.MutatingErr)
	case r.Mutating == nil && r.Flags == nil:
		return r.unsettled(name)
	case r.Mutating == nil:
		return problem(name, "The MutatingWebhookConfiguration %s is missing: no sync is pinned or held, and stepgate "+
			"denies every automated sync of step 2 and later (NotPinned).", r.Name).
			do("Install the chart again.").by(r.upgrade())
	}
	return ok(name, "MutatingWebhookConfiguration %s.", r.Name)
}

// rules says whether the API server sends every create and every update of an Application.
func (r *Registration) rules(of *Installation) Check {
	covers := func(list []string, want string) bool {
		return slices.Contains(list, want) || slices.Contains(list, "*")
	}
	var missing []string
	for _, operation := range []admissionv1.OperationType{admissionv1.Create, admissionv1.Update} {
		if !slices.ContainsFunc(r.Webhook.Rules, func(rule admissionv1.RuleWithOperations) bool {
			return covers(rule.APIGroups, "argoproj.io") && covers(rule.APIVersions, "v1alpha1") &&
				covers(rule.Resources, "applications") &&
				(slices.Contains(rule.Operations, operation) || slices.Contains(rule.Operations, admissionv1.OperationAll)) &&
				(rule.Scope == nil || *rule.Scope != admissionv1.ClusterScope)
		}) {
			missing = append(missing, string(operation))
		}
	}
	if len(missing) > 0 {
		return problem("rules", "They leave out %s of applications.argoproj.io v1alpha1: such a sync is not gated.",
			list(missing)).do("Install the chart again.").by(of.upgrade())
	}
	return ok("rules", "Every CREATE and UPDATE of an Application.")
}

// failurePolicy says what happens while stepgate does not answer.
func (r *Registration) failurePolicy(of *Installation) Check {
	const name = "failure policy"
	policy := admissionv1.Fail
	if r.Webhook.FailurePolicy != nil {
		policy = *r.Webhook.FailurePolicy
	}
	switch {
	case r.Reinvocation != nil && policy == admissionv1.Fail:
		return warning(name, "Fail: while stepgate does not answer, syncs are refused that the validating webhook would "+
			"judge.").do("The chart has Ignore for the mutating webhook. Install it again.").by(of.upgrade())
	case r.Reinvocation != nil:
		return ok(name, "Ignore, as the chart has it: the validating webhook judges the sync.")
	case of.Flags == nil:
		return of.unsettled(name)
	case of.Flags.Gate.Mode == settings.Enforce && policy == admissionv1.Ignore:
		return warning(name, "Ignore: while stepgate does not answer, every sync goes through, in any order.").
			do("Set it back to Fail, unless you prefer availability to order.").by(of.upgrade("webhook.failurePolicy=Fail"))
	case of.Flags.Gate.Mode == settings.Audit && policy == admissionv1.Fail:
		return warning(name, "Fail in audit mode: stepgate refuses nothing, but while it does not answer, all syncs are "+
			"refused.").by(of.upgrade("webhook.failurePolicy=Ignore"))
	case policy == admissionv1.Ignore:
		return ok(name, "Ignore, as audit mode has it.")
	}
	return ok(name, "Fail: while stepgate does not answer, no sync goes through.")
}

// The limits of timeoutSeconds. A decision takes milliseconds, but a connection to a new replica and a slow API server
// take longer.
const (
	shortestTimeout = 2
	longestTimeout  = 10
)

func (r *Registration) timeout(of *Installation) Check {
	const name = "timeout"
	seconds := int32(10) // the API server's default
	if r.Webhook.TimeoutSeconds != nil {
		seconds = *r.Webhook.TimeoutSeconds
	}
	value := "webhook.timeoutSeconds=5"
	switch {
	case seconds < shortestTimeout:
		return warning(name, "%d s: a decision may not be ready in time, and the failure policy then decides.",
			seconds).by(of.upgrade(value))
	case seconds > longestTimeout:
		return warning(name, "%d s: while stepgate does not answer, every sync hangs for that long.", seconds).
			by(of.upgrade(value))
	}
	return ok(name, "%d s.", seconds)
}

// options checks the fields that the chart always writes in the same way.
func (r *Registration) options(of *Installation) Check {
	var wrong []string
	if p := r.Webhook.MatchPolicy; p != nil && *p != admissionv1.Equivalent {
		wrong = append(wrong, fmt.Sprintf("matchPolicy is %s: a write in another version of the API is not gated", *p))
	}
	if slices.ContainsFunc(r.Webhook.Rules, func(rule admissionv1.RuleWithOperations) bool {
		return slices.Contains(rule.APIVersions, "*")
	}) {
		wrong = append(wrong, "apiVersions is *: a write in another version of the API is not converted")
	}
	if s := r.Webhook.SideEffects; s == nil || *s != admissionv1.SideEffectClassNoneOnDryRun {
		wrong = append(wrong, "sideEffects is not NoneOnDryRun")
	}
	if p := r.Reinvocation; p != nil && *p != admissionv1.IfNeededReinvocationPolicy {
		wrong = append(wrong, "reinvocationPolicy is not IfNeeded: a mutating webhook that is called later can undo the "+
			"pin, and the sync is then denied")
	}
	if len(wrong) > 0 {
		return warning("options", "%s.", capital(strings.Join(wrong, "; "))).
			do("Install the chart again.").by(of.upgrade())
	}
	fields := []string{"matchPolicy", "sideEffects"}
	if r.Reinvocation != nil {
		fields = append(fields, "reinvocationPolicy")
	}
	return ok("options", "%s are as the chart has them.", list(fields))
}

// capital is a text with a capital letter first, unless its first word is the name of a field.
func capital(text string) string {
	word, _, _ := strings.Cut(text, " ")
	if text == "" || strings.ToLower(word) != word {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}
