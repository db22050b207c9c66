// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/policy"
)

// afterRow is a target that comes after infra: an ApplicationSet whose Applications a scenario spells, all of them
// compared freshly unless the row says otherwise.
type afterRow struct {
	members string
	edit    func(in *policy.Input, infra *policy.Dependency)
	want    string
}

const comesAfter = "step 3 of ApplicationSet argocd/guestbook may not sync yet: it comes after infra, which is not done: "

func afterRows() map[string]afterRow {
	set := func(edit func(*policy.ApplicationSet)) func(*policy.Input, *policy.Dependency) {
		return func(_ *policy.Input, infra *policy.Dependency) { edit(infra.Set) }
	}
	const allowed = "allow (EarlierStepsDone)"
	const create = ". Next: create what the annotation stepgate.io/after names, or correct that"
	return map[string]afterRow{
		"all of it is done":          {"1:net 2:db", nil, allowed},
		"one is OutOfSync":           {"1:net=Healthy/OutOfSync 2:db", nil, comesAfter + "net (NotCompleted: OutOfSync). Next: sync net first: argocd app sync net"},
		"one in no step is Degraded": {"0:net=Degraded", nil, comesAfter + "net (NotHealthy: Degraded). Next: wait until net is Healthy, or repair it"},
		"one syncs":                  {"1:net,running", nil, comesAfter + "net (OperationInProgress). Next: wait until the operation of net has ended"},
		"one is at another revision": {"1:net@z", nil, allowed},
		"one is being deleted":       {"1:net=Degraded,deleting 1:db", nil, allowed},
		"one is not generated any more": {"1:net=Degraded 1:db", set(func(s *policy.ApplicationSet) {
			s.Steps, s.Recorded = []policy.Step{{}}, map[string]policy.Recorded{"net": {Step: -1}}
		}), allowed},
		"one is in no step, and is recorded like that": {"1:net=Degraded 1:db", set(func(s *policy.ApplicationSet) {
			s.Recorded = map[string]policy.Recorded{"net": {Step: -1}}
		}), comesAfter + "net (NotHealthy: Degraded). Next: wait until net is Healthy, or repair it"},
		"one is recorded, and does not exist": {"1:net", set(func(s *policy.ApplicationSet) { s.Recorded = map[string]policy.Recorded{"db": {Step: 1}} }), comesAfter +
			"db (NotGenerated: it does not exist yet). Next: wait until the ApplicationSet controller has created db"},
		"one that is not done is excluded": {"1:net=Degraded 1:db", func(_ *policy.Input, infra *policy.Dependency) {
			infra.Excluded = map[string]bool{"net": true}
		}, allowed},
		"one may not be generated any more": {"1:net=Degraded 1:db", set(func(s *policy.ApplicationSet) { s.Keeps = true }), comesAfter +
			"net (NotHealthy: Degraded, maybe not generated any more). Next: wait until net is Healthy, or repair it; if it is not " +
			"generated any more, delete it, or name it in stepgate.io/exclude of its ApplicationSet"},
		"one that does not exist is excluded": {"1:net", func(_ *policy.Input, infra *policy.Dependency) {
			infra.Set.Recorded = map[string]policy.Recorded{"db": {Step: 1}}
			infra.Excluded = map[string]bool{"db": true}
		}, allowed},
		"it has no Application, as it should be": {"", set(func(s *policy.ApplicationSet) { s.Generated = true }), allowed},
		"it has no Application yet":              {"", nil, comesAfter + "infra (DependencyNotFound: has generated no Application yet)" + create},
		"its controller reports an error": {"1:net", set(func(s *policy.ApplicationSet) { s.Failing = "no such project" }), comesAfter +
			"infra (NotGenerated: it reports an error: no such project). Next: repair the ApplicationSet infra"},
		"it is being deleted": {"1:net", set(func(s *policy.ApplicationSet) { s.Deleting = true }), comesAfter +
			"infra (DependencyNotFound: is being deleted)" + create},
		"it was not compared since the change": {"1:net", func(_ *policy.Input, infra *policy.Dependency) {
			infra.Past = func(*policy.Application) policy.Past { return policy.Past{} }
		}, comesAfter + "net (NotCompleted: not known to be compared since the change was seen). Next: refresh net: " +
			"argocd app get net --refresh"},
		"at level health that does not matter": {"1:net", func(in *policy.Input, infra *policy.Dependency) {
			in.Settings.Require = policy.RequireHealth
			infra.Past = func(*policy.Application) policy.Past { return policy.Past{} }
		}, allowed},
		"there is nothing of the name": {"", func(_ *policy.Input, infra *policy.Dependency) { infra.Set = nil }, comesAfter +
			"infra (DependencyNotFound: does not exist)" + create},
		"it is an Application": {"1:infra=Degraded", func(_ *policy.Input, infra *policy.Dependency) {
			infra.Own, infra.Set, infra.Members = infra.Members[0], nil, nil
		}, comesAfter + "infra (NotHealthy: Degraded). Next: wait until infra is Healthy, or repair it"},
		"it is an Application that is being deleted": {"1:infra,deleting", func(_ *policy.Input, infra *policy.Dependency) {
			infra.Own, infra.Set, infra.Members = infra.Members[0], nil, nil
		}, comesAfter + "infra (DependencyNotFound: is being deleted)" + create},
		"it is both, and the Application is sick": {"1:net", func(_ *policy.Input, infra *policy.Dependency) {
			infra.Own = &policy.Application{Name: "infra", Health: "Degraded", ReconciledAt: second("100")}
		}, comesAfter + "infra (NotHealthy: Degraded). Next: wait until infra is Healthy, or repair it"},
		"it is in another namespace": {"1:net=Degraded", func(_ *policy.Input, infra *policy.Dependency) { infra.Namespace = "platform" },
			"step 3 of ApplicationSet argocd/guestbook may not sync yet: it comes after platform/infra, which is not done: " +
				"platform/net (NotHealthy: Degraded). Next: wait until platform/net is Healthy, or repair it"},
		"it waits for the target": {"1:net=Degraded", func(_ *policy.Input, infra *policy.Dependency) {
			infra.Circle = func() string { return "guestbook > infra > guestbook" }
		}, "step 3 of ApplicationSet argocd/guestbook may not sync yet: it comes after infra, which is not done, in a " +
			"circle (guestbook > infra > guestbook): net (NotHealthy: Degraded). Next: take a name of the circle out of " +
			"stepgate.io/after, or wait until net is Healthy, or repair it"},
		"it waits for the target, and is done": {"1:net", func(_ *policy.Input, infra *policy.Dependency) {
			infra.Circle = func() string { return "guestbook > infra > guestbook" }
		}, allowed},
		"it is the target itself": {"1:prod=Degraded", func(_ *policy.Input, infra *policy.Dependency) {
			infra.Own, infra.Set, infra.Members = infra.Members[0], nil, nil
		}, allowed},
		"it has the target as a member in another namespace": {"1:argocd/prod=Degraded", func(_ *policy.Input, infra *policy.Dependency) {
			infra.Namespace = "platform"
		}, allowed},
		"it has a member in another namespace": {"1:team/net=Degraded", func(_ *policy.Input, infra *policy.Dependency) {
			infra.Namespace = "platform"
		}, "step 3 of ApplicationSet argocd/guestbook may not sync yet: it comes after platform/infra, which is not done: " +
			"team/net (NotHealthy: Degraded). Next: wait until team/net is Healthy, or repair it"},
		"it is the parent of the target": {"1:net=Degraded", func(in *policy.Input, infra *policy.Dependency) {
			infra.Own = &policy.Application{Name: "infra", Health: "Degraded", ReconciledAt: second("100")}
			infra.Set = &policy.ApplicationSet{Namespace: "argocd", Name: policy.NameOfParent("infra"), UID: "u", Waves: true}
			in.ApplicationSet = infra.Set
		}, "Application prod may not sync yet: it comes after infra, which is not done: infra (NotHealthy: Degraded). " +
			"Next: wait until infra is Healthy, or repair it"},
		"an Application of its own comes after it": {"1:net=Degraded", func(in *policy.Input, _ *policy.Dependency) {
			in.ApplicationSet = &policy.ApplicationSet{Namespace: "argocd"}
		}, "Application prod may not sync yet: it comes after infra, which is not done: net (NotHealthy: Degraded). " +
			"Next: wait until net is Healthy, or repair it"},
	}
}

func (r afterRow) decide() policy.Decision {
	in := scenario("1:dev > 3:prod")
	infra := policy.Dependency{
		Namespace: "argocd", Name: "infra", Set: &policy.ApplicationSet{Namespace: "argocd", Name: "infra"},
		Past: func(*policy.Application) policy.Past { return policy.Past{Freshness: policy.Fresh} },
	}
	for _, s := range scenario(r.members + " > 3:prod").Siblings {
		infra.Members = append(infra.Members, s.Application)
	}
	if r.edit != nil {
		r.edit(&in, &infra)
	}
	open := policy.Decision{Outcome: policy.NotGated, Reason: policy.NotManaged, Application: "prod", Step: -1}
	if len(in.ApplicationSet.Steps) > 0 {
		open = policy.Evaluate(in)
	}
	return policy.Follow(in, open, []policy.Dependency{infra}, "")
}

func TestFollow(t *testing.T) {
	for name, row := range afterRows() {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(row.decide().Message()).To(Equal(row.want))
		})
	}
}

func TestAnAnnotationThatCannotBeReadHoldsEverything(t *testing.T) {
	g := NewWithT(t)
	in := scenario("1:dev > 3:prod")
	d := policy.Follow(in, policy.Evaluate(in), nil, `"x y" is no name`)
	g.Expect(d.Outcome).To(Equal(policy.Deny))
	g.Expect(d.Message()).To(Equal("step 3 of ApplicationSet argocd/guestbook may not sync yet: prod " +
		"(DependencyNotFound: " +
		`the annotation stepgate.io/after cannot be read: "x y" is no name). Next: create what the annotation ` +
		"stepgate.io/after names, or correct that"))
}

// TestWhoFollowsNobody is let through whatever is not done.
func TestWhoFollowsNobody(t *testing.T) {
	for text, follows := range map[string]bool{
		"1:dev > 3:prod": true, "1:dev > 1:prod": true, "1:dev > 0:prod": true, "1:dev > 3:prod | other": true,
		"1:dev > 3:prod | deleting": true,
		"1:dev > 3:prod,back":       false, "1:dev > 3:prod,dryrun": false,
		"1:dev > 3:prod,none": false,
	} {
		NewWithT(t).Expect(policy.Follows(scenario(text))).To(Equal(follows), text)
	}
	for name, settings := range map[string]policy.Settings{"off": {Off: true}, "bypassed": {Bypassed: true}} {
		in := scenario("1:dev > 3:prod")
		in.Settings = settings
		NewWithT(t).Expect(policy.Follows(in)).To(BeFalse(), name)
	}
}

// checkFollow asks of any Applications: who comes after them is let through only if each is done, and the order of the
// answers does not matter.
func checkFollow(g *WithT, in policy.Input, d policy.Decision) {
	followed := comesAfterItself(in, d)
	reversed := in
	reversed.Siblings = slices.Clone(in.Siblings)
	slices.Reverse(reversed.Siblings)
	g.Expect(comesAfterItself(reversed, d)).To(Equal(followed), "in another order")
	checkText(g, followed.Message())
	if followed.Outcome == policy.Deny {
		return
	}
	g.Expect(followed).To(Equal(d))
	for _, s := range in.Siblings {
		a, set := s.Application, in.ApplicationSet
		if set != nil && !a.Deleting && a.Name != in.Target.Name && !s.Orphan() {
			g.Expect(a.Health).To(Equal("Healthy"), "%+v", a)
			g.Expect(a.OperationSet || a.LastOperation.Running()).To(BeFalse(), "%+v", a)
		}
	}
}

// comesAfterItself is what is decided if the target comes after its own ApplicationSet.
func comesAfterItself(in policy.Input, d policy.Decision) policy.Decision {
	if in.ApplicationSet == nil || d.Outcome == policy.Deny {
		return d
	}
	dep := policy.Dependency{
		Namespace: "argocd", Name: "infra", Set: in.ApplicationSet,
		Past: func(a *policy.Application) policy.Past { return in.History.Past(a.Name) },
	}
	for _, s := range in.Siblings {
		dep.Members = append(dep.Members, s.Application)
	}
	unreadable := ""
	if in.ApplicationSet.Failing == "" && len(dep.Members) == 0 {
		unreadable = "hostile"
	}
	return policy.Follow(in, d, []policy.Dependency{dep}, unreadable)
}
