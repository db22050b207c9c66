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
		take("SoakHealth", soak, "\tsince := a.HealthSince\n", "\tsince := a.LastSync.Since\n"),
		take("SoakDeployed", soak, `if a.LastSync.Since.After(since) {`, `if false {`),
		take("SoakSecond", soak, `since.Truncate(time.Second).Add(time.Second + wait)`,
			`since.Truncate(time.Second).Add(wait)`),
		take("SoakUnreadable", soak, `case soak.Unreadable && step > 0:`, `case false:`),
		take("SoakUnnoticed", release, `if until := d.NotBefore.Sub(r.judge.Clock.Now()); until > 0 {`,
			`if until := d.NotBefore.Sub(r.judge.Clock.Now()); until > 0 && !unnoticed(p, &set.ApplicationSet) {`),
		take("NotBefore", release, `if until := d.NotBefore.Sub(r.judge.Clock.Now()); until > 0 {`,
			`if until := d.NotBefore.Sub(r.judge.Clock.Now()); until > 0 && false {`),
		take("ReleaseStep1", release, `if d.Reason == policy.NotSelected {`,
			`if d.Reason == policy.NotSelected || d.Reason == policy.FirstStep {`),
		take("PausedStep1", "policy/reason_first_step.go", `return step == 0 && !in.conditional(step)`, `return step == 0`),
		row("Paused", "paused"),
		take("ApprovalRevision", approval, `approval.Step != d.Step || approval.What != what`, `approval.Step != d.Step`),
		take("ApprovalStep", approval, `approval.Step != d.Step || approval.What != what`, `approval.What != what`),
		take("ApprovalSpec", approval, `case in.predates(approval):`, `case false:`),
		take("FourEyes", approval, `case c.FourEyes && in.started(d.Step, approval.By):`, `case false:`),
		take("FourEyesByHand", approval, `return in.StartedBy == user || slices`, `return slices`),
		take("FourEyesEarlier", approval, `return in.StartedBy == user || slices`,
			`return in.StartedBy == user || false && slices`),
		take("FourEyesRepeated", "webhook/argocd/sibling.go",
			`By: cmp.Or(person(by), startedBy(status.History, sources, revs))`, `By: cmp.Or(person(by), "")`),
		take("FailuresOfOthers", failures, `case in.mismatch(source) != nil:`, `case false:`),
		take("FailuresRehydrated", failures, `case isDry(source) && in.Target.rehydrated():`, `case false:`),
		take("FailuresAtCompared", failures, `case last.Full && last.AtCompared && `, `case last.Full && `),
		take("Degraded", failures, `case a.Health == "Degraded" && a.LastSync.AtCompared:`, `case false:`),
		take("FailedOperations", failures, `case last.Full && last.AtCompared && (`, `case false && (`),
		take("FailedItself", failures, `if ok && a.Name == in.Target.Name {`, `if false {`),
		take("Budget", failures, `if budget == nil {`, `if true {`),
		take("ReadOwnStep", unmet, `if in.Settings.Conditions.MaxFailures != nil {`, `if false {`),
		take("Window", window, `return d, in.Window.Closed`, `return d, false`),
		take("WindowOpens", window, `Printable(in.Window.Detail, maxText), in.Window.OpensAt`,
			`Printable(in.Window.Detail, maxText), d.NotBefore`),
		take("WindowOf", "webhook/judge/window.go",
			`return j.Windows.Window(p.Project, p.WindowSubject, true, j.Clock.Now())`, `return policy.Window{}`),
	}
	for i := range all {
		all[i].conditions = true
	}
	return all
}
