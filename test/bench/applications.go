// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/guestbook"
	"github.com/stepgate/stepgate/test/script"
)

const (
	// writers is how many Applications are written at a time.
	writers = 20
	// A usual Application has so many.
	resources, history = 60, 10
	// etcd takes 1.5 MiB at most. More than these resources beside 5,000 statuses do not fit.
	setResources = 1000
)

// rollout is an ApplicationSet of three equal steps; all its Applications are done but the target, whose sync is next.
type rollout struct {
	siblings  int
	namespace string
	// first is in the first step, target in the last.
	first, target string
	// review is an AdmissionReview of an operation write of the target, as the API server sends it.
	review []byte
	// unpinned and pinned are merge patches that set the target's operation.
	unpinned, pinned []byte
}

// newRollout creates a rollout in a namespace of its own. Labels of the namespace may switch the webhooks off.
func newRollout(
	ctx context.Context, admin client.Client, namespace string, labels map[string]string, siblings int,
) *rollout {
	script.Must(admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: labels}}))
	return rolloutOf(ctx, admin, guestbook.Set(namespace), siblings)
}

// nameOf is the name of an Application of a rollout.
func nameOf(set *argo.ApplicationSet, i int) string { return fmt.Sprintf("%s-%05d", set.Name, i) }

// rolloutOf creates the rollout of an ApplicationSet.
func rolloutOf(ctx context.Context, admin client.Client, set *argo.ApplicationSet, siblings int) *rollout {
	began := time.Now()
	script.Must(admin.Create(ctx, set))
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	for i := range siblings {
		app := guestbook.Application(set, []string{"dev", "qa", "prod"}[i*3/siblings])
		app.Name = nameOf(set, i)
		group.Go(func() error { return create(groupCtx, admin, app, i == siblings-1) })
	}
	script.Must(group.Wait())
	script.Must(recordRollout(ctx, admin, set, siblings))
	r := &rollout{
		siblings: siblings, namespace: set.Namespace, first: nameOf(set, 0), target: nameOf(set, siblings-1),
	}
	var target argo.Application
	script.Must(admin.Get(ctx, client.ObjectKey{Namespace: set.Namespace, Name: r.target}, &target))
	progress("%d Applications of %s/%s, of %d bytes of JSON each, with %d managedFields entries; the ApplicationSet has "+
		"%d bytes (%s)",
		siblings, set.Namespace, set.Name, len(encode(&target)), len(target.ManagedFields), len(encode(set)),
		time.Since(began).Round(100*time.Millisecond))
	r.review = review(&target)
	r.unpinned = encode(map[string]any{"operation": guestbook.Once(guestbook.RollingSync())})
	r.pinned = encode(map[string]any{"operation": guestbook.Pinned(guestbook.Once(guestbook.RollingSync()), &target)})
	return r
}

func encode(o any) []byte { return script.Get(json.Marshal(o)) }

// create writes an Application as the ApplicationSet controller does, and then its status as the application
// controller does, so that managedFields have two writers. next says that its sync is the next one.
func create(ctx context.Context, admin client.Client, app *argo.Application, next bool) error {
	if err := admin.Create(ctx, app, client.FieldOwner("argocd-applicationset-controller")); err != nil {
		return err
	}
	done(app)
	if next {
		pending(app)
	}
	return patchStatus(ctx, admin, app, app.Status)
}

// patchStatus writes a status, or a part of one.
func patchStatus(ctx context.Context, admin client.Client, app *argo.Application, status any) error {
	patch, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		return err
	}
	return admin.Patch(ctx, app, client.RawPatch(types.MergePatchType, patch),
		client.FieldOwner("argocd-application-controller"))
}

// done makes an Application one that was synced some times, the last time successfully and at the newest commit.
func done(app *argo.Application) {
	now := time.Now().Truncate(time.Second)
	for i := range history {
		commit := guestbook.OldCommit
		if i == history-1 {
			commit = guestbook.NewCommit
		}
		app.Operation = guestbook.RollingSync()
		at := now.Add(time.Duration(i-history) * time.Minute)
		guestbook.Start(app, at)
		guestbook.Finish(app, at.Add(10*time.Second), commit)
		started := metav1.NewTime(at)
		last := &app.Status.History[i]
		last.DeployStartedAt, last.InitiatedBy = &started, app.Status.OperationState.Operation.InitiatedBy
	}
	app.Status.OperationState.Message = "successfully synced (all tasks run)"
	app.Status.SourceType = argo.ApplicationSourceTypeKustomize
	// Since Argo CD 3.0, the health of resources is not kept here by default.
	for i := range resources / 2 {
		service := argo.ResourceStatus{
			Version: "v1", Kind: "Service", Namespace: "guestbook", Name: fmt.Sprintf("guestbook-backend-%02d", i),
			Status: argo.SyncStatusCodeSynced,
		}
		deployment := service
		deployment.Group, deployment.Kind = "apps", "Deployment"
		app.Status.Resources = append(app.Status.Resources, service, deployment)
	}
	guestbook.Compare(app, now, guestbook.NewCommit, argo.SyncStatusCodeSynced, "Healthy")
}

// pending takes the last sync away from an Application that is done: it is OutOfSync, and its sync is next.
func pending(app *argo.Application) {
	last := &app.Status.History[len(app.Status.History)-1]
	last.Revision, app.Status.OperationState.SyncResult.Revision = guestbook.OldCommit, guestbook.OldCommit
	app.Status.Sync.Status = argo.SyncStatusCodeOutOfSync
}

// setHealth changes the health of the Application of the first step.
func (r *rollout) setHealth(ctx context.Context, admin client.Client, state health.HealthStatusCode) error {
	app := &argo.Application{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: r.first}}
	return patchStatus(ctx, admin, app, map[string]any{"health": argo.AppHealthStatus{Status: state}})
}

// recordRollout writes the status that the ApplicationSet controller keeps of a rollout: two entries per Application,
// one of its step and one of its state. The last Application, which is the target, is Pending since its last sync: it
// waits for another one. If it were Healthy, a sync would be denied, because it has had it (AlreadySynced).
func recordRollout(ctx context.Context, admin client.Client, set *argo.ApplicationSet, siblings int) error {
	now := metav1.NewTime(time.Now().Truncate(time.Second))
	for i := range siblings {
		status := argo.ApplicationSetApplicationStatus{
			Application: nameOf(set, i), LastTransitionTime: &now, Status: "Healthy",
			Step:            fmt.Sprint(i*3/siblings + 1),
			Message:         "Application resource became Healthy, updating status from Progressing to Healthy.",
			TargetRevisions: []string{guestbook.NewCommit},
		}
		if i == siblings-1 {
			status.Status, status.Message = "Pending",
				"Application moved to Pending status, watching for the Application resource to start Progressing."
		}
		set.Status.ApplicationStatus = append(set.Status.ApplicationStatus, status)
	}
	for i := range min(siblings, setResources) {
		set.Status.Resources = append(set.Status.Resources, argo.ResourceStatus{
			Group: "argoproj.io", Version: "v1alpha1", Kind: "Application", Namespace: set.Namespace,
			Name:   nameOf(set, i),
			Status: argo.SyncStatusCodeSynced, Health: &argo.HealthStatus{Status: health.HealthStatusHealthy},
		})
	}
	set.Status.ResourcesCount = int64(siblings)
	return admin.Status().Update(ctx, set, client.FieldOwner("argocd-applicationset-controller"))
}
