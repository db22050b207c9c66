// SPDX-License-Identifier: Apache-2.0

package main

const (
	soak     = "policy/reason_soaking.go"
	approval = "policy/reason_not_approved.go"
	failures = "policy/reason_too_many_failures.go"
	unmet    = "policy/unmet.go"
	window   = "policy/reason_window_closed.go"
)

// ofConditions are the parts of the conditions of a step, and of the releases that follow their end. They are looked
// for in histories with conditions.
func ofConditions() []part {
	all := []part{
		take("SoakHealth", soak, `later(a.LastSync.Since, a.HealthSince)`, `a.LastSync.Since`),
		take("SoakDeployed", soak, `later(a.LastSync.Since, a.HealthSince)`, `a.HealthSince`),
		take("SoakOnTrain", soak, `later(c.Since, in.History.Past(a.Name).Broken)`, `later(time.Time{}, in.History.Past(c.By).Broken)`),
		take("SoakBroken", soak, `later(c.Since, in.History.Past(a.Name).Broken)`, `c.Since`),
		take("SoakSecond", soak, `since.Truncate(time.Second).Add(time.Second + wait)`,
			`since.Truncate(time.Second).Add(wait)`),
		take("SoakUnreadable", soak, `case soak.Unreadable && step > 0:`, `case false:`),
		take("SoakUnnoticed", release, `if until := found.At.Sub(r.judge.Clock.Now()); until > 0 {`,
			`if until := found.At.Sub(r.judge.Clock.Now()); until > 0 && !unnoticed(p, set) {`),
		take("NotBefore", release, `if until := found.At.Sub(r.judge.Clock.Now()); until > 0 {`,
			`if until := found.At.Sub(r.judge.Clock.Now()); until > 0 && false {`),
		take("ReleaseStep1", release, `if (d.Reason == policy.NotSelected || d.Reason == policy.NotRollingSync)`,
			`if (d.Reason == policy.NotSelected || d.Reason == policy.FirstStep)`),
		take("PausedStep1", "policy/reason_first_step.go", `return step == 0 && !in.conditional(step)`, `return step == 0`),
		row("Paused", "paused"),
		take("ApprovalRevision", approval, `approval.Step != d.Step || approval.What != what`, `approval.Step != d.Step`),
		take("ApprovalStep", approval, `approval.Step != d.Step || approval.What != what`, `approval.What != what`),
		take("ApprovalSpec", approval, `case in.predates(approval.At):`, `case false:`),
		take("FourEyes", approval, `case c.FourEyes && in.started(d.Step, approval.By):`, `case false:`),
		take("FourEyesByHand", approval, `return in.StartedBy == user || slices`, `return slices`),
		take("FourEyesEarlier", approval, `return in.StartedBy == user || slices`,
			`return in.StartedBy == user || false && slices`),
		take("FourEyesRepeated", "webhook/argocd/sibling.go",
			`By: cmp.Or(by, startedBy(status.History, sources, revs))`, `By: cmp.Or(by, "")`),
		take("FailuresOfOthers", failures, `return in.mismatch(s, at) != nil && (`, `return false && (`),
		take("FailuresRehydrated", failures, ` && (!isDry(s) || !in.Target.rehydrated())`, ``),
		take("FailuresAtCompared", failures, `case last.failed() && in.sharesRevision(a, last.AtCompared, last.Other):`,
			`case last.failed():`),
		take("Degraded", failures, `case a.Health == "Degraded" && in`, `case false && in`),
		take("FailedOperations", failures, `case last.failed() && in`, `case false && in`),
		take("FailedItself", failures, `if ok && a.Name == in.Target.Name {`, `if false {`),
		take("Budget", failures, `if budget == nil {`, `if true {`),
		take("ReadOwnStep", unmet, `if in.Settings.Conditions.MaxFailures != nil {`, `if false {`),
		take("Window", window, `return d, in.Window.Closed`, `return d, false`),
		take("WindowOpens", window, `Printable(in.Window.Detail, maxText), in.Window.OpensAt`,
			`Printable(in.Window.Detail, maxText), d.NotBefore`),
		take("WindowOf", "webhook/judge/window.go",
			`return j.Windows.Window(p.Project, p.WindowSubject, true, j.Clock.Now())`, `return policy.Window{}`),
	}
	return in("-conditions", all)
}

const (
	verify = "webhook/judge/evidence.go"
	found  = "webhook/evidence/find.go"
	said   = "policy/evidence.go"
)

// ofEvidence are the parts of the evidence that steps wait for. They are looked for in histories with evidence.
func ofEvidence() []part {
	all := []part{
		take("Evidence", verify, `return policy.Verified(in, d), nil`, `return d, nil`),
		take("EvidenceLive", verify, `found, err := j.Evidence.Read(ctx, &v, what)`,
			`found, err := j.Evidence.Known(s.Verify)(v.Verification, what), ctx.Err()`),
		take("EvidenceLabel", found, `own[RevisionLabel], own[ForLabel] = revision, v.For`, `own[ForLabel] = v.For`),
		take("EvidenceFor", found, `own[RevisionLabel], own[ForLabel] = revision, v.For`, `own[RevisionLabel] = revision`),
		take("EvidenceAll", said, `if one.Answer == No {`, `if one.Answer == Yes {`),
		take("EvidenceWaits", said, `if one.Answer != Yes && all.Answer == Yes {`,
			`if one.Answer == Yes && all.Answer != Yes {`),
		take("EvidenceSpec", said, `.without(in.predates)`, ``),
		take("EvidenceLeaving", "webhook/evidence/answer.go", `case o.GetDeletionTimestamp() != nil:`, `case false:`),
		take("EvidenceStep", verify, `if v.Step != step {`, `if v.Step == step {`),
		take("EvidenceWakes", found, `return v.Resource == kind && v.Namespace == namespace`, `return false`),
		take("EvidenceCreated", "webhook/release/look.go", `if d.Reason == policy.Unverified && !d.Refused {`, `if false {`),
		take("Refused", "policy/reason_unverified.go", `d.Step, No); no {`, `d.Step, No); no && false {`),
		row("Unverified", "unverified"),
	}
	return in("-evidence", all)
}

const (
	follow = "webhook/judge/follow.go"
	after  = "policy/after.go"
)

// ofChains are the parts of the order among ApplicationSets. They are looked for in histories with chains of them.
func ofChains() []part {
	all := []part{
		take("After", follow, `return policy.Follow(in, d, all, after.Unreadable), nil`, `return d, nil`),
		take("AfterFresh", after, `if !ok && past.Freshness < Fresh &&`, `if false &&`),
		take("AfterDone", after, `b, ok := NotDone(asked, a)`, `b, ok := Blocker{}, len(asked.Siblings) > 0`),
		take("AfterPinned", "webhook/settings/parser.go", `s.Follows = len(s.After.Names) > 0 || s.After.Unreadable != ""`, ``),
		take("AfterMembers", after, `found = dep.weigh(in, found, set, a)`, `found = dep.weigh(in, found, set, a)[:0]`),
		take("AfterRefresh", need, `if b.Ends != policy.NoComparison && b.Step <= last {`,
			`if b.Ends != policy.NoComparison && b.Step >= 0 && b.Step <= last {`),
	}
	return in("-chains", all)
}

// in has parts looked for in the histories of a flag.
func in(flag string, all []part) []part {
	for i := range all {
		all[i].of = flag
	}
	return all
}
