package policy

import "slices"

// Proven returns the newest revision of the target's only source that every Application of every earlier step has
// completed since the revision that the target runs; empty if there is none. It is never older than what the target
// runs: the histories tell the order. Siblings may be out of date: what they have completed, they have completed.
func Proven(in Input) string {
	if in.ApplicationSet == nil || len(in.Target.Compared) != 1 {
		return ""
	}
	key, step := in.Target.Compared[0].Key, in.step()
	var earlier []*Application
	for _, a := range in.Siblings {
		if in.isEarlier(a, step) {
			earlier = append(earlier, a.Application)
		}
	}
	if len(earlier) == 0 {
		return ""
	}
	candidates := in.Target.since(earlier[0].Ran, key)
	for _, candidate := range slices.Backward(candidates) {
		if !slices.ContainsFunc(earlier, func(a *Application) bool {
			return !slices.Contains(in.Target.since(a.Ran, key), candidate) || !in.History.Past(a.Name).completed(candidate)
		}) {
			return candidate.Revision
		}
	}
	return ""
}

// completed reports whether something that was completed has a source at a revision.
func (p Past) completed(source Source) bool {
	return slices.ContainsFunc(p.Completions, func(c Completion) bool { return slices.Contains(c.Sources, source) })
}

// since returns the part of a history, oldest first, that has the source after the revision that the target runs. It is
// empty if the history does not have that revision: then nothing tells the order.
func (t *Target) since(history []Source, key string) []Source {
	var of []Source
	for _, s := range history {
		if s.Key == key {
			of = append(of, s)
		}
	}
	for _, own := range slices.Backward(t.Ran) {
		if own.Key != key {
			continue
		}
		for i, s := range slices.Backward(of) {
			if s == own {
				return of[i+1:]
			}
		}
		return nil
	}
	return of // the target has run nothing yet
}
