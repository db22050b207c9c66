package judge

import (
	"context"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/siblings"
)

// Named is what there is of a name: an ApplicationSet, an Application, or one of each.
type Named struct {
	// Set is nil if there is none, and Members are its Applications.
	Set     *argocd.ApplicationSet
	Members []*argocd.Projection
	// Own is the Application of the name; nil if there is none.
	Own *argocd.Projection
}

// Named reads live what there is of a name.
func (e *LiveEvaluator) Named(ctx context.Context, name types.NamespacedName) (n Named, err error) {
	group, reads := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		n.Own, err = siblings.Recovered(func() (*argocd.Projection, error) { return e.reader.Alone(reads, name) })
		return err
	})
	group.Go(func() (err error) {
		n.Set, err = siblings.Recovered(func() (*argocd.ApplicationSet, error) {
			return e.reader.ApplicationSet(reads, name)
		})
		if err != nil || n.Set == nil {
			return err
		}
		n.Members, err = siblings.Recovered(func() ([]*argocd.Projection, error) {
			return e.reader.Members(reads, &n.Set.ApplicationSet)
		})
		return err
	})
	if err := group.Wait(); err != nil {
		return Named{}, err
	}
	return n, nil
}

// NamedKnown is what is known of a name without a read.
func NamedKnown(known KnownSets, name types.NamespacedName) (n Named) {
	n.Own = known.Application(name)
	if n.Set, _ = known.Set(name); n.Set != nil {
		n.Members = known.Owned(types.UID(n.Set.UID))
	}
	return n
}
