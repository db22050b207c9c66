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

// table is the outcome of every scenario in every mode.
type table map[string]map[mode]*outcome

func (t table) add(o *outcome) {
	key := o.rollout.scenario.key
	if t[key] == nil {
		t[key] = map[mode]*outcome{}
	}
	t[key][o.rollout.mode] = o
}

// prepareAll installs the ApplicationSets of scenarios in every mode, several at a time.
func (s *stand) prepareAll(ctx context.Context, chosen []scenario, modes []mode, parallel int) (table, error) {
	all := table{}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for _, sc := range chosen {
		for _, m := range modes {
			o := &outcome{rollout: &rollout{stand: s, scenario: sc, mode: m, name: sc.key}}
			all.add(o)
			group.Go(func() error {
				if o.problem = o.rollout.prepare(ctx); o.problem != nil {
					o.problem = fmt.Errorf("set up: %w", o.problem)
				}
				return ctx.Err()
			})
		}
	}
	return all, group.Wait()
}

// play plays a prepared rollout.
func (o *outcome) play(ctx context.Context) {
	r := o.rollout
	if o.problem != nil {
		return
	}
	if o.problem = r.perform(ctx); o.problem == nil {
		o.starts, o.problem = r.judge()
	}
	o.ended = time.Now()
	if !r.finished.IsZero() {
		o.took = r.finished.Sub(r.began)
	}
}

func (r *rollout) prepare(ctx context.Context) (err error) {
	if r.admin, err = r.cluster.Client(""); err != nil {
		return err
	}
	if err := r.populate(); err != nil || r.scenario.fresh {
		return err
	}
	if err := r.install(ctx); err != nil {
		return err
	}
	if r.scenario.byHand != "" {
		if err := r.installByHand(ctx); err != nil {
			return err
		}
	}
	return r.settle(ctx)
}

func (r *rollout) perform(ctx context.Context) error {
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
		recorded, err := r.recorded(ctx)
		for _, m := range r.members {
			if recorded[m.name] != "Healthy" {
				return false, err
			}
		}
		return true, err
	})
	if errors.Is(err, errTimeout) {
		return r.mustBeFinished("the installation")
	}
	return err
}

// recorded are the states that the ApplicationSet controller has recorded, by Application.
func (r *rollout) recorded(ctx context.Context) (map[string]string, error) {
	var set argo.ApplicationSet
	if err := r.admin.Get(ctx, types.NamespacedName{Namespace: string(r.mode), Name: r.name}, &set); err != nil {
		return nil, err
	}
	recorded := map[string]string{}
	for _, s := range set.Status.ApplicationStatus {
		recorded[s.Application] = string(s.Status)
	}
	return recorded, nil
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
