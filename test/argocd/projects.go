// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"context"
	"fmt"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/cluster"
)

// CreateProject creates a project that allows everything.
func (a *ArgoCD) CreateProject(ctx context.Context, name string) error {
	return a.env.Admin.Create(ctx, project(cluster.ArgoNamespace, name))
}

// ShutWindow lets an Application of a project start no sync until OpenWindow is called.
func (a *ArgoCD) ShutWindow(ctx context.Context, name, application string) error {
	return a.setWindows(ctx, name, argo.SyncWindows{
		{Kind: "deny", Schedule: "* * * * *", Duration: "1h", Applications: []string{application}},
	})
}

// OpenWindow ends the sync windows of a project.
func (a *ArgoCD) OpenWindow(ctx context.Context, name string) error {
	return a.setWindows(ctx, name, nil)
}

// DenyUntil lets some Applications of a project start no sync until a moment, which has whole seconds.
func (a *ArgoCD) DenyUntil(ctx context.Context, name string, until time.Time, applications ...string) error {
	since := time.Now().UTC().Truncate(time.Minute)
	return a.setWindows(ctx, name, argo.SyncWindows{{
		Kind: "deny", Schedule: daily(since), Duration: until.Sub(since).String(), Applications: applications,
	}})
}

// AllowFrom lets some Applications of a project sync from a moment on, which has whole minutes.
func (a *ArgoCD) AllowFrom(ctx context.Context, name string, from time.Time, applications ...string) error {
	return a.setWindows(ctx, name, argo.SyncWindows{
		{Kind: "allow", Schedule: daily(from), Duration: "1h", Applications: applications},
	})
}

// daily is the cron schedule of a minute of every day.
func daily(at time.Time) string {
	at = at.UTC()
	return fmt.Sprintf("%d %d * * *", at.Minute(), at.Hour())
}

func (a *ArgoCD) setWindows(ctx context.Context, name string, windows argo.SyncWindows) error {
	p := &argo.AppProject{}
	if err := a.env.Admin.Get(ctx, client.ObjectKey{Namespace: cluster.ArgoNamespace, Name: name}, p); err != nil {
		return err
	}
	before := p.DeepCopy()
	p.Spec.SyncWindows = windows
	return a.env.Admin.Patch(ctx, p, client.MergeFrom(before))
}

func project(namespace, name string) *argo.AppProject {
	return &argo.AppProject{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: argo.AppProjectSpec{
			SourceRepos: []string{"*"}, SourceNamespaces: []string{"*"},
			Destinations: []argo.ApplicationDestination{{Server: "*", Namespace: "*"}},
		},
	}
}
