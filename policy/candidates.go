// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"cmp"
	"slices"
	"time"
)

// Candidate is something that a target could deploy, and what the rule says of it.
type Candidate struct {
	// Sources are what the target would deploy.
	Sources []Source
	// Compared says that it is what the target was last compared with.
	Compared bool
	Decision
}

// Candidates are what the target could deploy, newest first: what it was last compared with, and what the earlier steps
// have completed since what it runs. Each is judged as if an operation named its revisions. The list ends with the
// first one that is allowed, and with one that has failed too often in the target's own step: nobody goes back by
// himself. There is at least one. Siblings may be out of date: what they have completed, they have completed.
//
// Only the compared one is a candidate without Settings.Candidates, where the order of the revisions is not known (what the
// target runs is not among what the earlier steps ran, or their times go back, as where a branch came back to what it
// was), and where a sibling does not have all sources of the target.
func Candidates(in Input) []Candidate {
	named := in
	named.Target.Operation.Pinned = named.Target.Operation.Pinned || !slices.ContainsFunc(in.Target.Wanted,
		func(s Source) bool { return s.Revision == "" })
	compared := Candidate{Sources: in.Target.Wanted, Compared: true, Decision: Evaluate(named)}
	all := []Candidate{compared}
	if !in.Settings.Candidates || compared.Outcome != Deny || compared.final() {
		return all
	}
	older := in.completedSinceOwn()
	if len(older) > 0 {
		in.group()
	}
	for _, sources := range slices.Backward(older) {
		if slices.Equal(sources, in.Target.Compared) {
			continue
		}
		c := Candidate{Sources: sources, Decision: Evaluate(in.deploying(sources))}
		all = append(all, c)
		if c.Outcome != Deny || c.final() {
			break
		}
	}
	return all
}

// Revisions returns the revision of each source.
func (c *Candidate) Revisions() []string {
	all := make([]string, 0, len(c.Sources))
	for _, s := range c.Sources {
		all = append(all, s.Revision)
	}
	return all
}

// final reports whether nothing older is offered.
func (c *Candidate) final() bool { return c.Reason == TooManyFailures }

// waits reports whether a candidate lacks nothing but conditions.
func (c *Candidate) waits() bool {
	return c.Outcome == Deny && c.Reason.Condition() && !slices.ContainsFunc(c.Blockers, func(b Blocker) bool {
		return !b.Reason.Condition()
	})
}

// Best is the candidate to deploy or to wait for: the one that is allowed, or else the newest that lacks only what
// somebody has to do, such as an approval, or else the one whose time comes first, or else the compared one. at is when
// one of them may be allowed, if nothing changes until then; zero when that is not known.
func Best(all []Candidate) (best Candidate, at time.Time) {
	best = all[0]
	rank := func(c Candidate) int {
		switch {
		case c.Outcome != Deny:
			return 3
		case c.waits() && c.NotBefore.IsZero():
			return 2
		case c.waits():
			return 1
		}
		return 0
	}
	for _, c := range all {
		if c.Outcome == Deny && !c.NotBefore.IsZero() && (at.IsZero() || c.NotBefore.Before(at)) {
			at = c.NotBefore
		}
		if order := cmp.Compare(rank(c), rank(best)); order > 0 || order == 0 && rank(c) == 1 &&
			c.NotBefore.Before(best.NotBefore) {
			best = c
		}
	}
	return best, at
}

// Deploying is the input of the operation for a candidate.
func Deploying(in Input, c Candidate) Input {
	if c.Compared {
		return in
	}
	return in.deploying(c.Sources)
}

// deploying is the input of an operation that names these revisions.
func (in *Input) deploying(sources []Source) Input {
	other := *in
	other.Target.Wanted = sources
	other.Target.Operation.Pinned, other.Target.Operation.Redeploys, other.Target.Operation.RollsBack = true, false, false
	other.History.Deployed = false
	return other
}

// Overtaken is how many revisions an Application of the earlier steps has run since the one that the target runs, without
// the one that it is compared with: each has taken the place of the one before, which waited for a condition. It is 0
// where the order of the revisions is not known.
func Overtaken(in Input) int {
	own := in.Target.own()
	if len(own) != 1 {
		return 0
	}
	after, _ := firstKnown(&in, func(a *Application) ([]Source, bool) { return own[0].after(a.Ran) })
	passed := 0
	for _, s := range after {
		if s.Key == own[0].Key && !slices.Contains(in.Target.Compared, s) {
			passed++
		}
	}
	return passed
}

// completedSinceOwn is what one Application of the earlier steps, which has all sources of the target, has completed
// since what the target runs, oldest first. It is the first by name that knows the order of these revisions. After a
// restart nobody may: a commit that touches nothing of an Application is no sync of it, and its history does not have
// that. Then what it was first compared with since counts.
func (in *Input) completedSinceOwn() [][]Source {
	own := in.Target.own()
	completed, knows := firstKnown(in, func(a *Application) ([][]Source, bool) { return in.completedAfter(own, a) })
	if !knows {
		completed, _ = firstKnown(in, func(a *Application) ([][]Source, bool) { return in.foundAfter(own, a) })
	}
	return completed
}

// inOrder are the last completions of an Application of which the times do not go back.
func (in *Input) inOrder(a *Application) []Completion {
	done := in.History.Past(a.Name).Completions
	ordered := 0
	for i := range done {
		if i > 0 && done[i].Since.Before(done[i-1].Since) {
			ordered = i
		}
	}
	return done[ordered:]
}

// completedAfter is what an Application of the earlier steps has completed since own, which the target runs. It knows
// that only if it has run or completed that as well.
func (in *Input) completedAfter(own []Source, a *Application) (all [][]Source, knows bool) {
	for _, c := range in.inOrder(a) {
		all = append(all, in.Target.at(c.Sources))
	}
	if len(in.Target.Ran) == 0 {
		return all, true // it has run nothing yet
	}
	if i := slices.IndexFunc(all, func(s []Source) bool { return slices.Equal(s, own) }); i >= 0 {
		return all[i+1:], true
	}
	if len(own) != 1 {
		return nil, false
	}
	after, knows := own[0].after(a.Ran)
	return slices.DeleteFunc(all, func(s []Source) bool { return !slices.Contains(after, s[0]) }), knows
}

// foundAfter is what an Application of the earlier steps has completed, and was first compared with after the target was
// seen to run own. An older revision that somebody deploys meanwhile is not.
func (in *Input) foundAfter(own []Source, a *Application) (all [][]Source, knows bool) {
	target := in.History.Past(in.Target.Name)
	if len(own) != 1 || target.Runs != own[0] || target.RunsFrom == 0 {
		return nil, false
	}
	for _, c := range in.inOrder(a) {
		if c.From > target.RunsFrom {
			all = append(all, in.Target.at(c.Sources))
		}
	}
	return all, len(all) > 0
}

// firstKnown asks the Applications of the earlier steps that have all sources of the target. It returns the answer of the
// first by name that knows one.
func firstKnown[T any](in *Input, ask func(a *Application) (T, bool)) (answer T, knows bool) {
	step, first := in.step(), ""
	for _, a := range in.Siblings {
		if knows && a.Name > first || !in.isEarlier(a, step) || !in.hasSources(a.Application) {
			continue
		}
		if one, ok := ask(a.Application); ok {
			answer, knows, first = one, true, a.Name
		}
	}
	return answer, knows
}

// hasSources reports whether an Application has all sources of the target, and their revisions have an order.
func (in *Input) hasSources(a *Application) bool {
	return !slices.ContainsFunc(in.Target.Compared, func(s Source) bool { return isDry(s) || !known(a.Compared, s.Key) })
}

// at are the sources of the target at the revisions that a sibling has them at.
func (t *Target) at(sources []Source) []Source {
	all, before := slices.Clone(t.Compared), map[string]int{}
	for i, s := range all {
		if of := keyed(s.Key, sources); len(of) > 0 {
			all[i] = of[min(before[s.Key], len(of)-1)]
		}
		before[s.Key]++
	}
	return all
}

// own are the sources of the target at the revisions that it runs; empty if one is not known.
func (t *Target) own() []Source {
	var all []Source
	for _, s := range t.Compared {
		running, known := t.running(s.Key)
		if !known {
			return nil
		}
		all = append(all, running)
	}
	return all
}

// after is the part of a history, oldest first, that comes after a source at its revision. Known is false if it does not
// have that: then nothing tells the order.
func (s Source) after(history []Source) (after []Source, known bool) {
	for i, ran := range slices.Backward(history) {
		if ran == s {
			return history[i+1:], true
		}
	}
	return nil, false
}
