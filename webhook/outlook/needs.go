package outlook

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
)

// Need is the root of what holds syncs up: it waits for nothing else itself.
type Need struct {
	policy.Need
	// Holds are the Applications whose syncs to come wait for it, by name.
	Holds []string
}

// Needs are what has to end before everything is done, those first about which somebody has to do something: what the
// syncs to come wait for, followed to its root, and the Applications that are not done and that no sync waits for.
func (o *Outlook) Needs() []Need {
	found := map[policy.Need]int{}
	var all []Need
	add := func(needs []policy.Need, holds ...string) {
		for _, n := range needs {
			at, known := found[n]
			if !known {
				at = len(all)
				found[n], all = at, append(all, Need{Need: n})
			}
			for _, name := range holds {
				if name != n.Application {
					all[at].Holds = append(all[at].Holds, name)
				}
			}
		}
	}
	w := newWalk(o)
	for _, p := range o.Applications {
		if !o.counts(p) {
			continue
		}
		if s := o.ToCome()[p.Name]; s != nil && s.Outcome == policy.Deny {
			add(w.of(o, p), p.Name)
			continue
		}
		add(w.of(o, p))
	}
	for _, b := range policy.Missing(o.Input) {
		add([]policy.Need{b.Need(o.name())})
	}
	slices.SortStableFunc(all, func(a, b Need) int {
		return cmp.Or(policy.CompareNeeds(&a.Need, &b.Need), cmp.Compare(len(b.Holds), len(a.Holds)))
	})
	return all
}

// Roots are what a sync of an Application waits for by a decision about it, followed to the roots. unmet are all the
// conditions that do not hold for it.
func (o *Outlook) Roots(p *argocd.Projection, d policy.Decision, unmet []policy.Decision) []policy.Need {
	all := newWalk(o).denied(o, p, d, unmet)
	slices.SortStableFunc(all, func(a, b policy.Need) int { return policy.CompareNeeds(&a, &b) })
	return all
}

// counts reports whether an Application is in a step, or waits without one, and holds others up.
func (o *Outlook) counts(p *argocd.Projection) bool {
	a := &p.Application
	return policy.NotCounted(o.Input, a) == "" &&
		(!o.Set.RollingSync || len(o.Set.Steps) == 0 || policy.StepOf(o.Set.Steps, a.Labels) >= 0)
}

// name is "namespace/name"; empty for an Application that is in no ApplicationSet.
func (o *Outlook) name() string {
	if o.Set.Name == "" {
		return ""
	}
	return o.Set.Namespace + "/" + o.Set.Name
}

// walk follows what waits for what, through what comes before as well.
type walk struct {
	outlooks map[types.UID]*Outlook
	// found are the roots of Applications, and onWay are those that are looked for: a circle ends there.
	found map[types.UID][]policy.Need
	onWay map[types.UID]bool
	// shared are the roots of syncs that are alike.
	shared map[shared][]policy.Need
}

// shared is the same for syncs that have the same roots.
type shared struct {
	set    string
	alike  policy.Key
	reason policy.Reason
	track  string
}

func newWalk(o *Outlook) *walk {
	return &walk{
		outlooks: map[types.UID]*Outlook{types.UID(o.Set.UID): o}, found: map[types.UID][]policy.Need{},
		onWay: map[types.UID]bool{}, shared: map[shared][]policy.Need{},
	}
}

// of are the roots of why an Application is not done, or of what its sync to come waits for.
func (w *walk) of(o *Outlook, p *argocd.Projection) []policy.Need {
	if known, ok := w.found[p.UID]; ok {
		return known
	}
	w.onWay[p.UID] = true
	all := w.find(o, p)
	delete(w.onWay, p.UID)
	w.found[p.UID] = all
	return all
}

func (w *walk) find(o *Outlook, p *argocd.Projection) []policy.Need {
	b, blocks := policy.NotDone(o.Input, &p.Application)
	s := o.ToCome()[p.Name]
	switch {
	case s != nil && s.Outcome == policy.Deny:
		return w.waiting(o, p, s)
	case s != nil && (blocks || o.Set.Recorded[p.Name].Pending):
		return []policy.Need{o.due(p, s, &b)}
	case blocks:
		return []policy.Need{b.Need(o.name())}
	}
	return nil
}

// due is what an Application waits for that may sync.
func (o *Outlook) due(p *argocd.Projection, s *Sync, b *policy.Blocker) policy.Need {
	pending := o.Set.Recorded[p.Name].Pending
	failed := *b
	failed.Application, failed.Reason, failed.Detail, failed.Next = p.Name, policy.OperationFailed,
		policy.ClientText(p.Application.LastFull.Phase), ""
	switch {
	case pending:
	case HasFailed(p, &s.Best):
		return failed.Need(o.name())
	case o.StaysBack(p, &s.Best), !p.Application.Reported && !StartedByArgoCD(p, o.Set):
		return b.NeverSynced(o.name())
	}
	return s.Due()
}

// waiting are the roots of what a sync to come waits for. Those that are alike share them, unless they wait for what
// comes before.
func (w *walk) waiting(o *Outlook, p *argocd.Projection, s *Sync) []policy.Need {
	key := shared{o.Set.UID, s.Alike, s.Reason, s.Track}
	if known, ok := w.shared[key]; ok && s.Reason != policy.DependencyNotDone && s.Reason != policy.MaxUpdateReached {
		return known
	}
	var unmet []policy.Decision
	if s.Reason.Condition() {
		unmet = o.Unmet(s)
	}
	all := w.denied(o, p, s.Decision, unmet)
	if s.Reason == policy.Paused {
		all = o.unlessEarlier(w, p, s, all)
	}
	w.shared[key] = all
	return all
}

// unlessEarlier are the roots of a paused sync. As long as earlier steps hold it up, the pause holds nothing.
func (o *Outlook) unlessEarlier(w *walk, p *argocd.Projection, s *Sync, paused []policy.Need) []policy.Need {
	in := s.Deploying()
	in.Settings.Conditions.Paused = policy.Steps{}
	if d := policy.Evaluate(in); d.Outcome == policy.Deny && !d.Reason.Condition() {
		return w.denied(o, p, d, nil)
	}
	return paused
}

// denied are the roots of a denial. unmet are all the conditions that do not hold, where only those hold it up.
func (w *walk) denied(o *Outlook, p *argocd.Projection, d policy.Decision, unmet []policy.Decision) (all []policy.Need) {
	add := func(needs ...policy.Need) {
		for _, n := range needs {
			if !slices.Contains(all, n) {
				all = append(all, n)
			}
		}
	}
	switch {
	case d.Reason == policy.AlreadySynced && d.Detail == "":
		return nil
	case d.Circle != "":
		add(d.Need())
	case len(d.Blockers) == 0 || d.Reason.Condition() && d.Reason != policy.MaxUpdateReached:
		add(d.Need())
		for _, c := range unmet {
			if c.Reason != d.Reason {
				add(w.denied(o, p, c, nil)...)
			}
		}
		return all
	}
	for i := range d.Blockers {
		// Those that soak come last: they matter once the others are done.
		if b := &d.Blockers[i]; b.Reason != policy.Soaking || d.Reason == policy.Soaking {
			add(w.blocker(o, p, b)...)
		}
	}
	return all
}

// blocker are the roots of a blocker: what its own sync waits for, or else the blocker itself.
func (w *walk) blocker(o *Outlook, p *argocd.Projection, b *policy.Blocker) []policy.Need {
	of, name := o, types.NamespacedName{Namespace: cmp.Or(b.Namespace, o.Set.Namespace), Name: b.Application}
	at := o.known.Application(name)
	if b.Step < 0 && at != nil {
		of = w.outlook(o, at)
	}
	if at == nil || at.UID == p.UID || of == nil {
		return []policy.Need{b.Need(o.name())}
	}
	if w.onWay[at.UID] {
		return nil
	}
	if s := of.ToCome()[at.Name]; s != nil && !b.Ends.Stale() {
		if all := w.of(of, at); len(all) > 0 {
			return named(all, of, o)
		}
	}
	return []policy.Need{b.Need(of.name())}
}

// named are the needs of what comes before, where their Applications are in another namespace.
func named(all []policy.Need, of, seen *Outlook) []policy.Need {
	if of.Set.Namespace == seen.Set.Namespace {
		return all
	}
	other := slices.Clone(all)
	for i := range other {
		if n := &other[i]; n.Application != "" && !strings.Contains(n.Application, "/") {
			n.Application = of.Set.Namespace + "/" + n.Application
		}
	}
	return other
}

// outlook is that of the ApplicationSet of an Application, or of itself where it has none; nil where that is not known.
func (w *walk) outlook(o *Outlook, p *argocd.Projection) *Outlook {
	set, _ := o.known.Set(types.NamespacedName{Namespace: p.Namespace, Name: p.Set})
	switch {
	case p.FollowsAlone():
		set = argocd.Alone(p.Namespace, p.UID, p.Annotations)
	case set == nil || types.UID(set.UID) != p.Owner:
		return nil
	}
	uid := types.UID(set.UID)
	if w.outlooks[uid] == nil {
		w.outlooks[uid] = Weighing(o.weigh, o.judge, set, o.known, o.view)
	}
	return w.outlooks[uid]
}
