// SPDX-License-Identifier: Apache-2.0

package guestbook

import (
	"context"
	"fmt"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Lately is how far the statuses of a rollout are behind that is written as its controllers would. stepgate asks for
// another comparison of what was compared 5 minutes ago.
const Lately = 2 * time.Minute

// Rollout is the ApplicationSet and its Applications on an API server. It is for one goroutine.
type Rollout struct {
	Set    *argo.ApplicationSet
	admin  client.Client
	behind time.Duration
	now    time.Time
}

// Create creates the ApplicationSet in a namespace, and its Applications dev, qa and prod after state has given each
// its status. The clock of the statuses is behind at first: Lately, or more for who ticks often.
func Create(
	ctx context.Context, admin client.Client, namespace string, behind time.Duration,
	state func(r *Rollout, env string, app *argo.Application),
) (*Rollout, error) {
	r := &Rollout{Set: Set(namespace), admin: admin, behind: behind}
	if err := admin.Create(ctx, r.Set); err != nil {
		return nil, err
	}
	for _, env := range []string{"dev", "qa", "prod"} {
		app := Application(r.Set, env)
		state(r, env, app)
		if err := admin.Create(ctx, app); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// CrowdLabel is of the Applications of a crowd.
const CrowdLabel = "crowd"

// Crowd creates 101 Applications with the label of a step, which no ApplicationSet controls: a LIST of the step is so long
// that stepgate uses the write barrier instead.
func Crowd(ctx context.Context, admin client.Client, of *argo.Application) error {
	for i := range 101 {
		app := of.DeepCopy()
		app.ObjectMeta = metav1.ObjectMeta{
			Namespace: of.Namespace, Name: fmt.Sprintf("crowd-%d", i),
			Labels: map[string]string{StepLabel: of.Labels[StepLabel], CrowdLabel: "true"},
		}
		if err := admin.Create(ctx, app); err != nil {
			return err
		}
	}
	return nil
}

// Tick moves the clock of the statuses on by two seconds, or by more if it would fall further behind; Argo CD's times
// have a resolution of one.
func (r *Rollout) Tick() time.Time {
	least := time.Now().Add(-r.behind).Truncate(time.Second)
	if r.now = r.now.Add(2 * time.Second); r.now.Before(least) {
		r.now = least
	}
	return r.now
}

// Now is the time of the clock of the statuses.
func (r *Rollout) Now() time.Time { return r.now }

// App reads an Application.
func (r *Rollout) App(ctx context.Context, env string) (*argo.Application, error) {
	app := Application(r.Set, env)
	return app, r.admin.Get(ctx, client.ObjectKeyFromObject(app), app)
}

// Update merge-patches an Application as whoever has the client, the way Argo CD's controllers do.
func (r *Rollout) Update(
	ctx context.Context, as client.Client, env string, change func(*argo.Application), opts ...client.PatchOption,
) error {
	app, err := r.App(ctx, env)
	if err != nil {
		return err
	}
	before := app.DeepCopy()
	change(app)
	return as.Patch(ctx, app, client.MergeFrom(before), opts...)
}
