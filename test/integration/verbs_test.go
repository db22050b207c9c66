// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"sync"
	"testing"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/test/guestbook"
	"github.com/stepgate/stepgate/webhook/settings"
)

// askAs runs `stepgate` as a user who may write ApplicationSets.
func (a *approvals) askAs(user string, args ...string) answer {
	return a.ask(append(args, "--as", user, "--as-group", writers, "--as-group", "system:authenticated")...)
}

// TestTheCommandLineApproves approves step 3 with the binary, and the sync of prod goes through.
func TestTheCommandLineApproves(t *testing.T) {
	a := newApprovals(t)
	name := a.namespace + "/guestbook"
	answered := a.askAs("alice", "approve", "guestbook")
	a.Expect(answered.code).To(Equal(2))
	a.Expect(answered.err).To(Equal("stepgate: no step of ApplicationSet " + name +
		" needs an approval: the annotation stepgate.io/approve is not set\n"))

	a.Expect(a.annotateAs("alice", map[string]any{settings.ApproveAnnotation: "3"})).To(Succeed())
	x, _ := a.explained("prod")
	a.Expect(x.Conditions).To(HaveLen(1))
	a.Expect(x.Conditions[0].Text).To(Equal("NotApproved: " + guestbook.NewCommit[:7]))
	answered = a.askAs("alice", "approve", "guestbook", "--dry-run")
	a.Expect(answered.code).To(Equal(0), answered.err)
	a.Expect(answered.out).To(And(ContainSubstring("Approved by alice at "),
		HaveSuffix("This was a server dry run: nothing is stored.\n")))
	a.Expect(a.annotated()).NotTo(HaveKey(settings.ApprovedAnnotation))

	answered = a.askAs("alice", "approve", "guestbook", "-v")
	a.Expect(answered.code).To(Equal(0), answered.err)
	a.Expect(answered.out).To(And(
		ContainSubstring("step 3 of 3"), ContainSubstring(guestbook.NewCommit),
		MatchRegexp(`Approved by alice at 20\d\d-\S+Z\.`),
		ContainSubstring(
			"$ kubectl -n "+a.namespace+" annotate applicationset guestbook --overwrite stepgate.io/approved=3@"+guestbook.NewCommit,
		),
	))
	a.Expect(a.stamps()).To(Equal([]stamp{{Step: 3, Of: guestbook.NewCommit, By: "alice"}}))
	x, _ = a.explained("prod")
	a.Expect(x.Conditions).To(HaveLen(1))
	a.Expect(x.Conditions[0].Text).To(HavePrefix("approved by alice at "))
	answered = a.askAs("bob", "approve", "guestbook", "--step", "3")
	a.Expect(answered.out).To(ContainSubstring("It is approved already."))
	a.Expect(a.stamps()).To(Equal([]stamp{{Step: 3, Of: guestbook.NewCommit, By: "alice"}}))
}

// TestTheCommandLineShowsRefusals approves as somebody who may not.
func TestTheCommandLineShowsRefusals(t *testing.T) {
	a := newApprovals(t, "--approver=probe")
	a.Expect(a.annotateAs("alice", map[string]any{settings.ApproveAnnotation: "3"})).To(Succeed())
	answered := a.askAs("bob", "approve", "guestbook")
	a.Expect(answered.code).To(Equal(2))
	a.Expect(answered.err).To(
		HavePrefix(`stepgate: admission webhook "approval.stepgate.io" denied the request: bob may not approve step 3 of ApplicationSet `),
	)
	a.Expect(answered.err).To(HaveSuffix("Next: ask somebody whom they name\n"))
	answered = a.ask("pause", "guestbook", "--as", "stranger")
	a.Expect(answered.code).To(Equal(2))
}

// TestTheCommandLinePauses pauses and resumes, while others write the ApplicationSet.
func TestTheCommandLinePauses(t *testing.T) {
	a := newApprovals(t)
	answered := a.askAs("alice", "pause", "guestbook", "--step", "2", "--reason", "INC-1234")
	a.Expect(answered.code).To(Equal(0), answered.err)
	a.Expect(answered.out).To(And(ContainSubstring("step 2 of 3 is paused."),
		MatchRegexp(`Paused by alice at \S+Z: INC-1234\.`)))
	x, _ := a.explained("qa")
	a.Expect(x.Reason).To(Equal("Paused"))
	a.Expect(x.Conditions[0].Text).To(MatchRegexp(`^Paused: INC-1234, by alice at \S+Z$`))
	a.Expect(a.ask("get").out).To(ContainSubstring("paused"))

	// Everybody pauses a step of their own, and somebody else writes the ApplicationSet without a pause.
	var all sync.WaitGroup
	answers := make([]answer, 3)
	for i := range answers {
		all.Go(func() {
			answers[i] = a.askAs(fmt.Sprintf("user-%d", i), "pause", "guestbook", "--step", fmt.Sprint(i+1))
		})
	}
	for i := range 20 {
		a.Expect(shared.Admin.Patch(a.ctx, &argo.ApplicationSet{ObjectMeta: a.Set.ObjectMeta},
			annotations(map[string]any{"note": fmt.Sprint(i)}))).To(Succeed())
	}
	all.Wait()
	for _, one := range answers {
		a.Expect(one.code).To(Equal(0), one.err)
	}
	a.Expect(a.annotated()).To(And(HaveKeyWithValue(settings.PauseAnnotation, "1,2,3: INC-1234"),
		HaveKeyWithValue("note", "19")))

	answered = a.askAs("bob", "resume", "guestbook", "--step", "2")
	a.Expect(answered.out).To(ContainSubstring("steps 1 and 3 of 3 are still paused."))
	a.Expect(a.askAs("bob", "resume", "guestbook").out).To(ContainSubstring("nothing is paused."))
	a.Expect(a.annotated()).To(And(Not(HaveKey(settings.PauseAnnotation)), Not(HaveKey(settings.PausedByAnnotation)),
		HaveKey("note")))
	answered = a.askAs("bob", "resume", "guestbook")
	a.Expect(answered).To(Equal(answer{out: a.namespace + "/guestbook: nothing is paused; there is nothing to resume.\n"}))
}
