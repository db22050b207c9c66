package policy

import "slices"

// Proven returns the newest revision of the target's only source that every Application of every earlier step has
// completed since the revision that the target runs; empty where there is none. It is never older than what the target
// runs, and is looked for in the histories only: among the revisions of automated syncs, which follow the branch, that were
// seen to be completed. Siblings may be out of date: what they have run, they have run.
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
	candidates := in.Target.since(earlier[0].Followed, key)
	for _, candidate := range slices.Backward(candidates) {
		if !slices.ContainsFunc(earlier, func(a *Application) bool {
			return !slices.Contains(in.Target.since(a.Followed, key), candidate) || !slices.Contains(in.Seen.Past(a.Name).Completed, candidate)
		}) {
			return candidate.Revision
		}
	}
	return ""
}

// since returns the part of a history, oldest first, that has the source after the revision that the target runs. It is
// empty where the history does not have that revision: then nothing tells the order.
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
