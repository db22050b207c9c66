// SPDX-License-Identifier: Apache-2.0

package guestbook

import (
	"strconv"
	"strings"
	"time"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	synccommon "github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var commits = map[string]string{"new": NewCommit, "old": OldCommit}

// Put brings an Application into a state at now, HEALTH/SYNC@COMMIT, where COMMIT is new or old. After that, :STATUS is
// what the ApplicationSet controller has recorded of it at that commit, or at another with :STATUS@COMMIT. At the end,
// +op is an operation that waits, and +failed one that has failed at the commit.
func Put(set *argo.ApplicationSet, app *argo.Application, step int, state string, now time.Time) {
	state, operation, _ := strings.Cut(state, "+")
	state, record, recorded := strings.Cut(state, ":")
	state, commit, _ := strings.Cut(state, "@")
	healthy, sync, _ := strings.Cut(state, "/")
	deployed := OldCommit
	if sync == "Synced" {
		deployed = commits[commit]
	}
	app.Operation = RollingSync()
	Start(app, now.Add(-20*time.Minute))
	Finish(app, now.Add(-19*time.Minute), deployed)
	at := now.Add(-4 * time.Minute)
	if commit == "old" {
		at = at.Add(-time.Minute)
	}
	Compare(app, at, commits[commit], argo.SyncStatusCode(sync), health.HealthStatusCode(healthy))
	switch operation {
	case "op":
		app.Operation = RollingSync()
	case "failed":
		app.Status.OperationState.Phase = synccommon.OperationFailed
		app.Status.OperationState.SyncResult.Revision = commits[commit]
	}
	if !recorded {
		return
	}
	status, other, differs := strings.Cut(record, "@")
	if differs {
		commit = other
	}
	since := metav1.NewTime(now.Add(-4*time.Minute - 12*time.Second))
	set.Status.ApplicationStatus = append(set.Status.ApplicationStatus, argo.ApplicationSetApplicationStatus{
		Application: app.Name, Step: strconv.Itoa(step), Status: argo.ProgressiveSyncStatusCode(status),
		LastTransitionTime: &since, TargetRevisions: []string{commits[commit]},
	})
}
