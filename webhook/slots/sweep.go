// SPDX-License-Identifier: Apache-2.0

package slots

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/stepgate/stepgate/webhook/argocd"
)

// sweepEvery is how often a Sweeper looks for ApplicationSets that are gone.
const sweepEvery = 10 * time.Minute

// Sets reads ApplicationSets live; nil without an error means that there is none.
type Sets interface {
	ApplicationSet(ctx context.Context, name types.NamespacedName) (*argocd.ApplicationSet, error)
}

// Kept are the objects that a Sweeper removes. ConfigMaps are these.
type Kept interface {
	Kept(ctx context.Context) (map[types.UID]types.NamespacedName, error)
	Remove(ctx context.Context, set types.UID) error
}

// Sweeper removes the objects of ApplicationSets that are gone. Any number of replicas may do that.
type Sweeper struct {
	Kept Kept
	Sets Sets
}

// Run sweeps now and then until ctx is done.
func (s *Sweeper) Run(ctx context.Context) {
	log := logr.FromContextOrDiscard(ctx)
	wait.JitterUntilWithContext(ctx, func(ctx context.Context) {
		if err := s.Sweep(ctx); err != nil && ctx.Err() == nil {
			log.Error(err, "the ConfigMaps of ApplicationSets that are gone were not removed")
		}
	}, sweepEvery, 1, true)
}

// Sweep removes what belongs to no ApplicationSet. One that cannot be read keeps its object.
func (s *Sweeper) Sweep(ctx context.Context) error {
	kept, err := s.Kept.Kept(ctx)
	if err != nil {
		return err
	}
	for uid, name := range kept {
		set, err := s.Sets.ApplicationSet(ctx, name)
		if err != nil {
			return err
		}
		if set != nil && set.UID == string(uid) {
			continue
		}
		if err := s.Kept.Remove(ctx, uid); err != nil {
			return err
		}
	}
	return nil
}
