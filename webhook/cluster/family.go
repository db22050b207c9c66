// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
)

// Owner is an ApplicationSet that controls Applications. An owner reference means nothing in another namespace.
type Owner struct {
	Namespace string
	UID       types.UID
}

// OwnerOf is an ApplicationSet as an Owner.
func OwnerOf(set *policy.ApplicationSet) Owner { return Owner{set.Namespace, types.UID(set.UID)} }

// family is the Applications of one Owner, as last watched: their steps of an ApplicationSet, and what
// was seen of each. Decisions share the arrays and the names. Once these were handed out, they are copied before they
// change.
type family struct {
	// set is the ApplicationSet that the steps are of; nil if it is not known.
	set      *policy.ApplicationSet
	siblings []policy.Sibling
	members  []*member
	names    map[string]int
	// joined is when the last one was seen to appear or to come to another step, or the steps to change, and
	// respecified when the last spec of one was seen to change; zero if nothing of the kind was seen.
	joined, respecified time.Time
	// around is policy.History.AroundSince.
	around time.Time
	// respecifiedAt is the resourceVersion of that change of a spec, or a later one, and endedAt is that by which the
	// passes of the controller had ended that had begun before. Both may be empty.
	respecifiedAt, endedAt string

	arraysShared, namesShared bool
}

// put adds an Application, or replaces the one of its name. It reports whether that one was in another step, and in
// which.
func (f *family) put(o *member, a *policy.Application) (from int, moved bool) {
	f.unshareArrays()
	i, is := f.names[o.name]
	if !is {
		f.unshareNames()
		i = len(f.members)
		f.names[o.name] = i
		f.siblings, f.members = append(f.siblings, policy.Sibling{}), append(f.members, nil)
	}
	before := f.siblings[i]
	f.siblings[i], f.members[i] = policy.Sibling{Application: a}, o
	if f.set != nil {
		f.siblings[i] = f.set.Sibling(a)
		moved = is && f.siblings[i].Step != before.Step
	}
	return before.Step, moved
}

// replace puts a member that knows more in the place of one, if that is still there. A family of nobody has none.
func (f *family) replace(o, next *member) {
	if f == nil {
		return
	}
	if i, is := f.names[o.name]; is && f.members[i] == o {
		f.unshareArrays()
		f.members[i] = next
	}
}

// remove takes an Application out, unless another one has its name now. The last one takes its place in the arrays.
func (f *family) remove(o *member) {
	i, is := f.names[o.name]
	if !is || f.members[i] != o {
		return
	}
	f.unshareArrays()
	f.unshareNames()
	last := len(f.members) - 1
	f.names[f.members[last].name] = i
	delete(f.names, o.name)
	f.siblings[i], f.members[i] = f.siblings[last], f.members[last]
	f.siblings[last], f.members[last] = policy.Sibling{}, nil
	f.siblings, f.members = f.siblings[:last], f.members[:last]
}

// keepSteps gives all Applications their steps of an ApplicationSet.
func (f *family) keepSteps(set *policy.ApplicationSet, now time.Time) {
	sameSteps := f.set != nil && f.set.SameSteps(set)
	if f.set != nil && !sameSteps {
		f.joined = now
	}
	f.unshareArrays()
	f.set = set
	for i, s := range f.siblings {
		if sameSteps {
			f.siblings[i].RecordedStep = set.Recorded[s.Name].Step
		} else {
			f.siblings[i] = set.Sibling(s.Application)
		}
	}
}

func (f *family) unshareArrays() {
	if f.arraysShared {
		f.siblings, f.members, f.arraysShared = slices.Clone(f.siblings), slices.Clone(f.members), false
	}
}

func (f *family) unshareNames() {
	if f.namesShared {
		f.names, f.namesShared = maps.Clone(f.names), false
	}
}
