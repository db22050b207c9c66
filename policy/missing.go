// SPDX-License-Identifier: Apache-2.0

package policy

// missing are the Applications that are recorded under a step before step, and are not among the siblings.
func (in *Input) missing(step int) []Blocker {
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
		return nil // nearly always, and then no names have to be looked at
	}
	live := make(map[string]bool, len(in.Siblings))
	for _, sibling := range in.Siblings {
		live[sibling.Name] = true
	}
	var found []Blocker
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

// notThere is the detail of an Application that is to be created.
const notThere = "it does not exist yet"

// doesNotExist is the blocker for a recorded Application that does not exist. Its name is cleaned: unlike the name of
// an object, a recorded name is any text.
func (set *ApplicationSet) doesNotExist(name string, r Recorded) Blocker {
	b := Blocker{
		Application: Printable(name, maxName), Step: r.Step - 1, Reason: NotGenerated, Detail: notThere,
	}
	if !set.Parent() {
		return b
	}
	parent, _ := ParentNamed(set.Name)
	if b.Next = "wait until Argo CD has synced " + parent + ", which creates APP"; set.ByHand {
		b.Detail = notThere + ", and its parent has no automated sync"
		b.Next = "sync its parent, which creates APP: argocd app sync " + parent
	}
	return b
}
