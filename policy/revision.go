// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"encoding/binary"
	"slices"
)

// completed reports whether the sibling has completed exactly what the target deploys, of all sources that both have,
// whatever it is compared with now. The operation has to name that. If the branch went back, the sibling has to go back
// first, and the target has to be compared again: the sibling is compared with something that it completed before, or
// that the target has run, or it completed what the target runs only after what the target deploys, or the target has
// run that before.
func (in *Input) completed(a *Application) bool {
	group, grouped := in.contents[a]
	if !grouped {
		return in.completes(a, in.at(a))
	}
	f := &in.found[group]
	if !f.judged {
		f.completed, f.judged = in.completes(a, in.at(a)), true
	}
	return f.completed
}

// completes is completed of a sibling whose completion at is of what the target deploys.
func (in *Input) completes(a *Application, at int) bool {
	if at < 0 || !in.Target.Operation.Pinned || slices.ContainsFunc(in.Target.Wanted, func(w Source) bool {
		return slices.Contains(in.Target.Ran, w) && !in.Target.runs(w)
	}) {
		return false
	}
	done := in.History.Past(a.Name).Completions
	compared := func(c Completion) bool { return slices.Equal(c.Sources, a.Compared) }
	runs := func(c Completion) bool {
		return !slices.ContainsFunc(c.Sources, func(s Source) bool {
			return known(in.Target.Compared, s.Key) && !in.Target.runs(s)
		})
	}
	ran := func(s Source) bool { return in.mismatch(s, a.Compared) != nil && slices.Contains(in.Target.Ran, s) }
	return !slices.ContainsFunc(done[:at], compared) && !slices.ContainsFunc(done[at+1:], runs) &&
		!slices.ContainsFunc(a.Compared, ran)
}

// completion is what the sibling has completed of exactly what the target deploys, the first time.
func (in *Input) completion(a *Application) (c Completion, ok bool) {
	at := in.at(a)
	if at < 0 {
		return c, false
	}
	return in.History.Past(a.Name).Completions[at], true
}

// at is which of the sibling's completions is the first of exactly what the target deploys, and -1 if none is.
func (in *Input) at(a *Application) int {
	group, grouped := in.contents[a]
	if !grouped {
		return in.find(a)
	}
	f := &in.found[group]
	if !f.looked {
		f.at, f.looked = in.find(a), true
	}
	return f.at
}

func (in *Input) find(a *Application) int {
	return slices.IndexFunc(in.History.Past(a.Name).Completions, func(c Completion) bool {
		return !c.Doubted && in.deploysJust(c.Sources)
	})
}

// found is what was asked of a group of siblings: at and completed of one of them.
type found struct {
	at                        int
	looked, judged, completed bool
}

// group puts siblings together that are compared with the same, and have completed the same in the same order: at and
// completed are asked of one of them for all. Those of one repository nearly always are alike.
func (in *Input) group() {
	of := map[string]int{}
	in.contents = make(map[*Application]int, len(in.Siblings))
	var text []byte
	for _, s := range in.Siblings {
		text = appendSources(text[:0], s.Compared)
		for _, c := range in.History.Past(s.Name).Completions {
			text = append(appendSources(text, c.Sources), truth(c.Doubted))
		}
		group, known := of[string(text)]
		if !known {
			group = len(of)
			of[string(text)] = group
		}
		in.contents[s.Application] = group
	}
	in.found = make([]found, len(of))
}

func truth(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// appendSources writes sources so that no others look alike.
func appendSources(to []byte, all []Source) []byte {
	to = binary.AppendUvarint(to, uint64(len(all)))
	for _, s := range all {
		to = append(binary.AppendUvarint(to, uint64(len(s.Key))), s.Key...)
		to = append(binary.AppendUvarint(to, uint64(len(s.Revision))), s.Revision...)
	}
	return to
}

// completedSinceChange reports whether the sibling has completed what the target deploys with the spec that it has now,
// and since the target has had its own: by an operation, or because it was still done with it at a time at which the
// ApplicationSet controller would have written a new spec of the sibling as well.
func (in *Input) completedSinceChange(a *Application) bool {
	since := in.History.ContentSince
	c, ok := in.completion(a)
	if !ok || c.Altered || since.IsZero() {
		return false
	}
	return c.OperatedAt.After(since) || a.SpecCompared && a.LastSync.SameSources &&
		c.Seen.After(since.Add(in.Settings.settling()))
}

// deploysJust reports whether the target deploys each of a sibling's sources that both have at just its revision.
func (in *Input) deploysJust(sources []Source) bool {
	return !slices.ContainsFunc(sources, func(s Source) bool {
		wanted := in.Target.deploys(s.Key)
		return known(wanted, s.Key) && !sameOf(s.Key, wanted, sources)
	})
}

// goneOn reports whether the sibling is compared with something newer than the target deploys: its comparison is the
// newer one. Without that, the branch may have come to the target's revision since, or come back to it. The same holds
// for a target that deploys another revision than it was compared with, if the sibling has completed that.
func (in *Input) goneOn(a *Application) bool {
	return in.History.Past(a.Name).Freshness == Newest && (!in.wantsOther() || in.completed(a))
}

// mismatched is the first source of a sibling that is at another revision than the target deploys, and what the target
// deploys; wanted is nil if there is none.
func (in *Input) mismatched(sources []Source) (at Source, wanted []Source) {
	for _, source := range sources {
		found := in.mismatch(source, sources)
		if found != nil && (wanted == nil || slices.Contains(wanted, at)) {
			at, wanted = source, found // one that the target does not deploy says more
		}
	}
	return at, wanted
}

// mismatch returns the sources that the target deploys where one of a sibling's sources is not at just their revisions;
// nil where it is, or where a revision is not known.
func (in *Input) mismatch(source Source, of []Source) (wanted []Source) {
	wanted = in.Target.deploys(source.Key)
	if source.Revision == "" || !known(wanted, source.Key) || sameOf(source.Key, wanted, of) {
		return nil
	}
	return wanted
}

// sameOf reports whether two Applications have what they have of a key at the same revisions: by position where both have
// as many sources of it, such as a chart and its values in one repository, and else as a whole.
func sameOf(key string, a, b []Source) bool {
	if len(a) == 1 && len(b) == 1 {
		return a[0] == b[0] // nearly always
	}
	as, bs := keyed(key, a), keyed(key, b)
	if len(as) == len(bs) {
		return slices.Equal(as, bs)
	}
	return allIn(as, bs) && allIn(bs, as)
}

func allIn(some, all []Source) bool {
	return !slices.ContainsFunc(some, func(s Source) bool { return !slices.Contains(all, s) })
}

// keyed are the sources of a key, in their order.
func keyed(key string, all []Source) (of []Source) {
	for _, s := range all {
		if s.Key == key {
			of = append(of, s)
		}
	}
	return of
}

// deploys returns the sources that tell which revision of a source siblings have to match. A source that the operation
// or a change of spec leaves behind counts with the revision that the target was compared with: naming another source
// is no way round the gate.
func (t *Target) deploys(key string) []Source {
	if known(t.Wanted, key) {
		return t.Wanted
	}
	return t.Compared
}

// pendingElsewhere reports whether the target deploys a change in a source that the sibling does not have. A source at
// the revision that the target runs already is no change, unless the spec has changed since: it may be a parameter that
// the target alone has. A target that deploys nothing known may deploy anything.
func (in *Input) pendingElsewhere(a *Application) bool {
	if len(in.Target.Wanted) == 0 {
		return true
	}
	for i, w := range in.Target.Wanted {
		if in.pending[i] && !known(a.Compared, w.Key) {
			return true
		}
	}
	return false
}

// foresee computes what is asked about each sibling, and is the same for all.
func (in *Input) foresee() {
	changed := in.changed()
	in.behind = changed && in.wantsOther()
	in.pending = make([]bool, len(in.Target.Wanted))
	for i, w := range in.Target.Wanted {
		in.pending[i] = changed || !in.Target.runs(w)
	}
	in.found = make([]found, len(in.found))
}

// changed reports whether the target deploys a change of its spec: other sources than it runs, maybe at the same
// revisions, or the same with another destination or other options.
func (in *Input) changed() bool { return !in.Target.SameSources || in.altered() }

// altered reports whether something else is around the target's sources than when it was deployed.
func (in *Input) altered() bool {
	return in.History.Altered || in.History.Unproven && in.Settings.Stamped
}

// alteredSince reports the same of a sibling.
func (in *Input) alteredSince(a *Application) bool {
	past := in.History.Past(a.Name)
	return past.Altered || past.Unproven && in.Settings.Stamped
}

// wantsOther reports whether the target deploys another revision than it was compared with.
func (in *Input) wantsOther() bool {
	return slices.ContainsFunc(in.Target.Wanted, func(w Source) bool { return !slices.Contains(in.Target.Compared, w) })
}

// runs reports whether the newest entry of the target's history that has the source has it at this revision.
func (t *Target) runs(w Source) bool {
	s, known := t.running(w.Key)
	return known && s == w && w.Revision != ""
}

// running is the newest entry of the target's history that has a source.
func (t *Target) running(key string) (s Source, known bool) {
	for _, s := range slices.Backward(t.Ran) {
		if s.Key == key {
			return s, true
		}
	}
	return Source{}, false
}

// known reports whether the revision of a source with the key is known.
func known(sources []Source, key string) bool {
	return slices.ContainsFunc(sources, func(s Source) bool { return s.Key == key && s.Revision != "" })
}
