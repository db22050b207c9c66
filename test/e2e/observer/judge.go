// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"cmp"
	"slices"
	"time"
)

// Rollout is the plan: Applications in steps, and the changes that are rolled out through them.
type Rollout struct {
	Applications []Application
	// ChangedAt is when each change was made. Change 0 is the state before the first one.
	ChangedAt []time.Time
	// Healthy asks in addition that an Application of an earlier step is Healthy at that moment, unless the start
	// repeats a change that its Application has deployed.
	Healthy bool
	// KeepsResult says that an operation shows the result of the one before until it has one of its own.
	KeepsResult bool
}

// Application is one of a Rollout.
type Application struct {
	Name string
	// Step is where it belongs; lower steps go first.
	Step int
	// Changes is its state after each change, parallel to ChangedAt.
	Changes []State
	// Trees are the contents in git of each of them, "" where that is not known; nil if no content is known.
	Trees []string
}

// Start is one operation that was admitted.
type Start struct {
	Application     string
	Step            int
	ResourceVersion uint64
	At              time.Time
	// Change is the one that it deployed.
	Change int
	// Behind are the Applications of earlier steps that had not completed that change. The start is out of order unless
	// it is empty.
	Behind []string
	// Open is the moment from which nothing stood in its way: it had been compared with the change, and every
	// Application of an earlier step was done with it. It is zero if there was no such moment before the start.
	Open time.Time
}

// OutOfOrder says whether it started before its turn.
func (s Start) OutOfOrder() bool { return len(s.Behind) > 0 }

// Judge finds the starts in the observations and says which were out of order.
func Judge(r Rollout, observations []Observation) []Start {
	history := slices.Clone(observations)
	slices.SortStableFunc(history, func(a, b Observation) int { return cmp.Compare(a.ResourceVersion, b.ResourceVersion) })
	if r.KeepsResult {
		dropOldResults(history)
	}
	keepDestinations(history)
	byName, whole := map[string][]Observation{}, map[string][]Observation{}
	for _, o := range history {
		byName[o.Name] = append(byName[o.Name], o)
	}
	for name, all := range byName {
		whole[name] = lastWhole(all)
	}
	var all []Start
	for _, app := range r.Applications {
		for _, s := range r.starts(app, byName[app.Name]) {
			healthy := r.Healthy && !deployed(app, s, byName[app.Name])
			for _, earlier := range r.Applications {
				if earlier.Step < app.Step && !completed(earlier, s, app.same(s.Change), whole[earlier.Name], healthy) {
					s.Behind = append(s.Behind, earlier.Name)
				}
			}
			s.Open = r.open(app, s, byName)
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b Start) int { return cmp.Compare(a.ResourceVersion, b.ResourceVersion) })
	return all
}

// starts are the moments at which an operation that deploys something appeared on an Application, or began to deploy
// something else than before: a retry, and an operation that a sync window has held up, may resolve the revision again.
// The change that a start deployed is known when the operation says so. Until then, and when it never does, the newest
// change at its start counts.
func (r Rollout) starts(app Application, history []Observation) []Start {
	var starts []Start
	var before Observation
	deploys := unknown
	for _, o := range history {
		appeared, ended := o.deploys() && !before.deploys(), before.deploys() && !o.deploys()
		if appeared {
			starts, deploys = append(starts, app.start(o, r.newest(o.At))), unknown
		}
		told := ended || o.deploys() && o.TakenUp()
		if change := app.change(o.Operated); told && change >= 0 && change != deploys && len(starts) > 0 {
			if deploys != unknown || before.Parked {
				// The revision was resolved after the observation before this one.
				starts = append(starts, app.start(before, change))
			}
			starts[len(starts)-1].Change, deploys = change, change
		}
		before = o
	}
	return starts
}

// unknown is the change that an operation deploys as long as it has not said so.
const unknown = -1

func (a Application) start(o Observation, change int) Start {
	return Start{Application: a.Name, Step: a.Step, ResourceVersion: o.ResourceVersion, At: o.At, Change: change}
}

// completed reports whether an Application of an earlier step had completed one of the changes when a start happened:
// it was found Synced and Healthy with exactly its state after that, by a sync or without one, and has not gone back
// since. A later state says nothing of it: the Application may have skipped this one, or have failed at it. If healthy,
// it also had to be Healthy at the start. A deleted Application holds nobody up.
func completed(app Application, s Start, changes []int, history []Observation, healthy bool) bool {
	done, last := false, Observation{}
	var since, back time.Time // when the operation began with which it was found so, and the one that went back from that
	for _, o := range before(s, history) {
		last = o
		if done && o.StartedAt.After(since) && app.precedes(o, changes) {
			done, back = false, o.StartedAt
		}
		stale := !back.IsZero() && o.StartedAt.Equal(back) && !o.Later
		if !stale && slices.ContainsFunc(changes, func(i int) bool { return o.found(app.Changes[i]) }) {
			done, since = true, o.StartedAt
		}
	}
	if last.Gone {
		return true
	}
	return done && (!healthy || last.Health == "Healthy")
}

// precedes reports whether an operation deploys, or has deployed, something from before each of the changes.
func (a Application) precedes(o Observation, changes []int) bool {
	change := a.change(o.Operated)
	return (o.TakenUp() || o.Finished()) && change >= 0 && change < slices.Min(changes)
}

// deployed reports whether an operation of the Application itself had deployed the change of a start before.
func deployed(app Application, s Start, history []Observation) bool {
	return slices.ContainsFunc(before(s, history), func(o Observation) bool {
		return o.Finished() && app.change(o.Operated) == s.Change
	})
}

// before are the observations before a start.
func before(s Start, history []Observation) []Observation {
	i, _ := slices.BinarySearchFunc(history, s.ResourceVersion, func(o Observation, version uint64) int {
		return cmp.Compare(o.ResourceVersion, version)
	})
	return history[:i]
}

// change is the newest change after which the Application has the state, or -1. A change that leaves an Application as
// it was is complete without an operation.
func (a Application) change(state State) int {
	for i := len(a.Changes) - 1; i >= 0; i-- {
		if a.Changes[i] == state && state.Revision != "" {
			return i
		}
	}
	return -1
}

// same are the changes after which the Application has the same content as after one: all but the first do not concern
// it. So a repair of drift is no start of a commit that others have to complete first.
func (a Application) same(change int) []int {
	var all []int
	for i, state := range a.Changes {
		if state == a.Changes[change] || a.sameTree(i, change) {
			all = append(all, i)
		}
	}
	return all
}

func (a Application) sameTree(i, j int) bool {
	return len(a.Trees) > 0 && a.Trees[i] != "" && a.Trees[i] == a.Trees[j] &&
		a.Changes[i].Path == a.Changes[j].Path && a.Changes[i].Destination == a.Changes[j].Destination
}

// keepDestinations gives every operation the destination that the spec had when its result was first seen: the spec may
// have changed since.
func keepDestinations(history []Observation) {
	last := map[string]Observation{}
	for i := range history {
		o, before := &history[i], last[history[i].Name]
		same := o.StartedAt.Equal(before.StartedAt) && o.Operated.Revision == before.Operated.Revision &&
			o.Operated.Path == before.Operated.Path
		if same {
			o.Operated.Destination = before.Operated.Destination
		}
		last[o.Name] = *o
	}
}

// lastWhole is the history of an Application with what became of its last operation of everything: one of a part, or of
// nothing, makes nobody forget that.
func lastWhole(history []Observation) []Observation {
	all, last, part := slices.Clone(history), Observation{}, false
	for i := range all {
		o := &all[i]
		if o.OperationSet {
			part = o.Part
		}
		if part {
			o.Phase, o.StartedAt, o.Operated = last.Phase, last.StartedAt, last.Operated
		}
		last = *o
	}
	return all
}

// dropOldResults takes from every operation that is taken up the result of the operation before. Where its own one is
// the same, it is known when the operation has ended.
func dropOldResults(history []Observation) {
	last, old := map[string]Observation{}, map[string]State{}
	for i := range history {
		o := &history[i]
		if before := last[o.Name]; !o.StartedAt.Equal(before.StartedAt) {
			old[o.Name] = before.Operated
		}
		last[o.Name] = *o
		if o.TakenUp() && o.Operated.Revision != "" && o.Operated.Revision == old[o.Name].Revision &&
			o.Operated.Path == old[o.Name].Path {
			o.Operated = State{}
		}
	}
}

func (r Rollout) newest(at time.Time) int {
	newest := 0
	for i, changed := range r.ChangedAt {
		if !changed.After(at) {
			newest = i
		}
	}
	return newest
}
