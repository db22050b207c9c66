// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"crypto/sha256"
	"slices"
	"time"
)

// Key is the same for targets that are alike: the rule reads the same of them.
type Key [sha256.Size]byte

// facts are what the rule reads of a target. They are whole structs, of which leaveOut empties what the rule does not
// read, and what is the same for all targets: a field that is added to one of them counts by itself.
type facts struct {
	Input    Input
	Recorded Recorded
	Past     Past
	// Own is the target among its siblings, as its step counts whether it has failed; empty if nobody counts that.
	Own Application
	// Step is the target's, and Track are the values that tell its track, as the Past says whether these count.
	Step  int
	Track [2]string
	// Repeated and Proving stand for when it was last synced.
	Repeated bool
	Proving  time.Time
	// Completed are what it could deploy beside what it was compared with.
	Completed [][]Source
	// Name is empty unless the target counts for those that would be alike.
	Name string
}

// Keys are those of the targets of one ApplicationSet at one moment, with the same siblings. They are not safe for
// concurrent use.
type Keys struct {
	// siblings are those, by name.
	siblings map[string]*Sibling
	// asked are the siblings of which the rule may ask how new their comparison is for a target, by its other facts.
	asked map[Key][]string
	// facts and text are used again for each target: to allocate them took most of the time.
	facts facts
	text  []byte
}

// NewKeys returns the Keys of targets with these siblings.
func NewKeys(siblings []Sibling) *Keys {
	k := &Keys{siblings: make(map[string]*Sibling, len(siblings)), asked: map[Key][]string{}}
	for i := range siblings {
		k.siblings[siblings[i].Name] = &siblings[i]
	}
	return k
}

// Of is a hash of all that the rule reads of the target of an input. Targets with the same key have the same Candidates,
// Decision and Unmet: Decision.For gives each its name. The input's ApplicationSet is not nil.
func (k *Keys) Of(in Input) Key {
	key := k.of(in)
	asked, known := k.asked[key]
	if !known {
		asked = in.asked()
		k.asked[key] = asked
	}
	if len(asked) == 0 {
		return key
	}
	text := append(make([]byte, 0, len(key)+len(asked)), key[:]...)
	for _, name := range asked {
		text = append(text, byte(in.History.Past(name).Freshness)) //nolint:gosec // there are three
	}
	return sha256.Sum256(text)
}

// of is a hash of what the rule reads of the target, but for how new the comparisons of its siblings are for it.
func (k *Keys) of(in Input) Key {
	step, name := in.step(), in.Target.Name
	f := &k.facts
	*f = facts{
		Input: in, Recorded: in.ApplicationSet.Recorded[name], Past: in.History.Past(name), Step: step,
		Repeated: Repeated(in), Proving: in.proving(),
	}
	own := k.siblings[name] // nil if it is none of them
	if own != nil && in.Settings.Conditions.MaxFailures != nil && in.inStep(*own, step) {
		f.Own = *own.Application
	}
	if in.countsForOthers(own, step) {
		f.Name = name
	}
	if in.Settings.Candidates {
		f.Completed = in.completedSinceOwn()
	}
	if key := in.Settings.Track; key != "" {
		f.Track = [2]string{in.Target.Labels[key], in.Target.Labels[key]}
		if in.Target.OldLabels != nil {
			f.Track[1] = in.Target.OldLabels[key]
		}
	}
	f.leaveOut(&in)
	k.text = appendDigested(k.text[:0], f)
	return sha256.Sum256(k.text)
}

// leaveOut empties what makes no difference.
func (f *facts) leaveOut(in *Input) {
	// The same for all targets.
	f.Input.ApplicationSet, f.Input.Siblings, f.Input.Evidence = nil, nil, nil
	f.Input.Now, f.Input.History.Of = time.Time{}, nil
	// Computed from the rest for each decision.
	f.Input.pending, f.Input.behind, f.Input.contents, f.Input.found = nil, false, nil, nil
	// Step, Track, Repeated, Proving and Completed have what counts of it.
	f.Input.Target.Name, f.Input.Target.Labels, f.Input.Target.OldLabels = "", nil, nil
	f.Input.Target.SyncStartedAt, f.Input.Target.SyncFinishedAt = time.Time{}, time.Time{}
	f.Recorded = Recorded{Pending: f.Recorded.Pending}
	f.Past.Step, f.Past.Completions, f.Past.Runs, f.Past.RunsFrom = 0, nil, Source{}, 0
	// What is asked of a sibling of an earlier step alone.
	f.Past.Freshness, f.Past.Applied, f.Past.Broken = Unknown, time.Time{}, time.Time{}
	f.Past.Altered, f.Past.Unproven, f.Past.Respecified = false, false, false
	f.Own.Name, f.Own.Labels, f.Own.Cluster = "", nil, ""
	f.Own.HealthSince, f.Own.ReconciledAt = time.Time{}, time.Time{}
	f.Own.LastOperation.StartedAt, f.Own.LastOperation.FinishedAt = time.Time{}, time.Time{}
	f.Own.LastFull.StartedAt, f.Own.LastFull.FinishedAt = time.Time{}, time.Time{}
	f.Own.LastSync.FinishedAt, f.Own.LastSync.Since = time.Time{}, time.Time{}
	// What only who asks for a refresh reads, and what is asked only of one that deploys a change of its spec.
	f.Input.Target.ReconciledAt = time.Time{}
	if !in.changed() {
		f.Input.History.ContentSince, f.Input.History.ByAnother, f.Input.History.PassEnded = time.Time{}, false, false
	}
}

// countsForOthers reports whether one that would be alike is judged in another way, because the two are siblings of each
// other, and nobody is one of himself; or whether a text has the name of the target. own is the target among its
// siblings.
func (in *Input) countsForOthers(own *Sibling, step int) bool {
	predated := slices.ContainsFunc(in.Settings.Conditions.Approved, func(a Approval) bool { return in.predates(a.At) })
	return predated || own == nil && in.ApplicationSet.Recorded[in.Target.Name].under(step) ||
		own != nil && in.before(own, step)
}

// asked are the siblings of which the rule may ask how new their comparison is for the target. The facts say which.
func (in Input) asked() (names []string) {
	in.foresee()
	step := in.step()
	for i := range in.Siblings {
		s := &in.Siblings[i]
		if !s.Before(step) {
			continue
		}
		_, wanted := in.mismatched(s.Compared)
		if in.Settings.Candidates || in.behind || wanted != nil || in.pendingElsewhere(s.Application) {
			names = append(names, s.Name)
		}
	}
	return names
}
