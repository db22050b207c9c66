// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	oldCommit = "864496e0c1a2b3d4e5f60718293a4b5c6d7e8f90"
	newCommit = "78de5d3a0b1c2d3e4f5061728394a5b6c7d8e9f0"
	repoKey   = "https://git.example/org/repo  main"
	setUID    = types.UID("6a1f7d0e-0000-4000-8000-000000000001")
)

// source is a Helm chart in git, as most Applications have it.
func source() argo.ApplicationSource {
	return argo.ApplicationSource{
		RepoURL: "https://git.example/org/repo.git", Path: "charts/guestbook", TargetRevision: "main",
		Helm: &argo.ApplicationSourceHelm{
			ValueFiles: []string{"values.yaml"},
			Parameters: []argo.HelmParameter{{Name: "image.tag", Value: "v1"}, {Name: "replicas", Value: "3"}},
		},
	}
}

// reference is a second source of multi-source Applications.
func reference() argo.ApplicationSource {
	return argo.ApplicationSource{RepoURL: "https://git.example/org/values", TargetRevision: "v7", Ref: "values"}
}

// application is done: Healthy and Synced at newCommit, which its last operation deployed after oldCommit.
func application() *argo.Application {
	spec := source()
	destination := argo.ApplicationDestination{Server: "https://kubernetes.default.svc", Namespace: "guestbook"}
	return &argo.Application{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "argocd", Name: "dev", Labels: map[string]string{"env": "dev"},
			OwnerReferences: []metav1.OwnerReference{owner("guestbook", setUID, true)},
		},
		Spec: argo.ApplicationSpec{Project: "default", Source: &spec, Destination: destination},
		Status: argo.ApplicationStatus{
			Health:       argo.AppHealthStatus{Status: "Healthy"},
			ReconciledAt: at(100),
			Sync: argo.SyncStatus{
				Status: argo.SyncStatusCodeSynced, Revision: newCommit,
				ComparedTo: argo.ComparedTo{Source: source(), Destination: destination},
			},
			OperationState: &argo.OperationState{
				Operation: argo.Operation{Sync: &argo.SyncOperation{}}, Phase: "Succeeded",
				StartedAt: *at(40), FinishedAt: at(50),
				SyncResult: &argo.SyncOperationResult{Revision: newCommit, Source: source()},
			},
			History: argo.RevisionHistories{
				{ID: 0, Revision: oldCommit, Source: source(), DeployedAt: *at(10)},
				{ID: 1, Revision: newCommit, Source: source(), DeployedAt: *at(49)},
			},
		},
	}
}

// multiSource is application with two sources instead of one.
func multiSource() *argo.Application {
	app := application()
	both := func() argo.ApplicationSources { return argo.ApplicationSources{source(), reference()} }
	app.Spec.Source, app.Spec.Sources = nil, both()
	app.Status.Sync.ComparedTo.Source, app.Status.Sync.ComparedTo.Sources = argo.ApplicationSource{}, both()
	app.Status.Sync.Revision, app.Status.Sync.Revisions = "", []string{newCommit, oldCommit}
	app.Status.OperationState.SyncResult = &argo.SyncOperationResult{
		Sources: both(), Revisions: []string{newCommit, oldCommit},
	}
	app.Status.History = argo.RevisionHistories{
		{Sources: both(), Revisions: []string{newCommit, oldCommit}, DeployedAt: *at(49)},
	}
	return app
}

// hydrated is application with a source hydrator: it is compared with what the hydrator pushed.
func hydrated() *argo.Application {
	app := application()
	app.Spec.Source = nil
	app.Spec.SourceHydrator = &argo.SourceHydrator{
		DrySource:  argo.DrySource{RepoURL: "https://git.example/org/repo", Path: "charts/guestbook", TargetRevision: "main"},
		SyncSource: argo.SyncSource{TargetBranch: "env/dev", Path: "guestbook"},
	}
	pushed := argo.ApplicationSource{RepoURL: "https://git.example/org/repo", Path: "guestbook", TargetRevision: "env/dev"}
	app.Status.Sync.ComparedTo.Source = pushed
	app.Status.OperationState.SyncResult.Source = pushed
	app.Status.History = argo.RevisionHistories{{Revision: newCommit, Source: pushed, DeployedAt: *at(49)}}
	return app
}

func owner(name string, uid types.UID, controller bool) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: "argoproj.io/v1alpha1", Kind: "ApplicationSet", Name: name, UID: uid, Controller: &controller,
	}
}

// at counts seconds from a fixed moment, in UTC as the API server sends it.
func at(second int) *metav1.Time {
	return &metav1.Time{Time: time.Date(2026, time.September, 21, 12, 0, second, 0, time.UTC)}
}
