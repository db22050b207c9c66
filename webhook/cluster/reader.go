// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
)

// fewRecorded is the number of recorded Applications up to which a GET of an ApplicationSet is cheap: the API server
// decodes and encodes all of it. Above that number the Reader reads its version first.
const fewRecorded = 20

// maxConcurrentGets is how many Applications one decision reads at a time.
const maxConcurrentGets = 8

// Version is the metadata of one live Application or ApplicationSet.
type Version struct {
	Name       string
	UID, Owner types.UID
	// Set is Projection.Set of an Application.
	Set             string
	ResourceVersion string
	Labels          map[string]string
}

// Live are the reads at the API server. Each is linearizable (resourceVersion unset), and complete or an error.
type Live interface {
	// ApplicationSet reads an ApplicationSet; nil without an error means that it does not exist.
	ApplicationSet(ctx context.Context, name types.NamespacedName) (*argocd.ApplicationSet, error)
	// SetVersion reads the metadata of one ApplicationSet, which was last known to record so many Applications; the
	// zero Version without an error means that there is none.
	SetVersion(ctx context.Context, name types.NamespacedName, recorded int) (Version, error)
	// Application reads one Application; nil without an error means that it does not exist.
	Application(ctx context.Context, name types.NamespacedName) (*argocd.Projection, error)
	// Versions lists the metadata of the Applications that a selector selects.
	Versions(ctx context.Context, namespace string, selector labels.Selector) ([]Version, error)
}

// Known gives objects as last watched, without a read; they may be out of date.
type Known interface {
	// Owned returns the Applications that an ApplicationSet controls, or the members of the order that a parent gives. The
	// caller owns the slice, not its elements.
	Owned(owner types.UID) []*argocd.Projection
	// Lent are Applications of an ApplicationSet as members of the order of its parent.
	Lent(set *argocd.ApplicationSet, apps []*argocd.Projection) []*argocd.Projection
	// Siblings returns those of its namespace with their steps. Callers share the slice. It may be a
	// moment older than Owned.
	Siblings(set *policy.ApplicationSet) []policy.Sibling
	// InSteps gives Applications their steps of an ApplicationSet.
	InSteps(set *policy.ApplicationSet, apps []*argocd.Projection) []policy.Sibling
	// Set returns an ApplicationSet, and its version; nil when none is known. It is only read.
	Set(name types.NamespacedName) (*argocd.ApplicationSet, Version)
}

// Reader reads an ApplicationSet and its Applications at the price of a few small reads. It trusts live reads only:
//
//   - It reads the ApplicationSet live. Unless it is small, a live read of its metadata tells the resourceVersion first: the
//     known ApplicationSet at that version is current.
//   - Known costs nothing and may be out of date. A caller may only deny by it, after a live GET of the blocker.
//   - Current and Members list metadata live, which tells every sibling's resourceVersion. A known sibling at that version
//     is current. They read the others live. Where the namespace has more than ShortList Applications, a Barrier proves
//     all at once, if there is one.
type Reader struct {
	// live is trusted.
	live Live
	// known is never trusted alone.
	known Known
	// barrier proves what is known; nil if there is none, and live reads prove it.
	barrier *Barrier
	// count is how many Applications a namespace has, as last watched.
	count    func(namespace string) int
	sets     *batches[*argocd.ApplicationSet]
	versions *batches[[]Version]
}

// NewReader returns a Reader.
func NewReader(live Live, known Known) *Reader {
	return &Reader{live: live, known: known, sets: newBatches[*argocd.ApplicationSet](), versions: newBatches[[]Version]()}
}

// ShortList is how many Applications a namespace may have for a LIST of their metadata to cost no more than a write
// barrier, which is a write for the API server and etcd, and an event for everybody who watches Applications. A LIST with
// a selector goes through all of them, too, and returns those of other ApplicationSets that have the same labels.
const ShortList = 100

// WithBarrier makes the Reader prove the siblings by a Barrier in namespaces of more than ShortList Applications, as count
// tells. Its watch is the one that known is from.
func (r *Reader) WithBarrier(b *Barrier, count func(namespace string) int) *Reader {
	r.barrier, r.count = b, count
	return r
}

// unknownSets is the group of shared reads of the ApplicationSets of a namespace that are not known: reads of made-up
// names do not delay the others.
const unknownSets = "/unknown"

// ApplicationSet reads an ApplicationSet live; nil without an error means that it does not exist.
func (r *Reader) ApplicationSet(ctx context.Context, name types.NamespacedName) (*argocd.ApplicationSet, error) {
	group := name.Namespace
	if known, _ := r.known.Set(name); known == nil {
		group += unknownSets
	}
	set, err := r.sets.do(ctx, group, name.Name, func(ctx context.Context) (*argocd.ApplicationSet, error) {
		known, at := r.known.Set(name)
		if known == nil || known.Parent() || len(known.Recorded) <= fewRecorded {
			return r.live.ApplicationSet(ctx, name)
		}
		now, err := r.live.SetVersion(ctx, name, len(known.Recorded))
		if err != nil {
			return nil, err
		}
		if now.UID == at.UID && now.ResourceVersion == at.ResourceVersion {
			return known, nil
		}
		return r.live.ApplicationSet(ctx, name)
	})
	if err != nil || set == nil || len(set.Deploys) == 0 {
		return set, err
	}
	var children []types.NamespacedName
	for child := range set.Deploys {
		children = append(children, types.NamespacedName{Namespace: name.Namespace, Name: child})
	}
	found, err := r.all(ctx, children)
	if err != nil {
		return nil, err
	}
	return set.WithSets(func(child string) *argocd.ApplicationSet { return found[child] }), nil
}

// all reads ApplicationSets of a namespace live, and returns those that exist, by name.
func (r *Reader) all(ctx context.Context, names []types.NamespacedName) (map[string]*argocd.ApplicationSet, error) {
	found := make([]*argocd.ApplicationSet, len(names))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxConcurrentGets)
	for i, name := range names {
		group.Go(func() (err error) {
			found[i], err = Recovered(func() (*argocd.ApplicationSet, error) { return r.ApplicationSet(ctx, name) })
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	all := make(map[string]*argocd.ApplicationSet, len(names))
	for _, set := range found {
		if set != nil {
			all[set.Name] = set
		}
	}
	return all, nil
}

// Known returns the Applications that an ApplicationSet controls as last watched. It reads nothing. Callers share the
// slice, and must not change it.
func (r *Reader) Known(set *policy.ApplicationSet) []policy.Sibling { return r.known.Siblings(set) }

// Application reads one Application of an ApplicationSet live; nil without an error means that the ApplicationSet
// controls no Application of that name. Of one that counts in the order of a parent, it reads the ApplicationSet as well.
func (r *Reader) Application(ctx context.Context, set *policy.ApplicationSet, name string) (*argocd.Projection, error) {
	return r.application(ctx, set, nil, name)
}

// application is Application, where some ApplicationSets have been read.
func (r *Reader) application(
	ctx context.Context, set *policy.ApplicationSet, lenders map[string]*argocd.ApplicationSet, name string,
) (*argocd.Projection, error) {
	app, err := r.live.Application(ctx, types.NamespacedName{Namespace: set.Namespace, Name: name})
	switch {
	case err != nil || app == nil || !set.Has(name):
		return nil, err
	case string(app.Owner) == set.UID:
		return app, nil
	case !set.Parent() || !app.Controlled():
		return nil, nil
	case lenders[string(app.Owner)] != nil:
		return lenders[string(app.Owner)].Lend(app), nil
	}
	lender, err := r.ApplicationSet(ctx, types.NamespacedName{Namespace: app.Namespace, Name: app.Set})
	if err != nil || lender == nil || lender.UID != string(app.Owner) || !lender.Lends(types.UID(set.UID)) {
		return nil, err
	}
	return lender.Lend(app), nil
}

// lenders reads ApplicationSets live, and returns those, by UID, whose Applications are members of an order.
func (r *Reader) lenders(
	ctx context.Context, set *policy.ApplicationSet, names []types.NamespacedName,
) (map[string]*argocd.ApplicationSet, error) {
	if len(names) == 0 {
		return nil, nil
	}
	found, err := r.all(ctx, names)
	if err != nil {
		return nil, err
	}
	all := map[string]*argocd.ApplicationSet{}
	for _, lender := range found {
		if lender.Lends(types.UID(set.UID)) {
			all[lender.UID] = lender
		}
	}
	return all, nil
}

// lending are the ApplicationSets that control listed Applications, and whose Applications may be members of the order
// of a parent: those of which that is known, and those that are not known.
func (r *Reader) lending(set *policy.ApplicationSet, versions []Version) (names []types.NamespacedName) {
	if !set.Parent() {
		return nil
	}
	seen := map[types.UID]bool{types.UID(set.UID): true, "": true}
	for i := range versions {
		v := &versions[i]
		if seen[v.Owner] {
			continue
		}
		seen[v.Owner] = true
		if argocd.IsOrder(v.Owner) {
			continue
		}
		name := types.NamespacedName{Namespace: set.Namespace, Name: v.Set}
		known, _ := r.known.Set(name)
		if known == nil || known.UID != string(v.Owner) || known.Lends(types.UID(set.UID)) {
			names = append(names, name)
		}
	}
	return names
}

// members are the known Applications of an ApplicationSet, or of the order of a parent, for which these ApplicationSets
// lend theirs.
func (r *Reader) members(set *policy.ApplicationSet, lenders map[string]*argocd.ApplicationSet) []*argocd.Projection {
	all := r.known.Owned(types.UID(set.UID))
	if !set.Parent() {
		return all
	}
	all = slices.DeleteFunc(all, func(p *argocd.Projection) bool { return p.Lender != nil })
	for uid, lender := range lenders {
		all = append(all, r.known.Lent(lender, r.known.Owned(types.UID(uid)))...)
	}
	return all
}

// Alone reads an Application live, whoever controls it; nil without an error means that it does not exist.
func (r *Reader) Alone(ctx context.Context, name types.NamespacedName) (*argocd.Projection, error) {
	return r.live.Application(ctx, name)
}

// Members returns all live Applications of an ApplicationSet. It does not read the known ones that are still current. A
// partial answer is an error.
func (r *Reader) Members(ctx context.Context, set *policy.ApplicationSet) ([]*argocd.Projection, error) {
	switch proven, err := r.proves(ctx, set); {
	case err != nil:
		return nil, err
	case proven:
		return r.proven(ctx, set)
	}
	versions, err := r.list(ctx, set, labels.Everything())
	if err != nil {
		return nil, err
	}
	lenders, err := r.lenders(ctx, set, r.lending(set, versions))
	if err != nil {
		return nil, err
	}
	known := byName(r.members(set, lenders))
	var current []*argocd.Projection
	var outdated []string
	for _, v := range versions {
		switch p := known[v.Name]; {
		case string(v.Owner) != set.UID && lenders[string(v.Owner)] == nil:
		case v.is(p):
			current = append(current, p)
		default:
			outdated = append(outdated, v.Name)
		}
	}
	anew, err := r.gets(ctx, set, lenders, outdated)
	return append(current, anew...), err
}

// list lists the metadata of the Applications of an ApplicationSet's namespace that a selector selects, and of the members
// that it has elsewhere, by their policy.MemberName.
func (r *Reader) list(
	ctx context.Context, set *policy.ApplicationSet, selector labels.Selector,
) (all []Version, err error) {
	list := func(ctx context.Context, namespace string) ([]Version, error) {
		return r.versions.do(ctx, namespace, selector.String(), func(ctx context.Context) ([]Version, error) {
			return r.live.Versions(ctx, namespace, selector)
		})
	}
	if len(set.Elsewhere) == 0 {
		return list(ctx, set.Namespace)
	}
	namespaces := set.Namespaces()
	listed := make([][]Version, len(namespaces))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxConcurrentGets)
	for i, namespace := range namespaces {
		group.Go(func() (err error) {
			listed[i], err = Recovered(func() ([]Version, error) { return list(ctx, namespace) })
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	all = slices.Clone(listed[0])
	for i, namespace := range namespaces[1:] {
		for _, v := range listed[i+1] { // others share them
			if v.Name = policy.MemberName(set.Namespace, namespace, v.Name); string(v.Owner) == set.UID && set.Has(v.Name) {
				all = append(all, v)
			}
		}
	}
	return all, nil
}

// is reports whether a known Application is the live one.
func (v *Version) is(p *argocd.Projection) bool {
	return p != nil && p.UID == v.UID && p.ResourceVersion == v.ResourceVersion
}

func byName(known []*argocd.Projection) map[string]*argocd.Projection {
	names := make(map[string]*argocd.Projection, len(known)+1)
	for _, p := range known {
		names[p.Name] = p
	}
	return names
}

// Current returns the live siblings: those of the steps before step as they are now, the others perhaps with name and
// labels only. It does not read the known siblings that are still current, nor one that the caller has just read; read
// may be nil. A partial answer is an error.
func (r *Reader) Current(
	ctx context.Context, set *policy.ApplicationSet, step int, read *argocd.Projection,
) ([]policy.Sibling, error) {
	switch proven, err := r.proves(ctx, set); {
	case err != nil:
		return nil, err
	case proven:
		members, err := r.proven(ctx, set)
		if err != nil {
			return nil, err
		}
		return r.known.InSteps(set, members), nil
	}
	selector, exact := labels.Everything(), false
	if !set.Waves { // no label says which wave an Application is in
		selector, exact = selectorFor(set.Steps[:step])
	}
	if !exact {
		selector = labels.Everything()
	}
	versions, err := r.list(ctx, set, selector)
	if err != nil {
		return nil, err
	}
	lenders, err := r.lenders(ctx, set, r.lending(set, versions))
	if err != nil {
		return nil, err
	}
	current, outdated := r.split(versions, set, lenders, step, read)
	if exact {
		outdated = append(outdated, unlisted(versions, set, step)...)
	}
	anew, err := r.read(ctx, set, lenders, outdated)
	return append(current, anew...), err
}

// proves reports whether the known Applications of an ApplicationSet are proven to be the live ones, by a Barrier. It
// does not try where a LIST costs no more. It is an error if the caller's time is over: to list then would only keep the
// API server from what it is late with.
func (r *Reader) proves(ctx context.Context, set *policy.ApplicationSet) (bool, error) {
	if r.barrier == nil {
		return false, nil
	}
	count := 0
	for _, namespace := range set.Namespaces() {
		count += r.count(namespace)
	}
	if count <= ShortList {
		return false, nil
	}
	proven := r.barrier.Pass(ctx) == nil
	return proven, ctx.Err()
}

// proven returns the known Applications after a Barrier has passed. It leaves out those of other namespaces: an owner
// reference means nothing there, and those that a parent has there have its own (argocd.Projection's Member). A Barrier
// proves nothing of ApplicationSets: those whose Applications may count in the order of a parent are read.
func (r *Reader) proven(ctx context.Context, set *policy.ApplicationSet) ([]*argocd.Projection, error) {
	var names []types.NamespacedName
	if set.Parent() {
		names = r.barrier.watch.Lending(set.Namespace, types.UID(set.UID))
	}
	lenders, err := r.lenders(ctx, set, names)
	if err != nil {
		return nil, err
	}
	members := slices.DeleteFunc(r.members(set, lenders), func(p *argocd.Projection) bool {
		return p.Namespace != set.Namespace || !set.Has(p.Name)
	})
	if len(set.Elsewhere) == 0 {
		return members, nil
	}
	known, unknown := byName(members), []string(nil)
	for name := range set.Elsewhere { // the parent may have been read after the barrier has passed
		if known[name] == nil {
			unknown = append(unknown, name)
		}
	}
	anew, err := r.gets(ctx, set, lenders, unknown)
	return append(members, anew...), err
}

// split separates the listed siblings whose known state is current from the names of those that have to be read.
func (r *Reader) split(
	versions []Version, set *policy.ApplicationSet, lenders map[string]*argocd.ApplicationSet, step int,
	read *argocd.Projection,
) (current []policy.Sibling, outdated []string) {
	known := byName(r.members(set, lenders))
	if read != nil {
		known[read.Name] = read
	}
	for _, v := range versions {
		lender := lenders[string(v.Owner)]
		if string(v.Owner) != set.UID && lender == nil {
			continue
		}
		if p := known[v.Name]; v.is(p) {
			current = append(current, set.Sibling(&p.Application))
			continue
		}
		labels := v.Labels
		if lender != nil {
			labels = lender.Child.Labels(labels)
		}
		if listed := set.Sibling(&policy.Application{Name: v.Name, Labels: labels}); !listed.Before(step) {
			current = append(current, listed)
		} else {
			outdated = append(outdated, v.Name)
		}
	}
	return current, outdated
}

// unlisted are the Applications that the ApplicationSet's status records under a step before step and a LIST with a
// selector lacks: somebody may have changed their labels.
func unlisted(versions []Version, set *policy.ApplicationSet, step int) []string {
	listed := make(map[string]bool, len(versions))
	for _, v := range versions {
		if string(v.Owner) == set.UID {
			listed[v.Name] = true
		}
	}
	var names []string
	for name, recorded := range set.Recorded {
		if recorded.Step > 0 && recorded.Step <= step && !listed[name] {
			names = append(names, name)
		}
	}
	return names
}

// read reads Applications live, and gives them their steps.
func (r *Reader) read(
	ctx context.Context, set *policy.ApplicationSet, lenders map[string]*argocd.ApplicationSet, names []string,
) ([]policy.Sibling, error) {
	found, err := r.gets(ctx, set, lenders, names)
	if err != nil {
		return nil, err
	}
	read := make([]policy.Sibling, 0, len(found))
	for _, p := range found {
		read = append(read, set.Sibling(&p.Application))
	}
	return read, nil
}

// gets reads Applications live; those that do not exist or are not controlled by the ApplicationSet are left out.
func (r *Reader) gets(
	ctx context.Context, set *policy.ApplicationSet, lenders map[string]*argocd.ApplicationSet, names []string,
) ([]*argocd.Projection, error) {
	found := make([]*argocd.Projection, len(names))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxConcurrentGets)
	for i, name := range names {
		group.Go(func() (err error) {
			found[i], err = Recovered(func() (*argocd.Projection, error) { return r.application(ctx, set, lenders, name) })
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(found, func(p *argocd.Projection) bool { return p == nil }), nil
}
