// SPDX-License-Identifier: Apache-2.0

package outlook

import (
	"cmp"
	"encoding/binary"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
)

// mostHeld is how many of the Applications are named that wait for a need.
const mostHeld = 5

// Need is the root of what holds syncs up: it waits for nothing else itself.
type Need struct {
	policy.Need
	// Holds counts the Applications whose syncs to come wait for it, and Held are the first of them by name.
	Holds int
	Held  []string
}

// Needs are what has to end before everything is done.
type Needs struct {
	// All are in the order of policy.CompareNeeds: first those about which somebody has to do something.
	All []Need
	// First is the first of All that the sync to come of an Application waits for, by its name.
	First map[string]int
}

// Needs are what the syncs to come wait for, followed to its root, and the Applications that are not done and that no
// sync waits for.
func (o *Outlook) Needs() Needs {
	o.ToCome()
	w := newWalk(o, unbounded)
	held, shown := map[*roots][]string{}, map[*roots]bool{}
	for _, p := range o.Applications {
		if !o.counts(p) {
			continue
		}
		found := w.of(o, p)
		shown[found] = true
		if s, _ := w.sync(o, p); s != nil && s.Outcome == policy.Deny {
			held[found] = append(held[found], p.Name)
		}
	}
	missing := w.union()
	for _, b := range policy.Missing(o.Input) {
		missing.add(b.Need(o.name()))
	}
	shown[missing.roots()] = true
	return w.needs(shown, held)
}

// needs are those of some roots; held are the Applications whose syncs wait for them, by name.
func (w *walk) needs(shown map[*roots]bool, held map[*roots][]string) Needs {
	var ids []int
	for found := range shown {
		ids = append(ids, found.ids...)
	}
	slices.SortFunc(ids, func(a, b int) int {
		return cmp.Or(policy.CompareNeeds(&w.known[a], &w.known[b]), cmp.Compare(a, b))
	})
	ids = slices.Compact(ids)
	all := Needs{First: map[string]int{}}
	at := make(map[int]int, len(ids))
	for _, id := range ids {
		at[id] = len(all.All)
		all.All = append(all.All, Need{Need: w.known[id]})
	}
	for found, names := range held {
		first := len(all.All)
		for _, id := range found.ids {
			n := &all.All[at[id]]
			n.hold(names)
			first = min(first, at[id])
		}
		for _, name := range names {
			all.First[name] = first
		}
	}
	return all
}

// hold adds Applications that wait for it, by name. One does not wait for itself.
func (n *Need) hold(names []string) {
	n.Holds += len(names)
	if own, ok := slices.BinarySearch(names, n.Application); ok {
		n.Holds--
		names = slices.Delete(slices.Clone(names), own, own+1)
	}
	n.Held = append(n.Held, names[:min(len(names), mostHeld)]...)
	slices.Sort(n.Held)
	n.Held = n.Held[:min(len(n.Held), mostHeld)]
}

// Roots are what a sync of an Application waits for by a decision about it, followed to the roots, in the order of
// policy.CompareNeeds. unmet are all the conditions that do not hold for it.
func (o *Outlook) Roots(p *argocd.Projection, d policy.Decision, unmet []policy.Decision) []policy.Need {
	w := newWalk(o, unbounded)
	return w.sorted(w.denied(o, p, d, unmet))
}

// counts reports whether an Application is in a step, or waits without one, and holds others up.
func (o *Outlook) counts(p *argocd.Projection) bool {
	a := &p.Application
	return policy.NotCounted(o.Input, a) == "" && (!o.Set.Ordered() || o.Set.StepOf(a.Labels) >= 0)
}

// name is "namespace/name"; empty for an Application that is in no ApplicationSet.
func (o *Outlook) name() string {
	if o.Set.Name == "" {
		return ""
	}
	return o.Set.Namespace + "/" + o.Set.Name
}

// unbounded is the bound of a walk that follows everything.
const unbounded = -1

// walk follows what waits for what, through what comes before as well. It is for one goroutine.
type walk struct {
	// namespace is the one in which names stand without it.
	namespace string
	outlooks  map[types.UID]*Outlook
	// known are all needs, which roots name by their position, and ids are these.
	known []policy.Need
	ids   map[policy.Need]int
	// sets are all roots, by what they are: Applications by the thousand have the same ones.
	sets map[string]*roots
	// found are the roots of Applications, and onWay are those that are looked for: a circle ends there.
	found map[types.UID]*roots
	onWay map[types.UID]bool
	// shared are the roots of syncs that are alike.
	shared map[shared]*roots
	// left is how many more syncs are judged, or unbounded. cut says that one was not followed.
	left int
	cut  bool
}

// roots are needs, by their ascending numbers.
type roots struct{ ids []int }

// shared is the same for syncs that have the same roots.
type shared struct {
	set    string
	alike  policy.Key
	reason policy.Reason
	track  string
}

func newWalk(o *Outlook, most int) *walk {
	return &walk{
		namespace: o.Set.Namespace, outlooks: map[types.UID]*Outlook{types.UID(o.Set.UID): o},
		ids: map[policy.Need]int{}, sets: map[string]*roots{}, found: map[types.UID]*roots{},
		onWay: map[types.UID]bool{}, shared: map[shared]*roots{}, left: most,
	}
}

// union gathers roots.
type union struct {
	*walk
	ids  []int
	seen map[*roots]bool
}

func (w *walk) union() *union { return &union{walk: w, seen: map[*roots]bool{}} }

func (u *union) add(n policy.Need) {
	id, known := u.walk.ids[n]
	if !known {
		id = len(u.known)
		u.walk.ids[n], u.known = id, append(u.known, n)
	}
	u.ids = append(u.ids, id)
}

func (u *union) addAll(r *roots) {
	if r != nil && !u.seen[r] {
		u.seen[r] = true
		u.ids = append(u.ids, r.ids...)
	}
}

// roots are what was gathered.
func (u *union) roots() *roots {
	slices.Sort(u.ids)
	ids := slices.Compact(u.ids)
	var key []byte
	for _, id := range ids {
		key = binary.AppendUvarint(key, uint64(id)) //nolint:gosec // a position is not negative
	}
	if u.sets[string(key)] == nil {
		u.sets[string(key)] = &roots{ids}
	}
	return u.sets[string(key)]
}

// sorted are the needs of roots.
func (w *walk) sorted(r *roots) []policy.Need {
	all := make([]policy.Need, 0, len(r.ids))
	for _, id := range r.ids {
		all = append(all, w.known[id])
	}
	slices.SortFunc(all, func(a, b policy.Need) int { return policy.CompareNeeds(&a, &b) })
	return all
}

// sync is the sync that is to come of an Application; nil if none is. ok is false if no more are judged.
func (w *walk) sync(o *Outlook, p *argocd.Projection) (s *Sync, ok bool) {
	switch {
	case o.toCome != nil:
		return o.toCome[p.Name], true
	case !o.waits(p):
		return nil, true
	case w.left == 0:
		w.cut = true
		return nil, false
	}
	w.left = max(w.left-1, unbounded)
	next := o.Next(p)
	return &next, true
}

// of are the roots of why an Application is not done, or of what its sync to come waits for; nil if it is not followed.
func (w *walk) of(o *Outlook, p *argocd.Projection) *roots {
	if known := w.found[p.UID]; known != nil {
		return known
	}
	w.onWay[p.UID] = true
	all := w.find(o, p)
	delete(w.onWay, p.UID)
	w.found[p.UID] = all
	return all
}

func (w *walk) find(o *Outlook, p *argocd.Projection) *roots {
	b, blocks := policy.NotDone(o.Input, &p.Application)
	w.qualify(o, &b)
	found := w.union()
	switch s, ok := w.sync(o, p); {
	case !ok:
		return nil
	case s != nil && s.Outcome == policy.Deny:
		return w.waiting(o, p, s)
	case s != nil && (blocks || o.Set.Recorded[p.Name].Pending):
		found.add(o.due(p, s, &b))
	case blocks:
		found.add(b.Need(o.name()))
	}
	return found.roots()
}

// qualify has a blocker named with its namespace where that is not the one of the walk.
func (w *walk) qualify(o *Outlook, b *policy.Blocker) {
	if o.Set.Namespace != w.namespace {
		b.Namespace = o.Set.Namespace
	}
}

// due is what an Application waits for that may sync. b names it.
func (o *Outlook) due(p *argocd.Projection, s *Sync, b *policy.Blocker) policy.Need {
	self := *b
	self.Application = p.Name
	switch {
	case o.Set.Recorded[p.Name].Pending:
	case HasFailed(p, &s.Best):
		self.Reason, self.Detail, self.Next = policy.OperationFailed, policy.ClientText(p.Application.LastFull.Phase), ""
		return self.Need(o.name())
	case o.StaysBack(p, &s.Best), !p.Application.Reported && !StartedByArgoCD(p, o.Set):
		return self.NeverSynced(o.name())
	}
	d := s.Decision
	d.Application = self.Named()
	return d.Due()
}

// waiting are the roots of what a sync to come waits for. Those that are alike share them, unless they wait for what
// comes before, or for a slot.
func (w *walk) waiting(o *Outlook, p *argocd.Projection, s *Sync) *roots {
	key := shared{o.Set.UID, s.Alike, s.Reason, s.Track}
	own := s.Reason == policy.DependencyNotDone || s.Reason == policy.MaxUpdateReached
	if known := w.shared[key]; known != nil && !own {
		return known
	}
	d, unmet := s.Decision, []policy.Decision(nil)
	if s.Reason.Condition() {
		unmet = o.Unmet(s)
	}
	if s.Reason == policy.Paused {
		// As long as earlier steps hold it up, the pause holds nothing.
		in := s.Deploying()
		in.Settings.Conditions.Paused = policy.Steps{}
		if other := policy.Evaluate(in); other.Outcome == policy.Deny && !other.Reason.Condition() {
			d, unmet = other, nil
		}
	}
	w.shared[key] = w.denied(o, p, d, unmet)
	return w.shared[key]
}

// denied are the roots of a denial. unmet are all the conditions that do not hold, where only those hold it up.
func (w *walk) denied(o *Outlook, p *argocd.Projection, d policy.Decision, unmet []policy.Decision) *roots {
	found := w.union()
	switch {
	case d.Reason == policy.AlreadySynced && d.Detail == "":
	case d.Circle != "":
		found.add(d.Need())
		w.blockers(found, o, p, d)
	case len(d.Blockers) == 0 || d.Reason.Condition() && d.Reason != policy.MaxUpdateReached:
		found.add(d.Need())
		for _, c := range unmet {
			if c.Reason != d.Reason {
				found.addAll(w.denied(o, p, c, nil))
			}
		}
	default:
		w.blockers(found, o, p, d)
	}
	return found.roots()
}

// blockers adds the roots of the blockers of a denial. Those that soak come last: they matter once the others are done.
func (w *walk) blockers(found *union, o *Outlook, p *argocd.Projection, d policy.Decision) {
	for i := range d.Blockers {
		if b := &d.Blockers[i]; b.Reason != policy.Soaking || d.Reason == policy.Soaking {
			w.blocker(found, o, p, b)
		}
	}
}

// blocker adds the roots of a blocker: what its own sync waits for, or else the blocker itself.
func (w *walk) blocker(found *union, o *Outlook, p *argocd.Projection, b *policy.Blocker) {
	own := *b
	if own.Namespace == "" {
		w.qualify(o, &own)
	}
	of, name := o, types.NamespacedName{Namespace: cmp.Or(b.Namespace, o.Set.Namespace), Name: b.Application}
	at := o.known.Application(name)
	if b.Step < 0 && at != nil {
		if of = w.outlook(o, at); of != nil {
			at = of.member(at)
			own.Step = of.Set.StepOf(at.Application.Labels) // as it is named where its own steps wait for it
		}
	} else if at != nil {
		at = o.member(at)
	}
	switch {
	case at == nil || at.UID == p.UID || of == nil:
		found.add(own.Need(o.name()))
	case w.onWay[at.UID]: // a circle
	case !of.waits(at) || b.Ends.Stale():
		found.add(own.Need(of.name()))
	default:
		all := w.of(of, at)
		if all != nil && len(all.ids) == 0 {
			found.add(own.Need(of.name()))
		}
		found.addAll(all)
	}
}

// member is a known Application as it is among those of the Outlook.
func (o *Outlook) member(p *argocd.Projection) *argocd.Projection {
	for _, name := range []string{p.Name, p.Member().Name} {
		i, found := slices.BinarySearchFunc(o.Applications, name, func(a *argocd.Projection, name string) int {
			return cmp.Compare(a.Name, name)
		})
		if found && o.Applications[i].UID == p.UID {
			return o.Applications[i]
		}
	}
	return p
}

// outlook is that of the ApplicationSet of an Application, or of itself where it has none; nil where that is not known.
func (w *walk) outlook(o *Outlook, p *argocd.Projection) *Outlook {
	m := p.Member()
	set, _ := o.known.Set(types.NamespacedName{Namespace: m.Namespace, Name: m.Set})
	switch {
	case p.FollowsAlone():
		set = argocd.Alone(p.Namespace, p.UID, p.Annotations)
	case set == nil || types.UID(set.UID) != m.Owner:
		return nil
	default:
		set = cmp.Or(o.judge.OrderOf(set, o.known), set)
	}
	uid := types.UID(set.UID)
	if w.outlooks[uid] == nil {
		w.outlooks[uid] = Weighing(o.weigh, o.judge, set, o.known, o.view)
	}
	return w.outlooks[uid]
}
