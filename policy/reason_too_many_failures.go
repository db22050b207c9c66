// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
)

// TooManyFailures means that too much of the step has failed. The blockers are siblings of the target's own step.
const TooManyFailures Reason = "TooManyFailures"

var tooManyFailures = waiting{
	row: row{
		reason: TooManyFailures,
		means: "More Applications of the same step have failed, or are Degraded, at the revision that the sync " +
			"would deploy than `stepgate.io/max-failures` allows. The rest of the step waits.",
		do:        "repair the Applications that the text names, or deploy another revision.",
		level:     RequireHealth,
		when:      "more of its step have failed at what it deploys than may, and it has not",
		condition: true,
		words: func(d Decision) (text, next string) {
			return fmt.Sprintf("%s may not go on: %s of it failed, and %s may: %s", d.of(), applications(len(d.Blockers)),
				d.Detail, d.Names()), "repair them, or deploy another revision"
		},
	},
	denies: (*Input).tooManyFailures,
}

// Budget is how many Applications of a step may fail.
type Budget struct {
	// Most is a number of Applications, or with Percent a share of those of the step, of which fractions do not count.
	Most    int
	Percent bool
}

// Of is the number of Applications that may fail, of so many.
func (b Budget) Of(applications int) int {
	if b.Percent {
		return applications * b.Most / 100
	}
	return b.Most
}

// tooManyFailures reports whether more siblings of the target's step have failed than may. It does not hold a target
// that has failed itself: to sync it again repairs the step.
func (in *Input) tooManyFailures(d Decision) (denied Decision, ok bool) {
	budget := in.Settings.Conditions.MaxFailures
	if budget == nil {
		return d, false
	}
	var failed []Blocker
	applications := 0
	for _, a := range in.Siblings {
		if !in.inStep(a, d.Step) {
			continue
		}
		applications++
		b, ok := in.failure(a.Application, d.Step)
		if ok && a.Name == in.Target.Name {
			return d, false
		}
		if ok {
			failed = append(failed, b)
		}
	}
	most := budget.Of(applications)
	if len(failed) <= most {
		return d, false
	}
	slices.SortFunc(failed, func(a, b Blocker) int { return cmp.Compare(a.Application, b.Application) })
	d.Blockers, d.Detail = failed, strconv.Itoa(most)
	return d, true
}

// inStep reports whether a sibling, or the target, is one of the Applications of the step.
func (in *Input) inStep(a Sibling, step int) bool {
	return a.Step == step && !a.Orphan() && !a.Deleting && !in.Settings.Excluded[a.Name] &&
		in.sharesTrack(a.Application)
}

// failure reports whether a sibling of the target's step has failed, or is Degraded, at what the target is about to
// deploy. Until the target is
// hydrated from the commit that its dry source is at, the dry source does not tell what it deploys, and a failure at
// any commit counts. A failure counts until another sync of it succeeds: the ApplicationSet controller tries again and
// again.
func (in *Input) failure(a *Application, step int) (b Blocker, ok bool) {
	b = Blocker{Application: a.Name, Cluster: a.Cluster, Step: step, Reason: TooManyFailures, ComparedAt: a.ReconciledAt}
	last := &a.LastFull
	switch {
	case last.failed() && in.sharesRevision(a, last.AtCompared, last.Other):
		b.Detail = "sync " + clean(last.Phase)
		if a.OperationSet || a.LastOperation.Running() {
			b.Detail = "its sync failed, and is tried again"
		}
	case a.Health == "Degraded" && in.sharesRevision(a, a.LastSync.AtCompared, a.LastSync.Other):
		b.Detail = "Degraded"
	default:
		return b, false
	}
	return b, true
}

// sharesRevision reports whether the target deploys what a sibling ran: what that is compared with, or else the others.
// Where the two have no source in common, only what it is compared with counts.
func (in *Input) sharesRevision(a *Application, compared bool, others []Source) bool {
	at := others
	if compared {
		at = a.Compared
	}
	return (compared || slices.ContainsFunc(at, func(s Source) bool { return known(in.Target.deploys(s.Key), s.Key) })) &&
		!slices.ContainsFunc(at, func(s Source) bool {
			return in.mismatch(s, at) != nil && (!isDry(s) || !in.Target.rehydrated())
		})
}

// rehydrated reports whether the target may deploy what was hydrated from another commit than the one that its dry
// source is at.
func (t *Target) rehydrated() bool { return t.Hydration != "" && t.Hydration != "Hydrated" }
