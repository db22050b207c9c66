package main

import (
	"context"
	"fmt"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"

	"github.com/stepgate/stepgate/test/argocd"
)

// repoint makes every spec another one, which deploys another folder of the same commit, and waits until every
// Application has been compared with it. From argo-cd v3.3 on the ApplicationSet controller does not sync an Application
// that was Synced when its spec changed; it takes the change along with the next one of the revision.
func (r *rollout) repoint(ctx context.Context) error {
	ahead := map[string]string{}
	for _, m := range r.members {
		m.path, m.version = m.name+"/two", "2"
		for path, content := range m.file("Healthy") {
			ahead[path] = content
		}
	}
	repo := r.members[0].repo
	if err := r.commit(map[*argocd.Repository]map[string]string{repo: ahead}, []*argocd.Repository{repo}); err != nil {
		return err
	}
	if err := r.edit(ctx, nil); err != nil {
		return err
	}
	err := until(ctx, r.scenario.within(), func() (bool, error) {
		for _, m := range r.members {
			app := r.recorder.app(string(r.mode), m.name)
			if app == nil || app.Status.Sync.ComparedTo.Source.Path != m.path || app.Operation != nil {
				return false, nil
			}
		}
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("the new spec compared: %w", err)
	}
	return nil
}

// templateSpec changes the template, and when the ApplicationSet controller has done with that what it does, a commit
// lands: no operation may be under way then, because one that names no revision would deploy the commit.
func templateSpec(ctx context.Context, r *rollout) error {
	r.begin()
	if err := r.repoint(ctx); err != nil {
		return err
	}
	if err := r.quiet(ctx); err != nil {
		return err
	}
	if err := r.version("3", healthy, r.members...); err != nil {
		return err
	}
	return r.refresh(ctx, between, append(append(r.in("prod"), r.in("qa")...), r.in("dev")...)...)
}

func templateLabels(ctx context.Context, r *rollout) error {
	r.begin()
	const label = "team"
	err := r.edit(ctx, func(set *argo.ApplicationSet) { set.Spec.Template.Labels[label] = "blue" })
	if err != nil {
		return err
	}
	err = until(ctx, r.scenario.within(), func() (bool, error) {
		for _, m := range r.members {
			if app := r.recorder.app(string(r.mode), m.name); app == nil || app.Labels[label] != "blue" {
				return false, nil
			}
		}
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("new label on every Application: %w", err)
	}
	return nil
}

// quiet waits until the ApplicationSet controller has nothing more to do for a while.
func (r *rollout) quiet(ctx context.Context) error {
	var since time.Time
	err := until(ctx, r.scenario.within(), func() (bool, error) {
		if err := r.nudge(ctx); err != nil {
			return false, err
		}
		recorded, err := r.recorded(ctx)
		busy := false
		for _, m := range r.members {
			app := r.recorder.app(string(r.mode), m.name)
			busy = busy || recorded[m.name] != "Healthy" || app == nil || app.Operation != nil
		}
		if busy || since.IsZero() {
			since = time.Now()
		}
		return !busy && time.Since(since) > 2*time.Second, err
	})
	if err != nil {
		return fmt.Errorf("nothing more to do for the ApplicationSet controller: %w", err)
	}
	return nil
}
