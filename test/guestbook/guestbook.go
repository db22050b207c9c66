// SPDX-License-Identifier: Apache-2.0

// Package guestbook makes the ApplicationSet of Argo CD's Progressive Syncs documentation and its Applications, in the
// states that the real controllers leave them in. The demo and the tests write them to a real API server.
package guestbook

import (
	"time"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	synccommon "github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// StepLabel is the label by which the ApplicationSet's steps select.
const StepLabel = "envLabel"

// Two commits of the repository.
const (
	OldCommit = "864496e2f2d2c2b6d2e5b1f6a1f0c8d4a3b2c1d0"
	NewCommit = "78de5d3c1b0a9f8e7d6c5b4a39281706f5e4d3c2"
)

// Set is the ApplicationSet "guestbook" with the steps env-dev, env-qa and env-prod.
func Set(namespace string) *argo.ApplicationSet {
	set := &argo.ApplicationSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: argo.SchemeGroupVersion.String(), Kind: "ApplicationSet"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "guestbook"},
	}
	list := &argo.ListGenerator{}
	for _, e := range []string{"dev", "qa", "prod"} {
		list.Elements = append(list.Elements, apiextensionsv1.JSON{Raw: []byte(
			`{"cluster":"engineering-` + e + `","url":"https://kubernetes.default.svc","env":"env-` + e + `"}`)})
	}
	set.Spec.Generators = []argo.ApplicationSetGenerator{{List: list}}
	set.Spec.GoTemplate = true
	set.Spec.Template = argo.ApplicationSetTemplate{
		ApplicationSetTemplateMeta: argo.ApplicationSetTemplateMeta{
			Name: "{{.cluster}}-guestbook", Labels: map[string]string{StepLabel: "{{.env}}"},
		},
		Spec: spec("guestbook/{{.cluster}}"),
	}
	set.Spec.Strategy = &argo.ApplicationSetStrategy{
		Type: "RollingSync", RollingSync: &argo.ApplicationSetRolloutStrategy{},
	}
	for _, e := range []string{"dev", "qa", "prod"} {
		set.Spec.Strategy.RollingSync.Steps = append(set.Spec.Strategy.RollingSync.Steps, argo.ApplicationSetRolloutStep{
			MatchExpressions: []argo.ApplicationMatchExpression{{Key: StepLabel, Operator: "In", Values: []string{"env-" + e}}},
		})
	}
	return set
}

// Application is one that the ApplicationSet controller generates for an environment: dev, qa or prod. The set must
// have been created, because the ownerReference carries its UID.
func Application(set *argo.ApplicationSet, env string) *argo.Application {
	yes := true
	return &argo.Application{
		TypeMeta: metav1.TypeMeta{APIVersion: argo.SchemeGroupVersion.String(), Kind: "Application"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: set.Namespace, Name: "engineering-" + env + "-guestbook",
			Labels: map[string]string{StepLabel: "env-" + env},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: argo.SchemeGroupVersion.String(), Kind: "ApplicationSet", Name: set.Name, UID: set.UID,
				Controller: &yes, BlockOwnerDeletion: &yes,
			}},
		},
		Spec: spec("guestbook/engineering-" + env),
	}
}

func spec(path string) argo.ApplicationSpec {
	return argo.ApplicationSpec{
		Project: "default",
		Source: &argo.ApplicationSource{
			RepoURL: "https://github.com/infra-team/cluster-deployments.git", TargetRevision: "HEAD", Path: path,
		},
		Destination: argo.ApplicationDestination{Server: "https://kubernetes.default.svc", Namespace: "guestbook"},
	}
}

// Compare changes an Application as the application controller does after a comparison that began at a moment; it
// answers a refresh.
func Compare(
	app *argo.Application, at time.Time, commit string, sync argo.SyncStatusCode, state health.HealthStatusCode,
) {
	delete(app.Annotations, argo.AnnotationKeyRefresh)
	reconciled := metav1.NewTime(at)
	app.Status.ReconciledAt = &reconciled
	app.Status.Health.Status = state
	app.Status.Sync = argo.SyncStatus{
		Status: sync, Revision: commit, ComparedTo: app.Spec.BuildComparedToStatus(app.Spec.GetSources()),
	}
}

// Start changes an Application as the application controller does when it takes up the operation that is set.
func Start(app *argo.Application, at time.Time) {
	app.Status.OperationState = &argo.OperationState{
		Operation: *app.Operation, Phase: synccommon.OperationRunning, StartedAt: metav1.NewTime(at),
	}
}

// Finish changes an Application as the application controller does when the operation has succeeded at a commit.
func Finish(app *argo.Application, at time.Time, commit string) {
	finished := metav1.NewTime(at)
	state := app.Status.OperationState
	state.Phase, state.FinishedAt = synccommon.OperationSucceeded, &finished
	state.SyncResult = &argo.SyncOperationResult{Revision: commit, Source: app.Spec.GetSource()}
	app.Status.History = append(app.Status.History, argo.RevisionHistory{
		ID: int64(len(app.Status.History)), Revision: commit, DeployedAt: finished, Source: app.Spec.GetSource(),
	})
	app.Operation = nil
}

// RollingSync is the operation that the ApplicationSet controller of Argo CD 3.5 writes.
func RollingSync() *argo.Operation {
	return &argo.Operation{
		InitiatedBy: argo.OperationInitiator{Username: "applicationset-controller", Automated: true},
		Info: []*argo.Info{{
			Name: "Reason", Value: "ApplicationSet RollingSync triggered a sync of this Application resource",
		}},
		Retry: argo.RetryStrategy{Limit: 5},
		Sync:  &argo.SyncOperation{},
	}
}

// Once is an operation of somebody who does not ask again by himself: an early one is refused and not held.
func Once(o *argo.Operation) *argo.Operation {
	o.InitiatedBy.Automated = false
	return o
}

// Pinned changes an operation as stepgate's mutating webhook does: it names the revision and the source that the
// Application was last compared with.
func Pinned(o *argo.Operation, app *argo.Application) *argo.Operation {
	source := app.Spec.GetSource()
	o.Sync.Revision, o.Sync.Source = app.Status.Sync.Revision, &source
	return o
}

// UserSync is the operation that argocd-server writes for a sync by an Argo CD user.
func UserSync(user string) *argo.Operation {
	return &argo.Operation{InitiatedBy: argo.OperationInitiator{Username: user}, Sync: &argo.SyncOperation{}}
}
