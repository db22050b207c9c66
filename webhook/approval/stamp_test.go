// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 999, time.FixedZone("CET", 3600))

const (
	noonText    = "2026-11-22T11:00:00Z"
	earlierText = "2026-11-20T08:00:00Z"
)

// stampText is an element of ApprovedBy.
func stampText(step int, of, by, at string) string {
	return fmt.Sprintf(`{"step":%d,"of":"%s","by":"%s","at":"%s"}`, step, of, by, at)
}

// of are annotations, without the empty ones.
func of(approved, approvedBy string) map[string]string {
	all := map[string]string{"other": "x"}
	if approved != "" {
		all[Approved] = approved
	}
	if approvedBy != "" {
		all[ApprovedBy] = "[" + approvedBy + "]"
	}
	return all
}

func TestStampsOfApprovals(t *testing.T) {
	three, two := "3@"+commitA, "2@"+commitB
	bobs, alices := stampText(3, commitA, "bob", earlierText), stampText(3, commitA, "alice", noonText)
	for name, tc := range map[string]struct {
		before, after map[string]string
		user          string
		want          string
	}{
		"no approval":                         {of("", ""), of("", ""), "", ""},
		"a new approval":                      {of("", ""), of(three, ""), "", alices},
		"an approval of a new ApplicationSet": {nil, of(three, ""), "", alices},
		"an old approval keeps its stamp":     {of(three, bobs), of(three, bobs), "", bobs},
		"a removed stamp comes back":          {of(three, bobs), of(three, ""), "", bobs},
		"a second approval":                   {of(three, bobs), of(two+","+three, bobs), "", stampText(2, commitB, "alice", noonText) + "," + bobs},
		"another revision of the step":        {of(three, bobs), of("3@"+commitB, bobs), "", stampText(3, commitB, "alice", noonText)},
		"a removed approval":                  {of(three, bobs), of("", bobs), "", ""},
		"a claim counts for nothing":          {of("", ""), of(three, bobs), "", alices},
		"a stamp that was left behind":        {of("", bobs), of(three, bobs), "", alices},
		"an old approval without a stamp":     {of(three, ""), of(three, ""), "", ""},
		"and a claim for it":                  {of(three, ""), of(three, bobs), "", ""},
		"an entry that cannot be read":        {of("", ""), of("3@78de5d3", ""), "", ""},
		"a stamp without a time":              {of(three, stampText(3, commitA, "bob", "soon")), of(three, ""), "", ""},
		"a stamp without a user":              {of(three, stampText(3, commitA, "", earlierText)), of(three, ""), "", ""},
		"two stamps for one entry":            {of(three, bobs+","+stampText(3, commitA, "eve", earlierText)), of(three, ""), "", bobs},
		"the order of the entries":            {of("", ""), of(three+","+two, ""), "", alices + "," + stampText(2, commitB, "alice", noonText)},
		"a user with quotes, commas and more": {of("", ""), of(three, ""), `O="x", CN=Ädam at <y>`, stampText(3, commitA, `O=\"x\", CN=Ädam at \u003cy\u003e`, noonText)},
		"a user name that is no UTF-8":        {of("", ""), of(three, ""), "a\xff", stampText(3, commitA, "a\ufffd", noonText)},
		"a user with a name that is too long": {of("", ""), of(three, ""), strings.Repeat("x", 513), ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			user := "alice"
			if tc.user != "" {
				user = tc.user
			}
			want := map[string]string{}
			if tc.want != "" {
				want[ApprovedBy] = "[" + tc.want + "]"
			}
			got := Stamped(tc.before, tc.after, user, noon)
			g.Expect(got).To(Equal(want))
			for name, text := range got {
				tc.after[name] = text
			}
			g.Expect(Stamped(tc.before, tc.after, user, noon)).To(Equal(got), "again")
		})
	}
}

func TestStampsAreBounded(t *testing.T) {
	g := NewWithT(t)
	var entries []string
	for i := range 70 {
		entries = append(entries, fmt.Sprintf("1@1.2.%d", i))
	}
	after := of(strings.Join(entries, ","), "")
	after[ApprovedBy] = Stamped(nil, after, "alice", noon)[ApprovedBy]
	approvals, problems := Approvals(after, ofSteps(3))
	g.Expect(approvals).To(HaveLen(64))
	g.Expect(problems).To(Equal([]Problem{
		{Approved, "it has more than 64 entries, and the others approve nothing: remove those that are no longer needed"},
	}))

	// An entry that comes within the bound because others go is not written by who removes them.
	fewer := of(strings.Join(entries[10:], ","), "")
	fewer[ApprovedBy] = Stamped(after, fewer, "eve", noon)[ApprovedBy]
	g.Expect(fewer[ApprovedBy]).NotTo(ContainSubstring("eve"))
	approvals, _ = Approvals(fewer, ofSteps(3))
	g.Expect(approvals).To(HaveLen(54))
}

func TestPausedBy(t *testing.T) {
	pause := func(pause, reason, by string) map[string]string {
		all := map[string]string{Pause: pause}
		if reason != "" {
			all[Pause] += ": " + reason
		}
		if by != "" {
			all[PausedBy] = by
		}
		return all
	}
	for name, tc := range map[string]struct {
		before, after map[string]string
		want          string
	}{
		"no pause":                       {nil, nil, ""},
		"a new pause":                    {nil, pause("all", "", ""), "alice at " + noonText},
		"an empty pause":                 {nil, pause("", "", ""), "alice at " + noonText},
		"a pause that stays":             {pause("all", "x", "bob at T"), pause("all", "x", ""), "bob at T"},
		"a pause that changes":           {pause("all", "x", "bob at T"), pause("3", "x", "bob at T"), "alice at " + noonText},
		"a reason that changes":          {pause("all", "x", "bob at T"), pause("all", "y", "bob at T"), "alice at " + noonText},
		"a pause that ends":              {pause("all", "x", "bob at T"), of("", ""), ""},
		"a pause of nobody knows whom":   {pause("all", "x", ""), pause("all", "x", "eve at T"), ""},
		"a claim beside a new pause":     {nil, pause("all", "", "bob at T"), "alice at " + noonText},
		"a claim that was left behind":   {map[string]string{PausedBy: "bob at T"}, pause("all", "", "bob at T"), "alice at " + noonText},
		"a claim without a pause at all": {nil, map[string]string{PausedBy: "bob at T"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(Stamped(tc.before, tc.after, "alice", noon)[PausedBy]).To(Equal(tc.want))
		})
	}
}

func TestApprovals(t *testing.T) {
	g := NewWithT(t)
	approvals, problems := Approvals(of("3@"+commitA+",2@"+commitB+",9@"+commitA,
		stampText(3, commitA, "bob", earlierText)+","+stampText(9, commitA, "bob", earlierText)), ofSteps(3))
	g.Expect(approvals).To(HaveLen(1))
	g.Expect(approvals[0].Step).To(Equal(2))
	g.Expect(approvals[0].What).To(Equal(commitA))
	g.Expect(approvals[0].By).To(Equal("bob"))
	g.Expect(approvals[0].At).To(BeTemporally("==", time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)))
	g.Expect(problems).To(Equal([]Problem{
		{Approved, `"9@` + commitA + `": there is no step 9: the ApplicationSet has the steps 1 to 3`},
		{Approved, "2@" + commitB + " has no stamp in stepgate.io/approved-by, and approves nothing: remove the entry, and then write it again"},
	}))

	approvals, problems = Approvals(map[string]string{Approved: "3@" + commitA, ApprovedBy: "{"}, ofSteps(3))
	g.Expect(approvals).To(BeEmpty())
	g.Expect(problems).To(Equal([]Problem{
		{ApprovedBy, "it is not the JSON that stepgate writes: remove both annotations, and approve again"},
	}))

	approvals, problems = Approvals(map[string]string{
		Approved: "3@" + commitA, ApprovedBy: strings.Repeat(" ", 130<<10),
	}, ofSteps(3))
	g.Expect(approvals).To(BeEmpty())
	g.Expect(problems).To(HaveLen(1))

	approvals, problems = Approvals(of("", stampText(3, commitA, "bob", earlierText)), ofSteps(3))
	g.Expect(approvals).To(BeEmpty(), "a stamp alone approves nothing")
	g.Expect(problems).To(BeEmpty())
}
