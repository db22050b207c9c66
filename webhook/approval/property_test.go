// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"pgregory.net/rapid"

	"github.com/stepgate/stepgate/policy"
)

// people have names that somebody could take for one another's.
var people = []string{
	"alice", "bob", "eve", `bob","at":"2026-11-22T11:00:00Z"},{"by":"alice`, "alice at 2026-11-22T11:00:00Z", "Ädam,\n",
}

// story is an ApplicationSet that people write, with stepgate beside it.
type story struct {
	stored map[string]string
	now    time.Time
	// authors are who wrote the entries that are there.
	authors map[Entry]string
	// admitted and refused count the writes.
	admitted, refused int
}

// sent is the condition under which the API server calls the validating webhook.
func (s *story) sent(after map[string]string) bool {
	w := Write{Old: s.stored, New: after}
	return w.changed(Approved) || w.changed(ApprovedBy) || w.changed(PausedBy)
}

// write is one write of a user, who may have the clock of another replica judge it, and whom the mutating webhook may
// have missed.
func (s *story) write(user string, after map[string]string, mutated bool, ahead time.Duration) {
	added := Added(s.stored, after)
	if mutated {
		after = Mutate(s.stored, after, user, s.now)
	}
	if s.sent(after) && Check(Write{Set: "a/b", Old: s.stored, New: after, User: user, At: s.now.Add(ahead)},
		Approvers{}) != "" {
		s.refused++
		return
	}
	s.admitted++
	s.stored = after
	for _, e := range added {
		s.authors[e] = user
	}
	there := map[Entry]bool{}
	for _, e := range entriesOf(after) {
		there[e] = true
	}
	maps.DeleteFunc(s.authors, func(e Entry, _ string) bool { return !there[e] })
}

// TestNobodyApprovesForAnother lets people write whatever they like, and looks at whose approvals come of it.
func TestNobodyApprovesForAnother(t *testing.T) {
	var admitted, refused, approved, missed int
	rapid.Check(t, func(r *rapid.T) {
		g := NewWithT(r)
		s := &story{stored: map[string]string{}, now: noon, authors: map[Entry]string{}}
		var seen []map[string]string
		for range rapid.IntRange(25, 50).Draw(r, "writes") {
			s.now = s.now.Add(rapid.SampledFrom([]time.Duration{0, time.Second, time.Minute, time.Hour}).Draw(r, "later"))
			user := rapid.SampledFrom(people).Draw(r, "user")
			after := drawAnnotations(r, s, seen, user)
			mutated := rapid.Bool().Draw(r, "mutated")
			s.write(user, after, mutated, rapid.SampledFrom([]time.Duration{0, time.Second, -time.Second}).Draw(r, "ahead"))
			if by := s.stored[PausedBy]; by != "" && (len(seen) == 0 || by != seen[len(seen)-1][PausedBy]) {
				g.Expect(by).To(HavePrefix(user + " at "))
			}
			seen = append(seen, maps.Clone(s.stored))

			approvals, _ := Approvals(s.stored, ofSteps(3))
			for _, a := range approvals {
				author := s.authors[Entry{policy.StepNumber(a.Step), a.What}]
				g.Expect(a.By).To(Equal(clean(author)), "%v", s.stored)
				g.Expect(a.At).NotTo(BeTemporally(">", s.now.Add(2*tolerance)))
				approved++
			}
			if len(approvals) < len(entriesOf(s.stored)) {
				missed++
			}
		}
		admitted, refused = admitted+s.admitted, refused+s.refused
	})
	t.Log(admitted, refused, approved, missed)
	g := NewWithT(t)
	for _, n := range []int{admitted, refused, approved} {
		g.Expect(n).To(BeNumerically(">", 0), "something was drawn that means something")
	}
}

// drawAnnotations are the annotations of a write: those that are stored, edited, or those of an earlier time.
func drawAnnotations(r *rapid.T, s *story, seen []map[string]string, user string) map[string]string {
	after := maps.Clone(s.stored)
	if len(seen) > 0 && rapid.IntRange(0, 5).Draw(r, "rolls back") == 0 {
		return maps.Clone(rapid.SampledFrom(seen).Draw(r, "earlier"))
	}
	set := func(key, value string) {
		if delete(after, key); value != "" {
			after[key] = value
		}
	}
	if rapid.Bool().Draw(r, "approves") {
		entries := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{
			"3@" + commitA, "3@1.0", " 3 @1.0", "03@1.0", "3@78de5d3",
		}), 0, 2, rapid.ID[string]).Draw(r, "entries")
		set(Approved, strings.Join(entries, ","))
	}
	switch rapid.IntRange(0, 7).Draw(r, "stamps") {
	case 0:
		set(ApprovedBy, "")
	case 1, 2, 3:
		set(ApprovedBy, drawStamps(r, s, user))
	}
	if rapid.Bool().Draw(r, "pauses") {
		set(Pause, rapid.SampledFrom([]string{"", "all", "3"}).Draw(r, "pause"))
		set(PausedBy, rapid.SampledFrom([]string{
			"", s.stored[PausedBy], "bob at " + moment(s.now), user + " at " + moment(s.now),
		}).Draw(r, "paused by"))
	}
	return after
}

// drawStamps are stamps that somebody makes up.
func drawStamps(r *rapid.T, s *story, user string) string {
	forged := stamps{}
	var order []Entry
	for _, e := range []Entry{{3, commitA}, {3, "1.0"}} {
		if rapid.IntRange(0, 3).Draw(r, "forges") > 0 {
			by := rapid.SampledFrom(append([]string{user}, people...)).Draw(r, "by")
			at := s.now.Add(rapid.SampledFrom([]time.Duration{0, 0, 0, -time.Hour, time.Hour}).Draw(r, "at"))
			forged[e] = stamp{Step: e.Number, Of: e.What, By: clean(by), At: moment(at)}
			order = append(order, e)
		}
	}
	text := forged.written(order)
	if old := s.stored[ApprovedBy]; old != "" && text != "" && rapid.Bool().Draw(r, "beside") {
		text = fmt.Sprintf("%s,%s", strings.TrimSuffix(old, "]"), strings.TrimPrefix(text, "["))
	}
	return text
}
