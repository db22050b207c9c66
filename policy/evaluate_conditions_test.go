// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/policy"
)

const (
	guest  = " of ApplicationSet argocd/guestbook "
	paused = "step 2" + guest + "is paused (Paused). Next: stepgate resume guestbook -n argocd --step 2, or correct " +
		"the annotation stepgate.io/pause"
	missing = "step 2" + guest + "is not approved (NotApproved: 2@a"
	approve = "). Next: stepgate approve guestbook -n argocd --step 2"
)

// on is a row with conditions, at second 200.
func on(r row, c policy.Conditions) row {
	edit := r.edit
	r.settings.Conditions = c
	r.edit = func(in *policy.Input) {
		in.Now = second("200")
		if edit != nil {
			edit(in)
		}
	}
	return r
}

// exempt is a row that Scope allows.
func exempt(scenario string, reason policy.Reason) row {
	return row{
		scenario: scenario, wantOutcome: policy.Allow, wantReason: reason, wantMessage: "allow (" + string(reason) + ")", wantSettled: true,
	}
}

func pauseRows() map[string]row {
	all, second := policy.Conditions{Paused: policy.Steps{All: true}},
		policy.Conditions{Paused: policy.Steps{Of: []int{1}}}
	why := all
	why.PausedWhy = "INC-1\n, by alice at 2026-11-22T10:00:00Z"
	stopped := func(scenario, message string) row {
		return row{scenario: scenario, wantReason: policy.Paused, wantMessage: message, wantSettled: true}
	}
	bypassed := on(row{
		scenario: "1:dev > 2:prod", wantOutcome: policy.NotGated, wantReason: policy.Bypassed, wantMessage: "not_gated (Bypassed)", wantSettled: true,
	}, all)
	bypassed.settings.Bypassed = true
	return map[string]row{
		"every step is paused":                    on(stopped("1:dev > 2:prod", paused), all),
		"the step is paused":                      on(stopped("1:dev > 2:prod", paused), second),
		"a pause comes before the order":          on(stopped("1:dev=Degraded > 2:prod", paused), all),
		"another step is paused":                  on(allowed("1:dev 2:qa > 3:prod"), second),
		"the first step is paused":                on(stopped("> 1:dev", "step 1"+guest+"is paused (Paused). Next: stepgate resume guestbook -n argocd --step 1, or correct the annotation stepgate.io/pause"), all),
		"who has paused it, and why":              on(stopped("1:dev > 2:prod", "step 2"+guest+"is paused (Paused: INC-1?, by alice at 2026-11-22T10:00:00Z). Next: stepgate resume guestbook -n argocd --step 2, or correct the annotation stepgate.io/pause"), why),
		"a rollback in a paused step":             on(exempt("1:dev > 2:prod,back", policy.Rollback), all),
		"a rollback in the paused first step":     on(exempt("> 1:dev,back", policy.Rollback), all),
		"self-heal in a paused step":              on(exempt("1:dev > 2:prod,heal", policy.SelfHeal), all),
		"self-heal in the paused first step":      on(exempt("> 1:dev,heal", policy.SelfHeal), all),
		"a bypass of a pause":                     bypassed,
		"an Application of no step is not paused": on(row{scenario: "1:dev > 0:prod", wantOutcome: policy.NotGated, wantReason: policy.NotSelected, wantMessage: "not_gated (NotSelected)", wantSettled: true}, all),
	}
}

func soakRows() map[string]row {
	minute := policy.Conditions{Soak: policy.Soak{Every: time.Minute}}
	soaking := func(scenario, until, names string) row {
		return row{
			scenario: scenario, wantReason: policy.Soaking, wantBlockers: "1:dev=Soaking",
			wantMessage: "step 2" + guest + "may not sync before " + until + ": 1 Application of step 1 is not done: dev (Soaking: until " + names + "). Next: wait, or change the annotation stepgate.io/soak",
		}
	}
	const until = "2026-09-21T12:03:21Z"
	return map[string]row{
		"it has soaked":                                     on(allowed("1:dev,healthy:139,since:100 > 2:prod"), minute),
		"it has soaked a second too little":                 on(soaking("1:dev,healthy:140,since:100 > 2:prod", until, until), minute),
		"times are cut to seconds, which only delays":       on(soaking("1:dev,healthy:140.9,since:100 > 2:prod", until, until), minute),
		"it has been Healthy for long, and is deployed now": on(soaking("1:dev,healthy:50,since:140 > 2:prod", until, until), minute),
		"nothing is known of its past":                      on(allowed("1:dev > 2:prod"), minute),
		"this step does not soak":                           on(allowed("1:dev,healthy:190 > 2:prod"), policy.Conditions{Soak: policy.Soak{Of: map[int]time.Duration{2: time.Hour}}}),
		"this step has its own time":                        on(soaking("1:dev,healthy:190 > 2:prod", "2026-09-21T13:03:11Z", "2026-09-21T13:03:11Z"), policy.Conditions{Soak: policy.Soak{Of: map[int]time.Duration{1: time.Hour}}}),
		"nobody soaks before the first step":                on(exempt("2:qa,healthy:199 > 1:dev", policy.FirstStep), minute),
		"an Application that only soaks is named last": on(row{
			scenario: "1:dev,healthy:190 2:qa=Degraded > 3:prod", wantReason: policy.NotHealthy, wantBlockers: "2:qa=NotHealthy 1:dev=Soaking",
			wantMessage: "step 3" + guest + "may not sync yet: 2 Applications of steps 1 and 2 are not done: qa (NotHealthy: Degraded), dev (Soaking: until 2026-09-21T12:04:11Z). Next: wait until qa is Healthy, or repair it",
		}, minute),
		"the last one to soak tells the moment": on(row{
			scenario: "1:dev,healthy:150 2:qa,healthy:180 > 3:prod", wantReason: policy.Soaking, wantBlockers: "1:dev=Soaking 2:qa=Soaking",
			wantMessage: "step 3" + guest + "may not sync before 2026-09-21T12:04:01Z: 2 Applications of steps 1 and 2 are not done: dev (Soaking: until 2026-09-21T12:03:31Z), qa (Soaking: until 2026-09-21T12:04:01Z). Next: wait, or change the annotation stepgate.io/soak",
		}, minute),
		"the soak time cannot be read": on(row{
			scenario: "1:dev > 2:prod", wantReason: policy.Soaking, wantBlockers: "1:dev=Soaking",
			wantMessage: "step 2" + guest + "may not sync yet: 1 Application of step 1 is not done: dev (Soaking: the annotation stepgate.io/soak cannot be read). Next: wait, or change the annotation stepgate.io/soak",
		}, policy.Conditions{Soak: policy.Soak{Unreadable: true}}),
	}
}

func approvalRows() map[string]row {
	need := func(approved ...policy.Approval) policy.Conditions {
		return policy.Conditions{Approve: policy.Steps{Of: []int{1}}, Approved: approved}
	}
	eyes := need(policy.Approval{Step: 1, What: "a", By: "alice"})
	eyes.FourEyes = true
	inUI := need(policy.Approval{Step: 1, What: "a", By: "argocd:alice"})
	inUI.FourEyes = true
	late := need(policy.Approval{Step: 1, What: "a", By: "alice", At: second("150")})
	by := func(r row, user string) row {
		r.edit = func(in *policy.Input) { in.StartedBy = user }
		return r
	}
	written := func(r row, at string) row {
		r.edit = func(in *policy.Input) { in.History.ContentSince, in.Now = second(at), second("1000") }
		return r
	}
	denied := func(scenario, message string) row {
		return row{scenario: scenario, wantReason: policy.NotApproved, wantMessage: message}
	}
	first := policy.Conditions{Approve: policy.Steps{All: true}}
	several := policy.ApprovalOf([]policy.Source{{Key: "common", Revision: "a"}, {Key: "lib", Revision: "b"}})
	return map[string]row{
		"nobody has approved it":                    on(denied("1:dev > 2:prod", missing+approve), need()),
		"it is approved":                            on(allowed("1:dev > 2:prod"), need(policy.Approval{Step: 1, What: "a", By: "alice"})),
		"another revision is approved":              on(denied("1:dev > 2:prod", missing+approve), need(policy.Approval{Step: 1, What: "b", By: "alice"})),
		"it is approved for another step":           on(denied("1:dev > 2:prod", missing+approve), need(policy.Approval{Step: 2, What: "a", By: "alice"})),
		"another step needs an approval":            on(allowed("1:dev 2:qa > 3:prod"), need()),
		"the order comes before the approval":       on(row{scenario: "1:dev=Degraded > 2:prod", wantReason: policy.NotHealthy, wantBlockers: "1:dev=NotHealthy", wantMessage: one + "(NotHealthy: Degraded). Next: wait until dev is Healthy, or repair it"}, need()),
		"the first step needs an approval":          on(denied("> 1:dev", "step 1"+guest+"is not approved (NotApproved: 1@a). Next: stepgate approve guestbook -n argocd --step 1"), first),
		"the first step has its approval":           on(row{scenario: "> 1:dev", wantOutcome: policy.Allow, wantReason: policy.FirstStep, wantMessage: "allow (FirstStep)"}, policy.Conditions{Approve: policy.Steps{All: true}, Approved: []policy.Approval{{What: "a", By: "alice"}}}),
		"nobody knows what it deploys":              on(denied("1:dev@-,fresh > 2:prod@-", "step 2"+guest+"is not approved (NotApproved: the operation does not say which revision it deploys"+approve), need()),
		"it brings sources or manifests of its own": on(denied("> 1:dev,foreign", "step 1"+guest+"is not approved (NotApproved: the operation brings manifests or sources of its own, which cannot be approved). Next: stepgate approve guestbook -n argocd --step 1"), policy.Conditions{Approve: policy.Steps{All: true}, Approved: []policy.Approval{{What: "a", By: "alice"}}}),
		"several sources":                           on(denied("1:dev@a+lib:b > 2:prod@a+lib:b", "step 2"+guest+"is not approved (NotApproved: 2@"+several+approve), need(policy.Approval{Step: 1, What: "a", By: "alice"})),
		"several sources, and they are approved":    on(allowed("1:dev@a+lib:b > 2:prod@a+lib:b"), need(policy.Approval{Step: 1, What: several, By: "alice"})),
		"approved, and its spec has changed since":  on(written(denied("1:dev,fresh > 2:prod,respecified", missing+", which was approved before the spec of prod changed"+approve), "150"), late),
		"its spec has changed, and approved since":  on(written(allowed("1:dev,fresh > 2:prod,respecified"), "149"), late),
		"approved, and its spec has been deployed":  on(written(allowed("1:dev,fresh > 2:prod"), "150"), late),
		"who approved starts it by hand":            on(by(denied("1:dev > 2:prod", missing+", which alice has approved, who has also started it"+approve), "alice"), eyes),
		"somebody else starts it by hand":           on(by(allowed("1:dev > 2:prod"), "bob"), eyes),
		"who approved has synced an earlier step":   on(denied("1:dev,synced:50,by:alice > 2:prod", missing+", which alice has approved, who has also started it"+approve), eyes),
		"who approved in Argo CD's UI starts it":    on(by(denied("1:dev > 2:prod", missing+", which argocd:alice has approved, who has also started it"+approve), "alice"), inUI),
		"who approved there has synced before":      on(denied("1:dev,synced:50,by:alice > 2:prod", missing+", which argocd:alice has approved, who has also started it"+approve), inUI),
		"somebody else approved there":              on(by(allowed("1:dev > 2:prod"), "argocd:alice"), inUI),
		"who approved has synced something else":    on(allowed("1:dev,syncedold:50,by:alice > 2:prod"), eyes),
		"who approved starts it, and two eyes do":   on(by(allowed("1:dev > 2:prod"), "alice"), need(policy.Approval{Step: 1, What: "a", By: "alice"})),
		"two have approved, one of whom started it": on(by(allowed("1:dev > 2:prod"), "alice"), policy.Conditions{Approve: policy.Steps{All: true}, FourEyes: true, Approved: []policy.Approval{{Step: 1, What: "a", By: "alice"}, {Step: 1, What: "a", By: "bob"}}}),
	}
}

func failureRows() map[string]row {
	most := func(n int) policy.Conditions { return policy.Conditions{MaxFailures: &policy.Budget{Most: n}} }
	percent := func(n int) policy.Conditions {
		return policy.Conditions{MaxFailures: &policy.Budget{Most: n, Percent: true}}
	}
	const rest = "). Next: repair them, or deploy another revision"
	one := func(scenario, blockers, names string) row {
		return row{
			scenario: scenario, wantReason: policy.TooManyFailures, wantBlockers: blockers, wantMessage: "step 2" + guest + "may not go on: 1 Application of it failed, and 0 may: " + names + rest,
		}
	}
	return map[string]row{
		"one has failed, and none may":             on(one("1:dev 2:x,failed:50 > 2:prod", "2:x=TooManyFailures", "x (TooManyFailures: sync Failed"), most(0)),
		"one is in error, and none may":            on(one("1:dev 2:x,error:50 > 2:prod", "2:x=TooManyFailures", "x (TooManyFailures: sync Error"), most(0)),
		"one is Degraded at it, and none may":      on(one("1:dev 2:x=Degraded,synced:50 > 2:prod", "2:x=TooManyFailures", "x (TooManyFailures: Degraded"), most(0)),
		"one has failed, and is tried again":       on(one("1:dev 2:x,failedbefore,running > 2:prod", "2:x=TooManyFailures", "x (TooManyFailures: its sync failed, and is tried again"), most(0)),
		"one is about to be tried again":           on(one("1:dev 2:x,failedbefore,op > 2:prod", "2:x=TooManyFailures", "x (TooManyFailures: its sync failed, and is tried again"), most(0)),
		"one had failed, and has succeeded since":  on(allowed("1:dev 2:x,failed:40,ended:50 > 2:prod"), most(0)),
		"one runs for the first time":              on(allowed("1:dev 2:x,running > 2:prod"), most(0)),
		"it has failed itself, and is tried again": on(allowed("1:dev 2:x,failed:50 2:prod,failedbefore,running > 2:prod"), most(0)),
		"one has failed, and one may":              on(allowed("1:dev 2:x,failed:50 > 2:prod"), most(1)),
		"two have failed, and one may": on(row{
			scenario: "1:dev 2:y=Degraded,synced:50 2:x,failed:50 > 2:prod", wantReason: policy.TooManyFailures, wantBlockers: "2:x=TooManyFailures 2:y=TooManyFailures",
			wantMessage: "step 2" + guest + "may not go on: 2 Applications of it failed, and 1 may: x (TooManyFailures: sync Failed), y (TooManyFailures: Degraded" + rest,
		}, most(1)),
		"it failed at another revision":           on(allowed("1:dev 2:x@b,failed:50 > 2:prod,pinned"), most(0)),
		"it failed at another dry commit":         on(allowed("1:dev@d:1+dry:b,fresh 2:x@x:1+dry:a,failed:50 > 2:prod@p:1+dry:b,hydrated,pinned"), most(0)),
		"the same, and the next is not hydrated":  on(one("1:dev@d:1+dry:b,fresh 2:x@x:1+dry:a,failed:50 > 2:prod@p:1+dry:b,hydrating,pinned", "2:x=TooManyFailures", "x (TooManyFailures: sync Failed"), most(0)),
		"it was Degraded before":                  on(allowed("1:dev 2:x=Degraded,syncedold:50 > 2:prod"), most(0)),
		"another source, and it failed at it":     on(one("1:dev@a,fresh 2:x@other:z,failed:50 > 2:prod", "2:x=TooManyFailures", "x (TooManyFailures: sync Failed"), most(0)),
		"one of another step has failed":          on(allowed("1:dev 3:x,failed:50 > 2:prod"), most(0)),
		"a failed one that is excluded":           onExcluded(allowed("1:dev 2:x,failed:50 > 2:prod"), most(0), "x"),
		"it has failed itself, and may try again": on(allowed("1:dev 2:x,failed:50 2:prod,failed:50 > 2:prod"), most(0)),
		"ten percent of ten, and one has failed":  on(allowed("1:dev 2:a,failed:50 2:b 2:c 2:d 2:e 2:f 2:g 2:h 2:i 2:prod > 2:prod"), percent(10)),
		"ten percent of nine, and one has failed": on(one("1:dev 2:a,failed:50 2:b 2:c 2:d 2:e 2:f 2:g 2:h 2:prod > 2:prod", "2:a=TooManyFailures", "a (TooManyFailures: sync Failed"), percent(10)),
		"the first step, and one has failed": on(row{
			scenario: "1:x,failed:50 > 1:dev", wantReason: policy.TooManyFailures, wantBlockers: "1:x=TooManyFailures",
			wantMessage: "step 1" + guest + "may not go on: 1 Application of it failed, and 0 may: x (TooManyFailures: sync Failed" + rest,
		}, most(0)),
	}
}

func onExcluded(r row, c policy.Conditions, name string) row {
	r = on(r, c)
	r.settings.Excluded = map[string]bool{name: true}
	return r
}

func windowRows() map[string]row {
	closed := func(r row, w policy.Window) row {
		r.edit = func(in *policy.Input) { in.Window = w }
		return r
	}
	deny := policy.Window{Closed: true, OpensAt: second("300"), Detail: `deny window "0 8 * * *" for 2h`}
	unknown := policy.Window{Closed: true, Detail: "\x00"}
	denied := func(scenario, message string) row {
		return row{
			scenario: scenario, wantReason: policy.WindowClosed, wantMessage: message + " Next: wait until the sync window of its project opens",
		}
	}
	return map[string]row{
		"its sync window is closed":              closed(denied("1:dev > 2:prod", "step 2"+guest+`may not sync before 2026-09-21T12:05:00Z (WindowClosed: deny window "0 8 * * *" for 2h).`), deny),
		"its sync window never opens":            closed(denied("1:dev > 2:prod", "step 2"+guest+"may not sync yet (WindowClosed: ?)."), unknown),
		"the sync window of the first step":      closed(denied("> 1:dev", "step 1"+guest+`may not sync before 2026-09-21T12:05:00Z (WindowClosed: deny window "0 8 * * *" for 2h).`), deny),
		"the order comes before the sync window": closed(row{scenario: "1:dev=Degraded > 2:prod", wantReason: policy.NotHealthy, wantBlockers: "1:dev=NotHealthy", wantMessage: one + "(NotHealthy: Degraded). Next: wait until dev is Healthy, or repair it"}, deny),
		"a rollback while the window is closed":  closed(exempt("1:dev > 2:prod,back", policy.Rollback), deny),
		"self-heal while the window is closed":   closed(exempt("1:dev > 2:prod,heal", policy.SelfHeal), deny),
	}
}

func slotRows() map[string]row {
	slots := func(r row, most int, taken ...string) row {
		r.edit = func(in *policy.Input) {
			in.Slots = &policy.Slots{Most: most}
			for _, name := range taken {
				in.Slots.Taken = append(in.Slots.Taken, policy.Blocker{
					Application: name, Step: 1, Reason: policy.OperationInProgress,
				})
			}
		}
		return r
	}
	full := row{
		scenario: "1:dev > 2:prod", wantReason: policy.MaxUpdateReached, wantBlockers: "2:x=OperationInProgress 2:y=OperationInProgress",
		wantMessage: "step 2" + guest + "may not sync yet (MaxUpdateReached: its maxUpdate is 2): x (OperationInProgress), y (OperationInProgress). Next: wait until one of them is Healthy",
	}
	byHand := row{
		scenario: "1:dev > 2:prod", wantReason: policy.MaxUpdateReached, wantMessage: "step 2" + guest + "may not sync by itself (MaxUpdateReached: its maxUpdate is 0). Next: sync it by hand",
	}
	return map[string]row{
		"one of two slots is taken":           slots(allowed("1:dev > 2:prod"), 2, "x"),
		"both slots are taken":                slots(full, 2, "x", "y"),
		"there are no slots":                  slots(byHand, 0),
		"the order comes before the slots":    slots(row{scenario: "1:dev=Degraded > 2:prod", wantReason: policy.NotHealthy, wantBlockers: "1:dev=NotHealthy", wantMessage: one + "(NotHealthy: Degraded). Next: wait until dev is Healthy, or repair it"}, 0),
		"a rollback when no slot is free":     slots(exempt("1:dev > 2:prod,back", policy.Rollback), 0),
		"the first step is counted elsewhere": slots(exempt("> 1:dev", policy.FirstStep), 0),
	}
}

// TestCrowded turns an allow into a denial, and nothing else.
func TestCrowded(t *testing.T) {
	g := NewWithT(t)
	full := &policy.Slots{Most: 1, Taken: []policy.Blocker{{Application: "x", Reason: policy.OperationInProgress}}}
	first := policy.Evaluate(scenario("> 1:dev"))
	g.Expect(first.WithSlots(nil)).To(Equal(first))
	g.Expect(first.WithSlots(&policy.Slots{Most: 2, Taken: full.Taken})).To(Equal(first))
	denied := first.WithSlots(full)
	g.Expect([]any{denied.Outcome, denied.Reason}).To(Equal([]any{policy.Deny, policy.MaxUpdateReached}))
	g.Expect(denied.Message()).To(Equal("step 1" + guest +
		"may not sync yet (MaxUpdateReached: its maxUpdate is 1): x (OperationInProgress). Next: wait until one of them is Healthy"))
	none := policy.Evaluate(scenario("1:dev > 0:prod"))
	g.Expect(none.Outcome).To(Equal(policy.NotGated))
	g.Expect(none.WithSlots(full)).To(Equal(none))
	g.Expect((&policy.Slots{Most: 1, Taken: make([]policy.Blocker, 3)}).Free()).To(BeZero(), "maxUpdate was lowered")
}

// TestUnmet gives everything that a sync waits for, not only what comes first.
func TestUnmet(t *testing.T) {
	g := NewWithT(t)
	in := scenario("1:dev,healthy:190 2:x,failed:50 > 2:prod")
	in.Now, in.Window = second("200"), policy.Window{Closed: true}
	in.Settings.Conditions = policy.Conditions{
		Paused: policy.Steps{All: true}, Soak: policy.Soak{Every: time.Minute}, Approve: policy.Steps{All: true}, MaxFailures: &policy.Budget{},
	}
	reasons := func() (all []policy.Reason) {
		for _, d := range policy.Unmet(in) {
			all = append(all, d.Reason)
		}
		return all
	}
	g.Expect(reasons()).To(Equal([]policy.Reason{
		policy.Paused, policy.Soaking, policy.TooManyFailures, policy.NotApproved, policy.WindowClosed,
	}))
	g.Expect(policy.Evaluate(in).Reason).To(Equal(policy.Paused))
	in.Settings.Bypassed = true
	g.Expect(reasons()).To(BeEmpty())
	in = scenario("1:dev > 2:prod")
	g.Expect(reasons()).To(BeEmpty())
}

func TestApprovalOf(t *testing.T) {
	g := NewWithT(t)
	a, b := policy.Source{Key: "x", Revision: "1"}, policy.Source{Key: "y", Revision: "2"}
	g.Expect(policy.ApprovalOf(nil)).To(BeEmpty())
	g.Expect(policy.ApprovalOf([]policy.Source{a})).To(Equal("1"))
	g.Expect(policy.ApprovalOf([]policy.Source{a, {Key: "y"}})).To(BeEmpty(),
		"a revision that is not known cannot be approved")
	g.Expect(policy.ApprovalOf([]policy.Source{
		a, {Key: policy.DryPrefix + "z", Revision: "9"},
	})).To(Equal("1"), "what is deployed is the hydrated revision")
	both := policy.ApprovalOf([]policy.Source{a, b})
	g.Expect(both).To(MatchRegexp("^sources:[0-9a-f]{32}$"))
	g.Expect(policy.ApprovalOf([]policy.Source{b, a})).To(Equal(both), "their order says nothing")
	g.Expect(policy.ApprovalOf([]policy.Source{a, {Key: "y", Revision: "3"}})).NotTo(Equal(both))
	g.Expect(policy.ApprovalOf([]policy.Source{{Key: "x", Revision: "2"}, {Key: "y", Revision: "1"}})).NotTo(Equal(both))
}
