// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/policy"
)

const (
	// longestMessage holds three names of 253 characters with their details, the ApplicationSet's name, and the way
	// out.
	longestMessage = 2048
)

// targetReasons are those that a denial without blockers alone has. Others it has as well as blockers have them.
var targetReasons = []policy.Reason{
	policy.TargetDeleting, policy.Paused, policy.ContentUnknown, policy.NotPinned, policy.AlreadySynced,
	policy.NotApproved, policy.Unverified, policy.WindowClosed, policy.MaxUpdateReached,
}

// FuzzEvaluate asks of any Input what checkProperties asks. `go test -fuzz FuzzEvaluate ./policy` looks for more.
func FuzzEvaluate(f *testing.F) {
	f.Add([]byte(nil))
	f.Add([]byte("a gate that cannot be walked round"))
	f.Add([]byte{3, 1, 0, 1, 1, 0, 1, 2, 0, 1, 3, 2, 0, 0, 1, 1, 4, 200, 17, 90, 3, 3, 3})
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		f.Add(randomBytes(random))
	}
	f.Fuzz(func(t *testing.T, data []byte) { checkProperties(t, inputFrom(data)) })
}

// TestPropertiesHold asks the same of many seeded inputs, and that they were worth asking.
func TestPropertiesHold(t *testing.T) {
	random, inputs := rand.New(rand.NewPCG(3, 4)), 20_000
	if testing.Short() {
		inputs /= 2
	}
	outcomes, reasons := map[policy.Outcome]int{}, map[policy.Reason]int{}
	for range inputs {
		in := inputFrom(randomBytes(random))
		d := checkProperties(t, in)
		outcomes[d.Outcome]++
		reasons[d.Reason]++
		followed := comesAfterItself(in, d)
		reasons[followed.Reason]++
		for _, b := range append(d.Blockers, followed.Blockers...) {
			reasons[b.Reason]++
		}
	}
	t.Log(outcomes, reasons)
	g := NewWithT(t)
	for _, outcome := range []policy.Outcome{policy.Deny, policy.Allow, policy.NotGated} {
		g.Expect(outcomes[outcome]).To(BeNumerically(">", inputs/20), "too few inputs with %s", outcome)
	}
	for _, reason := range policy.Reasons() {
		if reason == policy.AlreadySynced {
			continue // it is no decision of the rule
		}
		g.Expect(reasons[reason]).To(BeNumerically(">", 0), "no input with %s", reason)
	}
}

func randomBytes(r *rand.Rand) []byte {
	data := make([]byte, 300)
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	return data
}

func checkProperties(t *testing.T, in policy.Input) policy.Decision {
	t.Helper()
	g := NewWithT(t)
	d := policy.Evaluate(in)
	message := d.Message()

	again := policy.Evaluate(in)
	g.Expect(again).To(Equal(d), "evaluated twice")
	g.Expect(again.Message()).To(Equal(message), "evaluated twice")

	aboutTarget := d.Detail != "" || slices.Contains(targetReasons, d.Reason)
	g.Expect(len(d.Blockers) > 0).To(Equal(d.Outcome == policy.Deny && !aboutTarget ||
		d.Reason == policy.TooManyFailures),
		"a Deny has blockers or is about the target, nothing else is: %+v", d)
	if len(d.Blockers) > 0 {
		g.Expect(d.Reason).To(Equal(d.Blockers[0].Reason))
	}
	g.Expect(policy.Reasons()).To(ContainElement(d.Reason))
	checkText(g, message)
	for _, b := range d.Blockers {
		last := d.Step - 1
		if d.Reason == policy.TooManyFailures {
			last = d.Step
		}
		g.Expect(b.Step).To(And(BeNumerically(">=", 0), BeNumerically("<=", last)))
		checkText(g, b.Detail)
	}
	checkOrder(g, in, d)
	checkDoneSiblings(g, in, d)
	checkLevels(g, in)
	checkAlone(g, in, d)
	checkConditions(g, in, d)
	checkTime(g, in, d)
	checkFollow(g, in, d)
	return d
}

// checkText asks for one line of characters that can be seen, of bounded length: it is stored in conditions and shown on
// terminals.
func checkText(g *WithT, text string) {
	g.Expect(utf8.RuneCountInString(text)).To(BeNumerically("<=", longestMessage))
	for _, r := range text {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			g.Expect(text).To(BeEmpty(), "holds the character %U", r)
		}
	}
}

// checkConditions asks that a condition only ever denies what would be allowed, and that Unmet gives the one that
// denies.
func checkConditions(g *WithT, in policy.Input, d policy.Decision) {
	without := in
	without.Settings.Conditions, without.Window, without.Slots = policy.Conditions{}, policy.Window{}, nil
	if plain := policy.Evaluate(without); d.Outcome != policy.Deny {
		g.Expect(plain.Outcome).To(Equal(d.Outcome), "without conditions it is %+v", plain)
	}
	unmet := policy.Unmet(in)
	for _, one := range unmet {
		g.Expect(one.Outcome).To(Equal(policy.Deny))
		g.Expect(one.Reason.Condition()).To(BeTrue(), "%s", one.Reason)
		checkText(g, one.Message())
	}
	if d.Reason.Condition() {
		reasons := []policy.Reason{}
		for _, one := range unmet {
			reasons = append(reasons, one.Reason)
		}
		g.Expect(reasons).To(ContainElement(d.Reason))
	}
}

// checkTime asks that what is allowed stays allowed as time passes, and that what ends by itself does so when it says.
func checkTime(g *WithT, in policy.Input, d policy.Decision) {
	later := in
	later.Now = in.Now.Add(time.Hour)
	if d.Outcome == policy.Allow {
		g.Expect(policy.Evaluate(later)).To(Equal(d), "an hour later")
	}
	if d.Reason != policy.Soaking || d.NotBefore.IsZero() {
		return
	}
	g.Expect(d.NotBefore).To(BeTemporally(">", in.Now))
	later.Now = d.NotBefore.Add(-time.Nanosecond)
	g.Expect(policy.Evaluate(later).Reason).To(Equal(policy.Soaking), "just before")
	later.Now = d.NotBefore
	g.Expect(policy.Evaluate(later).Reason).NotTo(Equal(policy.Soaking), "at that moment")
}

// checkOrder asks that the order in which a LIST answers never matters.
func checkOrder(g *WithT, in policy.Input, want policy.Decision) {
	reversed := in
	reversed.Siblings = slices.Clone(in.Siblings)
	slices.Reverse(reversed.Siblings)
	rotated := in
	if half := len(in.Siblings) / 2; half > 0 {
		rotated.Siblings = slices.Concat(in.Siblings[half:], in.Siblings[:half])
	}
	for _, other := range []policy.Input{reversed, rotated} {
		d := policy.Evaluate(other)
		g.Expect(d).To(Equal(want), "in another order")
		g.Expect(d.Message()).To(Equal(want.Message()), "in another order")
	}
}

// checkDoneSiblings asks that one more Application that is done never holds anybody up. Where the soak time cannot be
// read, nobody is done for long enough, and a share of a step grows with the step.
func checkDoneSiblings(g *WithT, in policy.Input, before policy.Decision) {
	if c := in.Settings.Conditions; c.Soak.Unreadable || before.Step == 0 && c.MaxFailures != nil &&
		c.MaxFailures.Percent {
		return
	}
	done := policy.Application{
		Name: "one-more", Labels: map[string]string{"step": "1"}, Health: "Healthy", SyncStatus: "Synced",
		SpecCompared: true, ReconciledAt: second("1000000"),
	}
	bySource := done
	bySource.Compared = in.Target.Wanted
	for _, sibling := range []*policy.Application{&done, &bySource} {
		more := in
		more.Siblings = append(slices.Clone(in.Siblings), siblingOf(in.ApplicationSet, sibling))
		more.History.Of = func(name string) policy.Past {
			if name == sibling.Name {
				return policy.Past{Freshness: policy.Fresh}
			}
			return in.History.Of(name)
		}
		g.Expect(policy.Evaluate(more)).To(Equal(before), "one more that is done")
	}
}

// checkLevels asks that a stricter level never admits what a less strict one denies, and drops no blocker of it.
func checkLevels(g *WithT, in policy.Input) {
	var blocked []string
	for _, level := range []policy.Require{policy.RequireHealth, policy.RequireCompleted, policy.RequireRevision} {
		in.Settings.Require = level
		d := policy.Evaluate(in)
		names := []string{}
		for _, b := range d.Blockers {
			if b.Reason != policy.TooManyFailures {
				names = append(names, b.Application)
			}
		}
		for _, name := range blocked {
			if !slices.Contains(names, name) {
				g.Expect(names).To(ContainElement(name), "at %s", level)
			}
		}
		blocked = names
	}
}

// checkAlone asks that each blocker blocks alone, and that nobody else does.
func checkAlone(g *WithT, in policy.Input, d policy.Decision) {
	open, settled := policy.Scope(in)
	if settled {
		return
	}
	alone := []policy.Blocker{}
	live := map[string]bool{}
	for _, sibling := range in.Siblings {
		live[sibling.Name] = true
		if b, blocks := policy.BlockedBy(in, open.Step, sibling.Name, sibling.Application); blocks {
			alone = append(alone, b)
		}
	}
	for name := range in.ApplicationSet.Recorded {
		if b, blocks := policy.BlockedBy(in, open.Step, name, nil); blocks && !live[name] {
			alone = append(alone, b)
		}
	}
	if d.Reason == policy.TooManyFailures {
		d.Blockers = nil // they are counted
	}
	g.Expect(alone).To(ConsistOf(d.Blockers))
}

// TestARecordedNameCannotBreakTheMessage has its own input: unlike the name of an Application, which the API server
// checks, the names in an ApplicationSet's status are whatever somebody wrote there.
func TestARecordedNameCannotBreakTheMessage(t *testing.T) {
	for name, recorded := range map[string]string{
		"control characters":    "dev\n\x1b[31m",
		"not ASCII":             "d\u202eev",
		"a hundred thousand":    string(slices.Repeat([]byte("x"), 100_000)),
		"a name that is no end": "dev (NotHealthy); all is well\r",
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			in := scenario("> 2:prod | dev/1")
			in.ApplicationSet.Recorded = map[string]policy.Recorded{recorded: {Step: 1}}
			d := policy.Evaluate(in)
			g.Expect(d.Outcome).To(Equal(policy.Deny), "what cannot be read must not be skipped")
			g.Expect(d.Reason).To(Equal(policy.NotGenerated))
			checkText(g, d.Message())
			checkText(g, d.Blockers[0].Application)
		})
	}
}
