// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"strings"
	"testing"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/test/scenario"
	"github.com/stepgate/stepgate/webhook/settings"
)

const (
	auditDenied = "stepgate (audit mode) would deny this sync: step 3 of ApplicationSet argocd/guestbook may not sync " +
		"yet: 1 Application of step 2 is not done: qa (NotHealthy: Degraded). Next: wait until qa is Healthy, or repair it"
	auditEvent = "Normal SyncWouldBeDenied AuditSync Application/prod/prod-uid related qa: " + qaDegraded
	auditAudit = "applicationset=argocd/guestbook; blockers=qa=NotHealthy; decision=deny; mode=audit; " +
		"reason=NotHealthy; step=3"
)

// annotated puts annotations on the ApplicationSet: name, value, name, value...
func annotated(pairs ...string) func(*argo.ApplicationSet) {
	return func(set *argo.ApplicationSet) {
		set.Annotations = map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			set.Annotations[pairs[i]] = pairs[i+1]
		}
	}
}

// inAnHour is written with another offset than noon is, as people do.
var inAnHour = scenario.Noon.Add(time.Hour).In(time.FixedZone("", 2*3600)).Format(time.RFC3339)

func TestHandleModesAndRequirements(t *testing.T) {
	denied := row{
		scenario: blocked, wantCode: 403, wantMessage: qaDegraded, wantCauses: []string{"qa NotHealthy Degraded"}, wantAudit: qaDegradedAudit,
		wantMetric: "deny NotHealthy enforce applicationset", wantEvent: qaDegradedEvent,
	}
	recorded := row{
		scenario: blocked, wantAllowed: true, wantAudit: auditAudit, wantWarnings: []string{auditDenied},
		wantMetric: "deny NotHealthy audit applicationset", wantEvent: auditEvent,
	}
	behind := "1:dev=Healthy@a 2:qa=Healthy@b 3:prod=Healthy@b"
	for name, tc := range map[string]row{
		"audit mode admits and records":                     recorded.with(audit, nil),
		"an ApplicationSet in enforce mode overrides audit": denied.with(audit, annotated(settings.ModeAnnotation, "enforce")),
		"an ApplicationSet in audit mode overrides enforce": recorded.with(nil, annotated(settings.ModeAnnotation, "audit")),
		"what is allowed in audit mode is an allow": {
			scenario: open, config: audit, wantAllowed: true,
			wantAudit:  "applicationset=argocd/guestbook; decision=allow; mode=audit; reason=EarlierStepsDone; step=3",
			wantMetric: "allow EarlierStepsDone audit applicationset",
		},
		"mode off is not gated, and recorded": {
			scenario: blocked, set: annotated(settings.ModeAnnotation, "off"), wantAllowed: true,
			wantAudit:  "applicationset=argocd/guestbook; decision=not_gated; mode=off; reason=GateOff; step=3",
			wantMetric: "not_gated GateOff off applicationset",
			wantEvent:  "Normal SyncGateOff SkipGate Application/prod/prod-uid: the gate is off for ApplicationSet argocd/guestbook: its annotation stepgate.io/mode is off",
		},
		"mode off that is not allowed is ignored, and reported": {
			scenario: blocked, set: annotated(settings.ModeAnnotation, "off"), config: func(c *settings.Config) { c.IgnoredAnnotations = []string{settings.ModeAnnotation} },
			wantCode: 403, wantMessage: qaDegraded, wantCauses: []string{"qa NotHealthy Degraded"}, wantAudit: qaDegradedAudit,
			wantWarnings: []string{"stepgate: annotation stepgate.io/mode is ignored: this installation does not allow it (--allowed-annotations)"},
			wantMetric:   "deny NotHealthy enforce applicationset", wantEvent: qaDegradedEvent, wantMalformed: []string{settings.ModeAnnotation},
		},
		"a malformed mode enforces, also under audit": {
			scenario: blocked, config: audit, set: annotated(settings.ModeAnnotation, "Off"),
			wantCode: 403, wantMessage: qaDegraded, wantCauses: []string{"qa NotHealthy Degraded"}, wantAudit: qaDegradedAudit,
			wantWarnings: []string{`stepgate: annotation stepgate.io/mode is not valid, the stricter reading is used: "Off" is not one of enforce, audit, off`},
			wantMetric:   "deny NotHealthy enforce applicationset", wantEvent: qaDegradedEvent, wantMalformed: []string{settings.ModeAnnotation},
		},
		"audit judges what the Mutator would pin": {
			scenario: open, config: func(c *settings.Config) { c.Mode = settings.Audit }, unpinned: true, wantAllowed: true,
			wantAudit:  "applicationset=argocd/guestbook; decision=allow; mode=audit; reason=EarlierStepsDone; step=3",
			wantMetric: "allow EarlierStepsDone audit applicationset",
		},
		"the same, of one ApplicationSet": {
			scenario: open, set: annotated(settings.ModeAnnotation, "audit"), unpinned: true, wantAllowed: true,
			wantAudit:  "applicationset=argocd/guestbook; decision=allow; mode=audit; reason=EarlierStepsDone; step=3",
			wantMetric: "allow EarlierStepsDone audit applicationset",
		},
		"audit tells of what nobody could pin": {
			scenario: open, config: func(c *settings.Config) { c.Mode = settings.Audit }, unpinned: true, wantAllowed: true,
			write:        func(a *scenario.Attempt) { a.After.Operation.Sync.Revision = "main" },
			wantAudit:    "applicationset=argocd/guestbook; decision=deny; mode=audit; reason=NotPinned; step=3",
			wantWarnings: []string{"stepgate (audit mode) would deny this sync: " + strings.Split(notPinned, "Mutating")[0] + "..."},
			wantMetric:   "deny NotPinned audit applicationset",
			wantEvent:    "Normal SyncWouldBeDenied AuditSync Application/prod/prod-uid: " + notPinned,
		},
		"require health does not ask for the revision": {
			scenario: behind, set: annotated(settings.RequireAnnotation, "health"), wantAllowed: true,
			wantAudit:  "applicationset=argocd/guestbook; decision=allow; mode=enforce; reason=EarlierStepsDone; step=3",
			wantMetric: "allow EarlierStepsDone enforce applicationset",
		},
		"a malformed require asks for the revision": {
			scenario: behind, set: annotated(settings.RequireAnnotation, "nothing"), config: func(c *settings.Config) { c.Mode, c.Require = settings.Audit, policy.RequireHealth },
			wantAllowed: true,
			wantAudit:   "applicationset=argocd/guestbook; blockers=dev=NotCompleted; decision=deny; mode=audit; reason=NotCompleted; step=3",
			wantWarnings: []string{
				`stepgate: annotation stepgate.io/require is not valid, the stricter reading is used: "nothing" is not one of health, completed, revision`,
				"stepgate (audit mode) would deny this sync: step 3 of ApplicationSet argocd/guestbook may not sync yet: 1 Application of step 1 is not done: " +
					"dev (NotCompleted: compared to aaaaaaa, not bbbbbbb). Next: refresh dev: argocd app get dev --refresh",
			},
			wantMetric: "deny NotCompleted audit applicationset",
			wantEvent: "Normal SyncWouldBeDenied AuditSync Application/prod/prod-uid related dev: step 3 of ApplicationSet argocd/guestbook may not sync yet: 1 Application of step 1 is not done: " +
				"dev (NotCompleted: compared to aaaaaaa, not bbbbbbb). Next: refresh dev: argocd app get dev --refresh",
			wantMalformed: []string{settings.RequireAnnotation},
		},
	} {
		t.Run(name, tc.run)
	}
}

func (r row) with(config func(*settings.Config), set func(*argo.ApplicationSet)) row {
	r.config, r.set = config, set
	return r
}

// deniedDespite is the row of a write that is denied although a bypass was asked for.
func (r row) deniedDespite(bypass string) row {
	message := qaDegraded + " (bypass " + bypass + ")"
	r.scenario, r.wantCode, r.wantMessage, r.wantCauses = blocked, 403, message, []string{"qa NotHealthy Degraded"}
	r.wantAudit = "applicationset=argocd/guestbook; blockers=qa=NotHealthy; bypass=" + bypass +
		"; decision=deny; mode=enforce; reason=NotHealthy; step=3"
	r.wantEvent = "Warning SyncDenied DenySync Application/prod/prod-uid related qa: " + message
	return r
}

func TestHandleBypassUntil(t *testing.T) {
	denied := func(until, reason string) row {
		return row{
			scenario: blocked, set: annotated(settings.BypassAnnotation, until+" "+reason),
			wantCode: 403, wantMessage: qaDegraded, wantCauses: []string{"qa NotHealthy Degraded"}, wantAudit: qaDegradedAudit,
			wantMetric: "deny NotHealthy enforce applicationset", wantEvent: qaDegradedEvent,
		}
	}
	malformed := func(until, reason, warning string) row {
		r := denied(until, reason)
		r.wantWarnings = []string{
			"stepgate: annotation stepgate.io/bypass is not valid, the stricter reading is used: " + warning,
		}
		r.wantMalformed = []string{settings.BypassAnnotation}
		return r
	}
	bypassed := func(until string) row {
		return row{
			scenario: blocked, set: annotated(settings.BypassAnnotation, until+" INC-1"), wantAllowed: true,
			wantAudit:  "applicationset=argocd/guestbook; bypass=until " + until + ": INC-1; decision=not_gated; mode=enforce; reason=Bypassed; step=3",
			wantMetric: "not_gated Bypassed enforce applicationset",
			wantEvent:  "Normal SyncGateBypassed BypassSync Application/prod/prod-uid: the gate was bypassed: until " + until + ": INC-1",
		}
	}
	for name, tc := range map[string]row{
		"a bypass with an end and a reason":   bypassed(inAnHour),
		"a bypass that ends in 24 h":          bypassed("2026-03-02T12:00:00Z"),
		"a bypass that has ended":             denied("2026-03-01T11:59:59Z", "INC-1"),
		"a bypass that ends now":              denied("2026-03-01T12:00:00Z", "INC-1"),
		"a bypass that is too long":           malformed("2026-03-02T12:00:01Z", "INC-1", "2026-03-02T12:00:01Z is more than 24 h ahead"),
		"a bypass without a reason":           malformed(inAnHour, " ", `it has no reason: write "`+inAnHour+` REASON"`),
		"a bypass whose end is no time":       malformed("tomorrow", "INC-1", `"tomorrow" is not an RFC 3339 time: write "2026-03-01T13:00:00Z REASON"`),
		"a bypass whose end is a date":        malformed("2026-03-02", "INC-1", `"2026-03-02" is not an RFC 3339 time: write "2026-03-01T13:00:00Z REASON"`),
		"a bypass without an end":             malformed("", "INC-1", `"INC-1" is not an RFC 3339 time: write "2026-03-01T13:00:00Z REASON"`),
		"a bypass that ended, without reason": denied("2026-02-28T12:00:00Z", ""),
		"an empty bypass":                     malformed("", "", `"" is not an RFC 3339 time: write "2026-03-01T13:00:00Z REASON"`),
	} {
		t.Run(name, tc.run)
	}
}

func TestHandleBypassInSync(t *testing.T) {
	asks := func(writer, initiatedBy string) func(*scenario.Attempt) {
		return func(a *scenario.Attempt) {
			a.User = writer
			a.After.Operation.InitiatedBy = argo.OperationInitiator{Username: initiatedBy}
			a.After.Operation.Info = []*argo.Info{
				nil, {Name: "Reason", Value: "late"}, {Name: settings.BypassInfo, Value: " INC-1 "},
			}
		}
	}
	for name, tc := range map[string]row{
		"a user on the list, through argocd-server": {
			scenario: blocked, write: asks(scenario.ArgoCDServer, "alice"), wantAllowed: true,
			wantAudit:  "applicationset=argocd/guestbook; bypass=INC-1 by alice; decision=not_gated; mode=enforce; reason=Bypassed; step=3",
			wantMetric: "not_gated Bypassed enforce server",
			wantEvent:  "Normal SyncGateBypassed BypassSync Application/prod/prod-uid: the gate was bypassed: INC-1 by alice",
		},
		"a user who is not on the list": row{
			write: asks(scenario.ArgoCDServer, "mallory"), wantMetric: "deny NotHealthy enforce server",
		}.deniedDespite(`INC-1 not honoured: user "mallory" may not bypass (--bypass-user)`),
		"no user at all": row{
			write: asks(scenario.ArgoCDServer, ""), wantMetric: "deny NotHealthy enforce server",
		}.deniedDespite(`INC-1 not honoured: user "" may not bypass (--bypass-user)`),
		"a user on the list, claimed with kubectl": row{
			write: asks("kubernetes-admin", "alice"), wantMetric: "deny NotHealthy enforce other",
		}.deniedDespite("INC-1 not honoured: kubernetes-admin is not argocd-server"),
		"a user on the list, claimed by the ApplicationSet controller's account": row{
			write: asks(scenario.ApplicationSetController, "alice"), wantMetric: "deny NotHealthy enforce applicationset",
		}.deniedDespite("INC-1 not honoured: " + scenario.ApplicationSetController + " is not argocd-server"),
		"the zero Config honours nobody": row{
			write: asks(scenario.ArgoCDServer, "alice"), config: func(c *settings.Config) { *c = settings.Config{} }, wantMetric: "deny NotHealthy enforce other",
		}.deniedDespite("INC-1 not honoured: " + scenario.ArgoCDServer + " is not argocd-server"),
		"an empty reason asks for nothing": {
			scenario: blocked, write: func(a *scenario.Attempt) {
				asks(scenario.ArgoCDServer, "alice")(a)
				a.After.Operation.Info[2].Value = " "
			},
			wantCode: 403, wantMessage: qaDegraded, wantCauses: []string{"qa NotHealthy Degraded"}, wantAudit: qaDegradedAudit,
			wantMetric: "deny NotHealthy enforce server", wantEvent: qaDegradedEvent,
		},
	} {
		t.Run(name, tc.run)
	}
}
