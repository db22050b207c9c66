// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"errors"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/cmd/live"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/cluster"
)

// Reader reads Snapshots.
type Reader struct {
	objects  client.Reader
	live     cluster.Live
	tracking argocd.Tracking
}

// NewReader returns a Reader that finds the children of parents by a Tracking. Both clients have to go to the API server
// with every read.
func NewReader(objects client.Reader, live cluster.Live, tracking argocd.Tracking) *Reader {
	return &Reader{objects: objects, live: live, tracking: tracking}
}

// All reads every ApplicationSet and every Application of a namespace, or of all, in pages, and the members that parents
// of a namespace have elsewhere. An Application of no ApplicationSet may come after others.
func (r *Reader) All(ctx context.Context, namespace string) (*Snapshot, error) {
	s := NewSnapshot()
	err := live.ApplicationSets(ctx, r.objects, namespace, func(set *argo.ApplicationSet) {
		s.AddSet(r.tracking.ApplicationSet(set))
	})
	if err != nil {
		return s, err
	}
	err = live.Applications(ctx, r.objects, namespace, func(app *argo.Application) { s.add(r.tracking.Projection(app)) })
	if err != nil || namespace == "" {
		return s, err
	}
	for _, set := range s.Sets() {
		if err := r.elsewhere(ctx, s, set); err != nil {
			return s, err
		}
	}
	return s, nil
}

// elsewhere reads the members that a parent has in other namespaces.
func (r *Reader) elsewhere(ctx context.Context, s *Snapshot, set *argocd.ApplicationSet) error {
	owners := map[types.UID]bool{types.UID(set.UID): true}
	for _, namespace := range set.Namespaces()[1:] {
		if err := r.list(ctx, s, namespace, owners); err != nil {
			return err
		}
	}
	return nil
}

const (
	// maxGets bounds the reads of single Applications at a time.
	maxGets = 20
	// fewOf is how many times more Applications the namespace has to have than the ApplicationSet, so that reading its
	// own one by one is less work than reading all.
	fewOf = 3
)

// One reads one ApplicationSet and its Applications. Where they are most of the namespace's it lists these whole, in
// pages. Otherwise it lists the metadata, and then reads its own one by one.
func (r *Reader) One(ctx context.Context, name types.NamespacedName) (*Snapshot, error) {
	set, err := r.live.ApplicationSet(ctx, name)
	if err != nil {
		return nil, err
	}
	if set == nil {
		return nil, live.NoSet(name.Namespace, name.Name)
	}
	s := NewSnapshot()
	s.AddSet(set)
	if err := r.fill(ctx, s, name, set); err != nil {
		return nil, err
	}
	return s, r.follow(ctx, s, name)
}

// OrderOf is the name of what orders an Application: its ApplicationSet, whether that exists or not, or the parent that
// orders it; empty if nothing does.
func (r *Reader) OrderOf(ctx context.Context, p *argocd.Projection) (name types.NamespacedName, err error) {
	if p = p.Member(); p.Set == "" {
		return name, nil
	}
	own := types.NamespacedName{Namespace: p.Namespace, Name: p.Set}
	set, err := r.live.ApplicationSet(ctx, own)
	switch {
	case err != nil || set == nil && !p.Controlled(): // its parent gives no order
		return name, err
	case set == nil || set.Counts() == nil:
		return own, nil
	}
	order := types.NamespacedName{Namespace: p.Namespace, Name: set.Child.Set}
	if parent, err := r.live.ApplicationSet(ctx, order); err != nil || parent != nil {
		return order, err
	}
	return own, nil
}

// Of reads what orders an Application, with all that it orders. Of an ApplicationSet that does not exist nothing is known:
// the rule says that the gate has no say then. Where nothing orders the Application, it reads what that comes after.
func (r *Reader) Of(ctx context.Context, app *argo.Application) (*Snapshot, error) {
	p := r.tracking.Projection(app)
	name, err := r.OrderOf(ctx, p)
	switch {
	case err != nil:
		return nil, err
	case name.Name == "":
		return r.alone(ctx, p)
	}
	s, err := r.One(ctx, name)
	var gone *live.NotFoundError
	if errors.As(err, &gone) {
		return NewSnapshot(), nil
	}
	return s, err
}

// alone reads an Application that no ApplicationSet controls, if it comes after others, and what that is.
func (r *Reader) alone(ctx context.Context, p *argocd.Projection) (*Snapshot, error) {
	s := NewSnapshot()
	if !p.FollowsAlone() {
		return s, nil
	}
	s.add(p)
	return s, r.follow(ctx, s, types.NamespacedName{Namespace: p.Namespace, Name: p.Name})
}

// follow reads what an ApplicationSet and its Applications come after, and what that comes after.
func (r *Reader) follow(ctx context.Context, s *Snapshot, name types.NamespacedName) error {
	seen := map[types.NamespacedName]bool{name: true}
	for next := s.after(name); len(next) > 0; {
		at := next[0]
		next = next[1:]
		if seen[at] || len(seen) > mostFollowed {
			continue
		}
		seen[at] = true
		app, err := r.live.Application(ctx, at)
		if err != nil {
			return err
		}
		if app != nil {
			s.add(app)
		}
		set, err := r.live.ApplicationSet(ctx, at)
		if err != nil {
			return err
		}
		if known, _ := s.Set(at); set != nil && known == nil {
			s.AddSet(set)
			if err := r.fill(ctx, s, at, set); err != nil {
				return err
			}
		}
		next = append(next, s.after(at)...)
		if app == nil || app.Waves == nil || set != nil {
			continue
		}
		order := types.NamespacedName{Namespace: app.Namespace, Name: app.Waves.Name}
		if err := r.fill(ctx, s, order, app.Waves); err != nil {
			return err
		}
		next = append(next, s.after(order)...)
	}
	return nil
}

// mostFollowed bounds the names that are followed.
const mostFollowed = 100

// after are the names that an ApplicationSet or an Application, or one of its Applications, comes after.
func (s *Snapshot) after(name types.NamespacedName) (all []types.NamespacedName) {
	add := func(annotations argocd.Annotations) {
		names, _, _ := argocd.After(name.Namespace, annotations) // those that cannot be read name nothing
		all = append(all, names...)
	}
	if p := s.Application(name); p != nil {
		add(p.Annotations)
		if m := p.Member(); m.Set != "" {
			all = append(all, types.NamespacedName{Namespace: m.Namespace, Name: m.Set})
		}
	}
	if set, _ := s.Set(name); set != nil {
		add(set.Annotations)
		for _, p := range s.Owned(types.UID(set.UID)) {
			add(p.Annotations)
		}
	}
	return all
}

// fill reads the Applications of an ApplicationSet. Of a parent these are its children, and the Applications of those
// children that are ApplicationSets.
func (r *Reader) fill(ctx context.Context, s *Snapshot, name types.NamespacedName, set *argocd.ApplicationSet) error {
	if err := r.elsewhere(ctx, s, set); err != nil {
		return err
	}
	owners := map[types.UID]bool{types.UID(set.UID): true}
	if set.Parent() {
		err := live.ApplicationSets(ctx, r.objects, name.Namespace, func(one *argo.ApplicationSet) {
			child := r.tracking.ApplicationSet(one)
			lends := child.Lends(types.UID(set.UID))
			if _, deployed := set.Deploys[child.Name]; lends || deployed {
				s.AddSet(child)
			}
			if lends {
				owners[one.UID] = true
			}
		})
		if err != nil {
			return err
		}
	}
	if len(set.Recorded) > maxGets {
		total, err := live.CountApplications(ctx, r.objects, name.Namespace)
		if err != nil {
			return err
		}
		if total > 0 && len(set.Recorded)*fewOf > total {
			return r.list(ctx, s, name.Namespace, owners)
		}
	}
	versions, err := r.live.Versions(ctx, name.Namespace, labels.Everything())
	if err != nil {
		return err
	}
	var own []string
	for _, v := range versions {
		if owners[v.Owner] {
			own = append(own, v.Name)
		}
	}
	if len(own) > maxGets && len(own)*fewOf > len(versions) {
		return r.list(ctx, s, name.Namespace, owners)
	}
	return r.each(ctx, s, name.Namespace, own)
}

// list reads all Applications of a namespace, and keeps those of some owners.
func (r *Reader) list(ctx context.Context, s *Snapshot, namespace string, owners map[types.UID]bool) error {
	return live.Applications(ctx, r.objects, namespace, func(app *argo.Application) {
		if p := r.tracking.Projection(app); owners[p.Member().Owner] {
			s.add(p)
		}
	})
}

func (r *Reader) each(ctx context.Context, s *Snapshot, namespace string, names []string) error {
	found := make([]*argocd.Projection, len(names))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxGets)
	for i, name := range names {
		group.Go(func() (err error) {
			found[i], err = r.live.Application(ctx, types.NamespacedName{Namespace: namespace, Name: name})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for _, p := range found {
		if p != nil {
			s.add(p)
		}
	}
	return nil
}

// NoObserver is told of live reads, and does nothing.
type NoObserver struct{}

// ReadDone implements cluster.Observer.
func (NoObserver) ReadDone(string, time.Duration, error) {}
