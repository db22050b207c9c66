// SPDX-License-Identifier: Apache-2.0

package oracle_test

import (
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const setUID = types.UID("6a1f7d0e-0000-4000-8000-000000000001")

// application is done: Healthy and Synced.
func application() *argo.Application {
	source := argo.ApplicationSource{
		RepoURL: "https://git.example/org/repo.git", Path: "guestbook", TargetRevision: "main",
	}
	destination := argo.ApplicationDestination{Server: "https://kubernetes.default.svc", Namespace: "guestbook"}
	return &argo.Application{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "argocd", Name: "dev", Labels: map[string]string{"env": "dev"},
			OwnerReferences: []metav1.OwnerReference{owner("guestbook", setUID, true)},
		},
		Spec: argo.ApplicationSpec{Project: "default", Source: &source, Destination: destination},
		Status: argo.ApplicationStatus{
			Health:       argo.AppHealthStatus{Status: "Healthy"},
			ReconciledAt: &metav1.Time{Time: time.Date(2026, time.September, 21, 12, 0, 0, 0, time.UTC)},
			Sync: argo.SyncStatus{
				Status: argo.SyncStatusCodeSynced, Revision: "78de5d3a0b1c2d3e4f5061728394a5b6c7d8e9f0",
				ComparedTo: argo.ComparedTo{Source: source, Destination: destination},
			},
		},
	}
}

func owner(name string, uid types.UID, controller bool) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: "argoproj.io/v1alpha1", Kind: "ApplicationSet", Name: name, UID: uid, Controller: &controller,
	}
}
