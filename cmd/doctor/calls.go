// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"slices"
	"strings"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/cmd/screen"
	"github.com/stepgate/stepgate/webhook"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/settings"
)

// Attempts are the two server dry-runs of a release.
type Attempts struct {
	// Application is the one that they are about: NAMESPACE/NAME. It is empty if there is none to try with, and Why
	// then says why.
	Application, Why string
	// Refuse creates a copy of it that has never been compared, with an operation. In enforce mode with a pin, stepgate
	// always denies that.
	Refuse Attempt
	// Pin writes an automated operation without a revision to it.
	Pin Attempt
}

// Attempt is the answer of the API server to a server dry-run.
type Attempt struct {
	Warnings []string
	// Operation is what it would have stored.
	Operation *argo.Operation
	Err       error
}

const auditWarning = "stepgate (audit mode)"

// calls says whether the API server calls both webhooks, and gets the answers that it should.
func (f *Facts) calls(r *Installation) []Check {
	const group = "Calls of the API server (dry-runs)"
	var checks []Check
	if f.SelfTest != nil && r.gated(f.SelfTest.Namespace) {
		checks = append(checks, f.selfTest(r))
	}
	if a := r.Attempts; a != nil && a.Application == "" {
		checks = append(checks, unknown("early sync", "Not tried: %s.",
			a.Why).do("Try it with an ApplicationSet that the selftest creates and deletes:",
			"stepgate doctor --selftest NAMESPACE"))
	} else if a != nil {
		checks = append(checks, r.refused(a), r.pinned(a))
	}
	return in(r.subject(), group, checks...)
}

func (f *Facts) selfTest(r *Installation) Check {
	if err := f.SelfTest.Err; err != nil {
		if c := r.failed("selftest", err); c != nil {
			return *c
		}
		return problem("selftest", "Failed: %s.",
			oneLine(err.Error())).do("See the other checks, and " +
			screen.Page("docs/runbook.md#stepgatenotcalled"))
	}
	return ok("selftest", "Passed: %s.", oneLine(f.SelfTest.Passed))
}

// failed is the check for an answer that is a failure of the call, else nil.
func (r *Installation) failed(name string, err error) *Check {
	if err == nil {
		return nil
	}
	failure := Classify(err.Error())
	var c Check
	switch {
	case failure.Cause == Denied && (failure.Webhook == ValidatingWebhook || failure.Webhook == MutatingWebhook):
		return nil
	case failure.Cause == NoRight:
		c = notRead(name, "the answer", err)
	case failure.Cause == Other && failure.Webhook == "":
		c = unknown(name, "The dry-run failed, and not by stepgate: %s.",
			oneLine(err.Error())).do("Try again, or with --selftest NAMESPACE.")
	case failure.Webhook != "" && failure.Webhook != ValidatingWebhook && failure.Webhook != MutatingWebhook:
		c = unknown(name, "Another webhook, %s, stopped the dry-run: %s.", failure.Webhook,
			oneLine(err.Error())).do("Repair that webhook, then try again.")
	default:
		meaning, cure := r.explain(failure.Cause)
		c = cure
		c.Name, c.Result = name, Problem
		c.Found = fmt.Sprintf("The API server gets no answer: %s. It says: %s.", meaning, oneLine(err.Error()))
	}
	return &c
}

// refused says whether a sync that is too early is refused.
func (r *Installation) refused(a *Attempts) Check {
	const name = "early sync"
	if c := r.failed(name, a.Refuse.Err); c != nil {
		return *c
	}
	said := strings.Join(a.Refuse.Warnings, "; ")
	switch {
	case a.Refuse.Err != nil:
		return ok(name, "stepgate refuses one of a copy of %s.", a.Application)
	case r.Flags == nil:
		return r.unsettled(name)
	case r.Flags.Gate.Mode == settings.Audit && strings.Contains(said, auditWarning):
		return ok(name, "stepgate warns of one of a copy of %s, as audit mode does.", a.Application)
	case r.Flags.Gate.Mode == settings.Audit:
		return unknown(name, "Not shown: a sync of a copy of %s went through, and nothing had to be refused.", a.Application).
			do("Try it with an ApplicationSet that the selftest creates and deletes:",
				"stepgate doctor --selftest "+namespaceOf(a.Application))
	}
	return problem(name, "The API server lets one of a copy of %s through: it does not call the validating webhook, or "+
		"gets no answer, and the failure policy is Ignore.", a.Application).
		do("See the checks of the validating webhook and of the replicas, and " +
			screen.Page("docs/runbook.md#stepgatenotcalled"))
}

func namespaceOf(application string) string {
	namespace, _, _ := strings.Cut(application, "/")
	return namespace
}

// pinned says whether the mutating webhook is called, and pins.
func (r *Installation) pinned(a *Attempts) Check {
	const name = "pin"
	if c := r.failed(name, a.Pin.Err); c != nil {
		return *c
	}
	answered := slices.Contains(a.Pin.Warnings, webhook.SelfTestWarning)
	switch {
	case !answered && r.Mutating == nil:
		return problem(name, "The mutating webhook is not called, because it is not registered.").
			do("Install the chart again.").by(r.upgrade())
	case !answered:
		return problem(name, "The mutating webhook did not answer for %s: the API server does not call it, or waits in "+
			"vain. stepgate denies every automated sync of step 2 and later (NotPinned).", a.Application).
			do("The checks of the mutating webhook say more, and so does " +
				screen.Page("docs/runbook.md#stepgatenotpinned") + " - if you cannot repair it at once:").
			by(r.upgrade("config.mode=audit"))
	case a.Pin.Err != nil && strings.Contains(a.Pin.Err.Error(), "NotPinned"):
		return problem(name, "The mutating webhook answers, but another one that is called later takes the revision out "+
			"of the sync of %s again (NotPinned).", a.Application).
			do("Find the webhook that changes .operation of Applications.", "kubectl get mutatingwebhookconfigurations")
	case a.Pin.Err != nil && strings.Contains(a.Pin.Err.Error(), "ContentUnknown"):
		return ok(name, "The mutating webhook answers; Argo CD has not compared %s, so there is no revision to give it.",
			a.Application)
	case a.Pin.Err != nil:
		// An automated sync without a revision would have been denied for that.
		return ok(name, "A sync of %s gets its revision, and is too early now.", a.Application)
	case names(a.Pin.Operation):
		return ok(name, "A sync of %s gets its revision.", a.Application)
	case r.Flags != nil && r.Flags.Gate.Mode == settings.Audit:
		return ok(name, "The mutating webhook answers; in audit mode it changes no sync.")
	}
	return unknown(name, "The mutating webhook answers, but gave the sync of %s no revision.",
		a.Application).do("Is the ApplicationSet switched off or bypassed? See the checks below.")
}

// names reports whether an operation names a revision.
func names(o *argo.Operation) bool {
	return o != nil && o.Sync != nil && (o.Sync.Revision != "" || len(o.Sync.Revisions) > 0)
}

// noCandidate says why there is no Application to try with.
func noCandidate(sets map[types.UID]*argocd.ApplicationSet) string {
	if len(sets) == 0 {
		return "no ApplicationSet with RollingSync or waves is gated here and not switched off"
	}
	where := "step 2 or later"
	for _, set := range sets {
		if set.Waves {
			where = "step 2 or later, or in a later wave than others"
		}
	}
	return fmt.Sprintf("none of %s has an Application in %s", count(len(sets), "ApplicationSet", "ApplicationSets"), where)
}
