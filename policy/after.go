// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"cmp"
	"slices"
)

// Dependency is what a target waits for beside the earlier steps of its ApplicationSet: what one name of
// stepgate.io/after stands for.
type Dependency struct {
	// Namespace and Name are of an ApplicationSet, of an Application, or of one of each.
	Namespace, Name string
	// Circle is the way from the target back to itself, if this waits for the target in turn; else empty. Texts name it:
	// such a name holds up like any other, or whoever may annotate what holds others up could free them. Nil if nobody
	// looks for circles.
	Circle func() string
	// Set is the live ApplicationSet of the name; nil if there is none.
	Set *ApplicationSet
	// Members are the live Applications of the ApplicationSet, of which those count that share the target's track, and
	// Own is the live Application of the name; nil if there is none.
	Members []*Application
	Own     *Application
	// Excluded are Members, by name, that hold nobody up for now.
	Excluded map[string]bool
	// Past returns what was seen of one of these Applications. Its Freshness is by the comparisons since the change that
	// the target deploys was seen.
	Past func(a *Application) Past
}

// exemptRows settle a write that waits for no Dependency either.
var exemptRows = []settling{
	notAnOperationWrite, dryRunOperation, gateOff, bypassed, targetDeleting, rollback, selfHeal,
}

// Follows reports whether a target has to wait for its Dependencies. The input's ApplicationSet is not nil: an
// Application that no ApplicationSet controls has one of no steps.
func Follows(in Input) bool {
	for i := range exemptRows {
		if exemptRows[i].settles(&in, -1) {
			return false
		}
	}
	return true
}

// Follow decides about a target that its steps allow, or do not hold: d says so. It is denied until everything that its
// Dependencies stand for is done at what that was last compared with. No common revision is asked for: they may be of
// other repositories. unreadable says why the annotation cannot be read; empty if it can.
func Follow(in Input, d Decision, dependencies []Dependency, unreadable string) Decision {
	var blockers []Blocker
	first, circle := "", ""
	for i := range dependencies {
		dep := &dependencies[i]
		found := dep.blockers(in)
		if len(found) == 0 {
			continue
		}
		first = cmp.Or(first, dep.named(in.ApplicationSet.Namespace))
		if circle == "" && dep.Circle != nil {
			circle = Printable(dep.Circle(), maxText)
		}
		blockers = append(blockers, found...)
	}
	switch {
	case unreadable != "":
		d.Outcome, d.Reason = Deny, DependencyNotFound
		d.Detail = "the annotation stepgate.io/after cannot be read: " + unreadable
		return d
	case len(blockers) == 0:
		return d
	}
	denied := d.blocked(blockers)
	denied.Outcome, denied.Reason, denied.Detail, denied.Circle = Deny, DependencyNotDone, first, circle
	return denied
}

// named is the name, with the namespace where that is another one.
func (dep *Dependency) named(namespace string) string {
	if dep.Namespace == namespace {
		return clean(dep.Name)
	}
	return clean(dep.Namespace + "/" + dep.Name)
}

// blockers are what is not done of a Dependency.
func (dep *Dependency) blockers(in Input) []Blocker {
	if dep.Set == nil && dep.Own == nil {
		return dep.labelled(in, []Blocker{notFound(dep.Name, "does not exist")})
	}
	var found []Blocker
	switch {
	case dep.Own == nil || dep.isTarget(in, dep.Own):
	case dep.Own.Deleting:
		found = append(found, notFound(dep.Name, "is being deleted"))
	default:
		found = dep.weigh(in, found, &ApplicationSet{Namespace: dep.Namespace}, dep.Own)
	}
	if set := dep.Set; set != nil && !dep.ofSiblings(in) {
		members := dep.inTrack(&in)
		found = append(found, dep.ofSet(in, members)...)
		for _, a := range members {
			member := set.Sibling(a)
			if a.Deleting || dep.Excluded[a.Name] || dep.isTarget(in, a) || member.Orphan() ||
				dep.Own != nil && a.Name == dep.Own.Name {
				continue
			}
			found = dep.weigh(in, found, set, a)
		}
	}
	slices.SortStableFunc(found, func(a, b Blocker) int { return cmp.Compare(a.Application, b.Application) })
	return dep.labelled(in, found)
}

// inTrack are the Members that share the track of the target, by the label that its own ApplicationSet names.
func (dep *Dependency) inTrack(in *Input) []*Application {
	if in.Settings.Track == "" {
		return dep.Members
	}
	var members []*Application
	for _, a := range dep.Members {
		if in.inTrack(a.Labels, dep.Past(a)) {
			members = append(members, a)
		}
	}
	return members
}

// isTarget reports whether an Application is the target: nothing waits for itself.
func (dep *Dependency) isTarget(in Input, a *Application) bool {
	namespace, name := ObjectOf(dep.Namespace, a.Name)
	return MemberName(in.ApplicationSet.Namespace, namespace, name) == in.Target.Name
}

// ofSiblings reports whether it is the parent of the target: that one waits for it itself, and for the others as its wave
// says.
func (dep *Dependency) ofSiblings(in Input) bool {
	return dep.Set.Parent() && dep.Set.UID == in.ApplicationSet.UID
}

// ofSet says what of the ApplicationSet itself, which has these members in the track of the target, is not done. One
// that has Applications, but none in that track, may be about to generate it: its status does not tell.
func (dep *Dependency) ofSet(in Input, members []*Application) (found []Blocker) {
	set := dep.Set
	switch {
	case set.Deleting:
		return []Blocker{notFound(dep.Name, "is being deleted")}
	case set.Failing != "" && in.Settings.Require.asks(notGenerated.level):
		found = append(found, Blocker{
			Application: set.Name, Reason: NotGenerated, Detail: "it reports an error: " + clean(set.Failing),
			Next: "repair the ApplicationSet APP",
		})
	case len(dep.Members) == 0 && !set.Generated && !set.Parent():
		found = append(found, notFound(dep.Name, "has generated no Application yet"))
	case len(dep.Members) > 0 && len(members) == 0:
		found = append(found, notFound(dep.Name, "has no Application yet with "+in.Settings.Track+"="+
			clean(in.Settings.TrackOf(in.Target.Labels))))
	}
	live := map[string]bool{}
	for _, a := range dep.Members {
		live[a.Name] = true
	}
	for name, c := range set.Sets {
		if !dep.Excluded[name] {
			found = append(found, set.doesNotExist(name, c.recorded()))
		}
	}
	for name, r := range set.Recorded {
		if r.Step > 0 && !live[name] && !dep.Excluded[name] {
			found = append(found, set.doesNotExist(name, r))
		}
	}
	return found
}

// notFound is the blocker for a name of which there is nothing to look at.
func notFound(name, why string) Blocker {
	return Blocker{Application: clean(name), Reason: DependencyNotFound, Detail: why}
}

// weigh adds an Application that is not done, or that is not known to be compared since the change.
func (dep *Dependency) weigh(in Input, found []Blocker, set *ApplicationSet, a *Application) []Blocker {
	past := dep.Past(a)
	asked := Input{
		ApplicationSet: set, Settings: Settings{
			Require: in.Settings.Require, AllowFailedOperations: in.Settings.AllowFailedOperations,
		},
		History: History{Of: func(string) Past { return past }},
	}
	b, ok := NotDone(asked, a)
	if !ok && past.Freshness < Fresh && in.Settings.Require.asks(notCompleted.level) {
		b, ok = a.blocker(stop{
			Reason: NotCompleted, detail: ChangeUnseen + " was seen", next: RefreshIt,
			ends: CompareAgain,
		}), true
	}
	if ok {
		found = append(found, b)
	}
	return found
}

// labelled are blockers of no step, with their namespace where that is another one.
func (dep *Dependency) labelled(in Input, found []Blocker) []Blocker {
	for i := range found {
		found[i].Step = -1
		if dep.Namespace != in.ApplicationSet.Namespace {
			found[i].Namespace = dep.Namespace
		}
	}
	return found
}
