package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/test/e2e/observer"
)

// outcome is what came of one rollout.
type outcome struct {
	rollout *rollout
	starts  []observer.Start
	// took is zero when it did not complete.
	took  time.Duration
	ended time.Time
	// problem is why it could not even be played.
	problem error
}

func (o *outcome) completed() bool { return o.took > 0 }

func (o *outcome) outOfOrder() int {
	n := 0
	for _, s := range o.starts {
		if s.OutOfOrder() {
			n++
		}
	}
	return n
}

// playAll plays every scenario in every mode, some of them at a time. The modes of one scenario run side by side.
func (s *stand) playAll(ctx context.Context, chosen []scenario, modes []mode, parallel int, done func(*outcome)) (map[string]map[mode]*outcome, error) {
	all := map[string]map[mode]*outcome{}
	results := make(chan *outcome)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel * len(modes))
	go func() {
		for _, sc := range chosen {
			for _, m := range modes {
				group.Go(func() error {
					select {
					case results <- s.play(ctx, sc, m):
						return nil
					case <-ctx.Done():
						return ctx.Err()
					}
				})
			}
		}
		_ = group.Wait()
		close(results)
	}()
	for o := range results {
		key := o.rollout.scenario.key
		if all[key] == nil {
			all[key] = map[mode]*outcome{}
		}
		all[key][o.rollout.mode] = o
		done(o)
	}
	return all, group.Wait()
}

// play plays one scenario in one mode.
func (s *stand) play(ctx context.Context, sc scenario, m mode) *outcome {
	r, err := newRollout(s, sc, m)
	o := &outcome{rollout: r, problem: err}
	if err != nil {
		o.rollout = &rollout{scenario: sc, mode: m}
		return o
	}
	if o.problem = r.perform(ctx); o.problem == nil {
		o.starts, o.problem = r.judge()
	}
	o.ended = time.Now()
	if !r.finished.IsZero() {
		o.took = r.finished.Sub(r.began)
	}
	return o
}

func (r *rollout) perform(ctx context.Context) error {
	if r.scenario.fresh {
		r.begin()
	}
	if err := r.install(ctx); err != nil {
		return fmt.Errorf("install: %w", err)
	}
	if !r.scenario.fresh {
		if err := r.settle(ctx); err != nil {
			return fmt.Errorf("set up: %w", err)
		}
	}
	if err := r.scenario.play(ctx, r); err != nil {
		return err
	}
	r.finished = time.Time{}
	return r.complete(ctx)
}

// settle waits until the installation is complete and the ApplicationSet controller knows it.
func (r *rollout) settle(ctx context.Context) error {
	err := until(ctx, setupLimit, func() (bool, error) {
		if complete, err := r.isComplete(ctx); err != nil || !complete {
			return false, err
		}
		var set argo.ApplicationSet
		if err := r.admin.Get(ctx, types.NamespacedName{Namespace: string(r.mode), Name: r.name}, &set); err != nil {
			return false, err
		}
		healthy := 0
		for _, s := range set.Status.ApplicationStatus {
			if s.Status == "Healthy" {
				healthy++
			}
		}
		return healthy == len(r.members), nil
	})
	if errors.Is(err, errTimeout) {
		return r.mustBeFinished("the installation")
	}
	return err
}

// mustBeFinished is an error that says where every Application stands, unless the rollout is complete.
func (r *rollout) mustBeFinished(what string) error {
	if !r.finished.IsZero() {
		return nil
	}
	return fmt.Errorf("%s did not complete: %s", what, r.standing())
}

// standing is one line on where every Application stands.
func (r *rollout) standing() string {
	text := ""
	for _, m := range r.members {
		app := r.recorder.app(string(r.mode), m.name)
		if app == nil {
			text += fmt.Sprintf("%s: absent; ", m.name)
			continue
		}
		phase := "none"
		if app.Status.OperationState != nil {
			phase = string(app.Status.OperationState.Phase)
		}
		text += fmt.Sprintf("%s: %s %s at %.7s %s, operation set %t, last %s; ", m.name, app.Status.Health.Status, app.Status.Sync.Status,
			app.Status.Sync.Revision, app.Status.Sync.ComparedTo.Source.Path, app.Operation != nil, phase)
	}
	return text
}
