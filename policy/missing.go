// SPDX-License-Identifier: Apache-2.0

package policy

// missing are the Applications that are recorded under a step before step, and are not among the siblings, and the
// ApplicationSets of a parent that are not done themselves.
func (in *Input) missing(step int) (found []Blocker) {
	for name, c := range in.ApplicationSet.Sets {
		if in.awaits(name, c.recorded(), step) {
			found = append(found, in.ApplicationSet.doesNotExist(name, c.recorded()))
		}
	}
	absent := 0
	for _, r := range in.ApplicationSet.Recorded {
		if r.under(step) {
			absent++
		}
	}
	for _, sibling := range in.Siblings {
		if (Recorded{Step: sibling.RecordedStep}).under(step) {
			absent--
		}
	}
	if absent == 0 {
		return found // nearly always, and then no names have to be looked at
	}
	live := make(map[string]bool, len(in.Siblings))
	for _, sibling := range in.Siblings {
		live[sibling.Name] = true
	}
	for name, r := range in.ApplicationSet.Recorded {
		if in.awaits(name, r, step) && !live[name] {
			found = append(found, in.ApplicationSet.doesNotExist(name, r))
		}
	}
	return found
}

// awaits reports whether an Application has to exist because it is recorded under a step before step. The controller of
// an ApplicationSet that is being deleted creates none, and writes no record any more (argo-cd v3.5.7, Reconcile in
// applicationset/controllers/applicationset_controller.go).
func (in *Input) awaits(name string, r Recorded, step int) bool {
	return r.under(step) && !in.ApplicationSet.Deleting && name != in.Target.Name && !in.Settings.Excluded[name]
}

// under reports whether an Application is recorded under a step before step.
func (r Recorded) under(step int) bool { return r.Step > 0 && r.Step <= step }

// These are details that end by themselves: Argo CD creates what does not exist, writes the Applications of a ChildSet, or
// rolls them out.
const (
	notThere   = "it does not exist yet"
	Unwritten  = "its controller has not written all of its Applications"
	OwnRollout = "its own rollout goes on"
)

// recorded is it as one that has to exist.
func (c ChildSet) recorded() Recorded { return Recorded{Step: c.Step + 1} }

// doesNotExist is the blocker for a recorded Application that does not exist, or for one of Sets. Its name is cleaned:
// unlike the name of an object, a recorded name is any text.
func (set *ApplicationSet) doesNotExist(name string, r Recorded) Blocker {
	b := Blocker{
		Application: Printable(name, maxName), Step: r.Step - 1, Reason: NotGenerated, Detail: notThere,
	}
	if !set.Parent() {
		return b
	}
	if c, is := set.Sets[name]; is && c.Detail != "" {
		b.Detail, b.Next = Printable(c.Detail, maxText), c.Next
		return b
	}
	parent, _ := ParentNamed(set.Name)
	if b.Next = "wait until Argo CD has synced " + parent + ", which creates APP"; set.ByHand {
		b.Detail = notThere + ", and its parent has no automated sync"
		b.Next = "sync its parent, which creates APP: argocd app sync " + parent
	}
	return b
}
