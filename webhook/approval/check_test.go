// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestCheck(t *testing.T) {
	const (
		written = "annotation stepgate.io/approved-by is written by stepgate: leave it out"
		pause   = "annotation stepgate.io/paused-by is written by stepgate: leave it out"
		mayNot  = "alice may not approve step 3 of ApplicationSet argocd/guestbook: stepgate's --approver and " +
			"--approver-group do not name this user or a group of this user. Next: ask somebody whom they name"
		noStamps = "3@" + commitA + " of annotation stepgate.io/approved has no stamp in stepgate.io/approved-by: the API " +
			"server has not called stepgate's mutating webhook, which writes it. " +
			"Next: write stepgate.io/approved again, and if this lasts, run stepgate doctor"
	)
	three := "3@" + commitA
	bobs, alices := stampText(3, commitA, "bob", earlierText), stampText(3, commitA, "alice", noonText)
	at := func(d time.Duration) string { return stampText(3, commitA, "alice", moment(noon.Add(d))) }
	with := func(all map[string]string, more ...string) map[string]string {
		all = maps.Clone(all)
		for i := 0; i < len(more); i += 2 {
			all[more[i]] = more[i+1]
		}
		return all
	}
	onlyBob, friends := Approvers{Users: []string{"bob"}}, Approvers{Groups: []string{"staff", "sre"}}
	for name, tc := range map[string]struct {
		old, new  map[string]string
		approvers Approvers
		user      string
		want      string
	}{
		"an ordinary write":                           {old: of("", ""), new: of("", ""), approvers: onlyBob},
		"an approval":                                 {new: of(three, alices)},
		"an approval, stamped a minute ago":           {new: of(three, at(-time.Minute))},
		"an approval, stamped by a clock ahead":       {new: of(three, at(time.Minute))},
		"an approval, stamped long ago":               {new: of(three, at(-62*time.Second)), want: written},
		"an approval, stamped in the future":          {new: of(three, at(62*time.Second)), want: written},
		"an approval in somebody else's name":         {new: of(three, bobs), want: written},
		"a second stamp for an approval":              {new: of(three, alices+","+bobs), want: written},
		"a stamp for another step":                    {new: of(three, alices+","+stampText(2, commitA, "bob", noonText)), want: written},
		"a stamp alone":                               {new: of("", alices), want: written},
		"a stamp in another form":                     {new: with(of(three, ""), ApprovedBy, "[ "+alices+"]"), want: written},
		"a stamp with a hidden second user":           {new: of(three, strings.Replace(alices, "}", `,"BY":"bob"}`, 1)), want: written},
		"stamps that are no JSON":                     {new: with(of(three, ""), ApprovedBy, "{"), want: written},
		"an approval without a stamp":                 {new: of(three, ""), want: noStamps},
		"an approval with a stamp left behind":        {old: of("", bobs), new: of(three, bobs), want: noStamps},
		"an approval beside one that is kept":         {old: of("2@"+commitB, stampText(2, commitB, "bob", earlierText)), new: of(three+",2@"+commitB, alices+","+stampText(2, commitB, "bob", earlierText))},
		"the stamp of one that is kept, with my name": {old: of("2@"+commitB, stampText(2, commitB, "bob", earlierText)), new: of(three+",2@"+commitB, alices+","+stampText(2, commitB, "alice", earlierText)), want: written},
		"the stamp of one that is kept, a second off": {old: of(three, alices), new: of(three, at(-time.Second)), want: written},
		"a claim for an old one without a stamp":      {old: of(three, ""), new: of(three, alices), want: written},
		"a removed approval":                          {old: of(three, bobs), new: of("", ""), approvers: onlyBob},
		"a removed approval, its stamp left":          {old: of(three, bobs), new: of("", bobs), approvers: onlyBob},
		"removed stamps":                              {old: of(three, bobs), new: of(three, ""), approvers: onlyBob},
		"an approval of a user who may":               {new: of(three, alices), approvers: Approvers{Users: []string{"bob", "alice"}}},
		"an approval of a user who may not":           {new: of(three, alices), approvers: onlyBob, want: mayNot},
		"an approval of a group that may":             {new: of(three, alices), approvers: friends},
		"a group with the name of a user":             {new: of(three, alices), approvers: Approvers{Users: []string{"sre"}}, want: mayNot},
		"a user with the name of a group":             {new: of(three, alices), approvers: Approvers{Groups: []string{"alice"}}, want: mayNot},
		"approvals of several steps":                  {new: of(three+",1@1.0,2@1.0,3@1.0", ""), approvers: onlyBob, want: strings.Replace(mayNot, "step 3", "steps 1, 2 and 3", 1)},
		"who may not leaves an approval as it is":     {old: of(three, bobs), new: of(three, bobs), approvers: onlyBob},
		"who may not writes what cannot be read":      {new: of("3@78de5d3", ""), approvers: onlyBob},
		"who may not adds one again":                  {old: of("", bobs), new: of(three, alices), approvers: onlyBob, want: mayNot},
		"a user with a strange name":                  {new: of(three, alices), approvers: onlyBob, user: "a\nb", want: strings.Replace(mayNot, "alice", "a?b", 1)},
		"a user without a name":                       {new: of(three, ""), user: "-", want: "a user whose name has no character, or more than 512, may not approve step 3 of ApplicationSet argocd/guestbook"},
		"a pause":                                     {new: map[string]string{Pause: "all", PausedBy: "alice at " + noonText}, approvers: onlyBob},
		"a pause, stamped a second ago":               {new: map[string]string{Pause: "all", PausedBy: "alice at " + moment(noon.Add(-time.Second))}},
		"a pause, stamped long ago":                   {new: map[string]string{Pause: "all", PausedBy: "alice at " + earlierText}, want: pause},
		"a pause without a stamp":                     {new: map[string]string{Pause: "all"}},
		"a pause in somebody else's name":             {new: map[string]string{Pause: "all", PausedBy: "bob at " + noonText}, want: pause},
		"another name for a pause that stays":         {old: map[string]string{Pause: "all", PausedBy: "bob at " + earlierText}, new: map[string]string{Pause: "all", PausedBy: "alice at " + noonText}, want: pause},
		"a stamp without a pause":                     {new: map[string]string{PausedBy: "alice at " + noonText}, want: pause},
		"the end of a pause":                          {old: map[string]string{Pause: "all", PausedBy: "bob at " + earlierText}, new: map[string]string{}},
		"the end of a pause, its stamp left":          {old: map[string]string{Pause: "all", PausedBy: "bob at " + earlierText}, new: map[string]string{PausedBy: "bob at " + earlierText}},
	} {
		t.Run(name, func(t *testing.T) {
			user := "alice"
			if tc.user != "" {
				user = strings.TrimPrefix(tc.user, "-")
			}
			got := Check(Write{
				Set: "argocd/guestbook", Old: tc.old, New: tc.new, User: user, Groups: []string{"system:authenticated", "sre"}, At: noon,
			}, tc.approvers)
			NewWithT(t).Expect(got).To(Equal(tc.want))
		})
	}
}

func TestCheckTooMany(t *testing.T) {
	g := NewWithT(t)
	var entries []string
	for i := range 65 {
		entries = append(entries, fmt.Sprintf("1@1.2.%d", i))
	}
	all := of(strings.Join(entries, ","), "")
	all[ApprovedBy] = Stamped(nil, all, "alice", noon)[ApprovedBy]
	g.Expect(Check(Write{Set: "a/b", New: all, User: "alice", At: noon}, Approvers{})).To(Equal(
		"annotation stepgate.io/approved of ApplicationSet a/b has more than 64 entries. Next: remove those that are no longer needed"))
	g.Expect(Check(Write{
		Set: "a/b", Old: all, New: all, User: "alice", At: noon,
	}, Approvers{})).To(BeEmpty(), "whoever writes something else is not refused")
}

// TestCheckTooLong refuses what makes approvals too long to be read, and nothing else: not that somebody writes what is
// beside them.
func TestCheckTooLong(t *testing.T) {
	const long = "the approvals of ApplicationSet a/b, or their stamps, have more than 8192 bytes. Next: remove those " +
		"from annotation stepgate.io/approved that are no longer needed"
	for name, tc := range map[string]struct {
		tooLong []string
		want    string
	}{
		"approvals":          {[]string{Approved}, long},
		"stamps":             {[]string{ApprovedBy}, long},
		"who has paused":     {[]string{PausedBy}, leaveOut(PausedBy)},
		"another annotation": {[]string{"stepgate.io/verify"}, ""},
	} {
		w := Write{Set: "a/b", TooLong: tc.tooLong, User: "alice", At: noon}
		NewWithT(t).Expect(Check(w, Approvers{})).To(Equal(tc.want), name)
	}
}

// TestCheckGarbage refuses more entries than count even if none can be read: whoever removes some of them later would
// otherwise be taken for who approves the others.
func TestCheckGarbage(t *testing.T) {
	g := NewWithT(t)
	garbage := of(strings.Repeat("x,", 64)+"3@1.2.3", "")
	w := Write{Set: "a/b", New: garbage, User: "eve", At: noon}
	g.Expect(Check(w, Approvers{})).To(ContainSubstring("more than 64 entries"))
	g.Expect(Check(Write{Set: "a/b", Old: garbage, New: garbage, User: "eve", At: noon}, Approvers{})).To(BeEmpty())
}
