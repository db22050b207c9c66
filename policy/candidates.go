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
// Only the compared one is a candidate without Settings.Train, where the order of the revisions is not known (what the
// target runs is not among what the earlier steps ran, or their times go back, as where a branch came back to what it
// was), and where a sibling does not have all sources of the target.
func Candidates(in Input) []Candidate {
	named := in
	named.Target.Operation.Pinned = named.Target.Operation.Pinned || !slices.ContainsFunc(in.Target.Wanted,
		func(s Source) bool { return s.Revision == "" })
	compared := Candidate{Sources: in.Target.Wanted, Compared: true, Decision: Evaluate(named)}
	all := []Candidate{compared}
	if !in.Settings.Train || compared.Outcome != Deny || compared.final() {
		return all
	}
	for _, sources := range slices.Backward(in.completedSinceOwn()) {
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
	a, own := in.example(), in.Target.own()
	if a == nil || len(own) != 1 {
		return 0
	}
	passed := 0
	for _, s := range own[0].after(a.Ran) {
		if s.Key == own[0].Key && !slices.Contains(in.Target.Compared, s) {
			passed++
		}
	}
	return passed
}

// completedSinceOwn is what one Application of the earlier steps, which has all sources of the target, has completed
// since what the target runs, oldest first.
func (in *Input) completedSinceOwn() (all [][]Source) {
	a := in.example()
	if a == nil {
		return nil
	}
	done := in.History.Past(a.Name).Completions
	ordered := 0 // where the last part begins of which the times do not go back
	for i := range done {
		if i > 0 && done[i].Since.Before(done[i-1].Since) {
			ordered = i
		}
	}
	for _, c := range done[ordered:] {
		all = append(all, in.Target.at(c.Sources))
	}
	own := in.Target.own()
	if len(in.Target.Ran) == 0 {
		return all // it has run nothing yet
	}
	if i := slices.IndexFunc(all, func(s []Source) bool { return slices.Equal(s, own) }); i >= 0 {
		return all[i+1:]
	}
	if len(own) != 1 {
		return nil
	}
	after := own[0].after(a.Ran)
	return slices.DeleteFunc(all, func(s []Source) bool { return !slices.Contains(after, s[0]) })
}

// example is the first Application of the earlier steps, by name, that has all sources of the target; nil if there is
// none.
func (in *Input) example() (found *Application) {
	step := in.step()
	for _, a := range in.Siblings {
		if (found == nil || a.Name < found.Name) && in.isEarlier(a, step) && !slices.ContainsFunc(in.Target.Compared,
			func(s Source) bool { return isDry(s) || !known(a.Compared, s.Key) }) {
			found = a.Application
		}
	}
	return found
}

// at are the sources of the target at the revisions that a sibling has them at.
func (t *Target) at(sources []Source) []Source {
	all := slices.Clone(t.Compared)
	for i := range all {
		for _, s := range sources {
			if s.Key == all[i].Key {
				all[i] = s
			}
		}
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

// after is the part of a history, oldest first, that comes after a source at its revision; nil if it does not have
// that: then nothing tells the order.
func (s Source) after(history []Source) []Source {
	for i, ran := range slices.Backward(history) {
		if ran == s {
			return history[i+1:]
		}
	}
	return nil
}
