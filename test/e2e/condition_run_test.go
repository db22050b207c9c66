// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"golang.org/x/sync/errgroup"

	"github.com/stepgate/stepgate/test/script"
)

// conditionModes are the modes in which the conditions are played, when those of the run are given.
func conditionModes(modes []mode) []mode {
	var all []mode
	if slices.Contains(modes, off) {
		all = append(all, off)
	}
	if slices.Contains(modes, on) {
		all = append(all, conditional)
	}
	return all
}

// both changes the template twice.
func both(one, other func(*rollout, *argo.ApplicationSpec)) func(*rollout, *argo.ApplicationSpec) {
	return func(r *rollout, spec *argo.ApplicationSpec) {
		one(r, spec)
		other(r, spec)
	}
}

// conditionOutcome is a condition that was played in one mode.
type conditionOutcome struct {
	*waiting
	condition condition
	kind      string
	problem   error
}

// measureConditions plays them with progressive syncs, and then with automated sync and an ApplicationSet controller
// without progressive syncs. Nothing may start before it is due with the gate, every rollout has to complete, and
// without the gate something of each condition has to start before it is due.
func (s *suite) measureConditions(ctx context.Context, chosen []condition, modes []mode, long bool) error {
	all, err := s.playConditions(ctx, "RollingSync", chosen, modes, long)
	if err != nil {
		return err
	}
	if err := s.unordered(ctx); err != nil {
		return err
	}
	more, err := s.playConditions(ctx, "automated", automatedConditions(chosen), modes, long)
	if err != nil {
		return err
	}
	if err := s.argo.Restart(ctx, quietSettings()); err != nil {
		return err
	}
	return printConditions(s.out, append(all, more...))
}

// automatedConditions are the same conditions where Applications sync by themselves.
func automatedConditions(chosen []condition) []condition {
	all := slices.Clone(chosen)
	for i := range all {
		c := &all[i]
		own := c.template
		c.key, c.automated = "auto-"+c.key, true
		c.template = selfHealing
		if own != nil {
			c.template = both(own, selfHealing)
		}
	}
	return all
}

// playConditions plays all of them at the same time: most of their time they wait.
func (s *suite) playConditions(
	ctx context.Context, kind string, chosen []condition, modes []mode, long bool,
) ([]*conditionOutcome, error) {
	var all []*conditionOutcome
	var setup errgroup.Group
	setup.SetLimit(3)
	for _, c := range chosen {
		for _, m := range modes {
			c.limit = 2 * time.Minute
			o := &conditionOutcome{
				waiting: &waiting{rollout: newRollout(ctx, s, c.scenario, m), long: long}, condition: c, kind: kind,
			}
			all = append(all, o)
			setup.Go(func() error {
				if err := script.Run(o.prepare); err != nil {
					o.problem = fmt.Errorf("set up: %w", err)
				}
				return ctx.Err()
			})
		}
	}
	if err := setup.Wait(); err != nil {
		return nil, err
	}
	var group sync.WaitGroup
	for _, o := range all {
		group.Go(o.run)
	}
	group.Wait()
	for _, o := range all {
		o.print()
	}
	return all, ctx.Err()
}

// run plays a prepared condition, and lets the observer look at the starts.
func (o *conditionOutcome) run() {
	if o.problem != nil {
		return
	}
	o.problem = script.Run(func() {
		o.begin()
		o.condition.play(o.waiting)
	})
	if err := script.Run(func() { o.starts = o.judge() }); err != nil {
		o.problem = errors.Join(o.problem, err)
	}
}
