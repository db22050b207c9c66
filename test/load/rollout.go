// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/eventually"
	"github.com/stepgate/stepgate/test/guestbook"
)

// Rollout is the guestbook ApplicationSet in a namespace of its own. dev and qa are done and prod is next, unless dev
// is degraded. It is for one goroutine.
type Rollout struct {
	writer *Writer
	// Prod is the target as it was created; Dev is what opens and closes its step.
	Prod, Dev *argo.Application

	// alone belongs to no ApplicationSet.
	alone    *argo.Application
	degraded bool
	// stored is the operation that prod has, as far as is known.
	stored *argo.Operation
	turn   int
	writes int
	made   *guestbook.Rollout
}

// NewRollout creates a namespace and in it the ApplicationSet and its Applications.
func (w *Writer) NewRollout(ctx context.Context, namespace string) (*Rollout, error) {
	if err := w.cluster.CreateNamespace(ctx, namespace); err != nil {
		return nil, err
	}
	admin, err := w.cluster.Client("")
	if err != nil {
		return nil, err
	}
	r := &Rollout{writer: w}
	r.made, err = guestbook.Create(ctx, admin, namespace, 24*time.Hour,
		func(made *guestbook.Rollout, env string, app *argo.Application) {
			sync := argo.SyncStatusCodeSynced
			switch env {
			case "dev":
				r.Dev = app
			case "prod":
				r.Prod, sync = app, argo.SyncStatusCodeOutOfSync
			}
			guestbook.Compare(app, made.Tick(), guestbook.NewCommit, sync, health.HealthStatusHealthy)
		})
	if err != nil {
		return nil, err
	}
	r.alone = guestbook.Application(r.made.Set, "dev")
	r.alone.Name, r.alone.OwnerReferences = "alone", nil
	return r, admin.Create(ctx, r.alone)
}

// NewProbe creates a rollout and returns when the API server calls both webhooks of stepgate for it: the API server
// learns of a registration a moment after it is stored.
func (w *Writer) NewProbe(ctx context.Context, namespace string) (*Rollout, error) {
	r, err := w.NewRollout(ctx, namespace)
	if err != nil {
		return nil, err
	}
	return r, eventually.Succeeds(ctx, func() error {
		if r.SetDegraded(ctx, true) != Right || r.Sync(ctx) != Right {
			return errors.New("a write that has to be denied is not")
		}
		if r.SetDegraded(ctx, false) != Right || r.Sync(ctx) != Right {
			return errors.New("a write that has to be admitted is not")
		}
		return nil
	})
}

// Fatten adds so many bytes to every Application, in the status as Argo CD's controller fills it.
func (r *Rollout) Fatten(ctx context.Context, admin client.Client, bytes int) error {
	message := make([]byte, 1000)
	for i := range message {
		message[i] = byte('a' + i%26)
	}
	var resources []map[string]any
	for i := range bytes / 1100 {
		resources = append(resources, map[string]any{
			"kind": "ConfigMap", "name": fmt.Sprintf("config-%d", i), "version": "v1", "namespace": "guestbook",
			"health": map[string]any{"status": "Healthy", "message": string(message)},
		})
	}
	body, err := json.Marshal(map[string]any{"status": map[string]any{"resources": resources}})
	if err != nil {
		return err
	}
	// r.Prod is patched itself, so that the AdmissionReviews that Review makes are as large as the API server's.
	for _, app := range []*argo.Application{r.Dev.DeepCopy(), r.Prod} {
		if err := admin.Patch(ctx, app, client.RawPatch("application/merge-patch+json", body)); err != nil {
			return err
		}
	}
	return nil
}

// Next sends the next operation write, and before it the status write that decides its right answer. Of eight operation
// writes four have to be denied and four admitted. They are real writes and no dry runs.
func (r *Rollout) Next(ctx context.Context) Outcome {
	turn := r.turn % 8
	r.turn++
	if (turn == 0 || turn == 4) && r.SetDegraded(ctx, turn == 0) != Right {
		r.turn-- // it may be stored or not
		return WrongDeny
	}
	if turn == 7 {
		r.Untouched(ctx)
	}
	return r.Sync(ctx)
}

// SetDegraded makes dev Degraded or Healthy, by a status write.
func (r *Rollout) SetDegraded(ctx context.Context, degraded bool) Outcome {
	state := health.HealthStatusHealthy
	if degraded {
		state = health.HealthStatusDegraded
	}
	app := r.Dev.DeepCopy()
	guestbook.Compare(app, r.made.Tick(), guestbook.NewCommit, argo.SyncStatusCodeSynced, state)
	outcome := r.asController(ctx, app, fields{"status": app.Status})
	if outcome == Right {
		r.degraded = degraded
	}
	return outcome
}

// Sync writes a new operation of prod, two in turn as the ApplicationSet controller and as the application controller. An
// early one is held, or refused where nobody holds.
func (r *Rollout) Sync(ctx context.Context) Outcome { return r.SyncWithin(ctx, 0) }

// SyncWithin is Sync by a client that gives the API server only so much time; 0 is as much as it takes.
func (r *Rollout) SyncWithin(ctx context.Context, within time.Duration) Outcome {
	r.writes++
	operation, want := r.operation(), r.want()
	one := write{
		as: r.writer.controller, app: r.Prod, body: fields{"operation": unpinned(operation)}, want: want, within: within,
		number: fmt.Sprint(r.writes), holdable: true,
	}
	if r.writes/2%2 == 1 {
		one.as = r.writer.applicationSet
	}
	outcome := r.writer.send(ctx, one)
	switch {
	case want == Admitted && outcome == Right || outcome == WrongAllow:
		r.stored = operation
	case outcome == Failed:
		r.stored = nil // unknown
	}
	return outcome
}

// want is the right answer to an operation write of prod.
func (r *Rollout) want() Want {
	if r.degraded {
		return Denied
	}
	return Admitted
}

// Untouched sends the writes in which stepgate has no say: an operation that is there already, what the application
// controller writes while it runs, a terminate, its end, an annotation, and a sync of an Application of no
// ApplicationSet.
func (r *Rollout) Untouched(ctx context.Context) {
	running := fields{"operation": r.operation(), "phase": "Running", "startedAt": metav1.NewTime(r.made.Tick())}
	if r.stored != nil {
		r.asController(ctx, r.Prod, fields{"operation": unstamped(r.stored)})
	}
	r.asController(ctx, r.Prod, fields{"status": fields{"operationState": running}})
	r.asController(ctx, r.Prod, fields{"status": fields{"operationState": fields{"phase": "Terminating"}}})
	if r.asController(ctx, r.Prod, fields{"operation": nil, "status": fields{"operationState": nil}}) == Right {
		r.stored = nil
	}
	r.asController(ctx, r.Prod, fields{"metadata": fields{"annotations": fields{"argocd.argoproj.io/refresh": "normal"}}})
	r.asController(ctx, r.alone, fields{"operation": r.operation()})
}

// fields are some of an Application's.
type fields = map[string]any

// asController sends a write that has to pass regardless.
func (r *Rollout) asController(ctx context.Context, app *argo.Application, body fields) Outcome {
	return r.writer.send(ctx, write{as: r.writer.controller, app: app, body: body, want: Regardless})
}

// unstamped is an operation as a merge patch that leaves its infos as they are stored, with the stamp.
func unstamped(o *argo.Operation) fields {
	return fields{"initiatedBy": o.InitiatedBy, "retry": o.Retry, "sync": o.Sync}
}

// unpinned is an operation as a merge patch: it removes the revision to which the operation before was pinned, as the
// patch of the ApplicationSet controller does.
func unpinned(o *argo.Operation) fields {
	return fields{
		"initiatedBy": o.InitiatedBy, "info": o.Info, "retry": o.Retry, "sync": fields{"revision": nil, "source": nil},
	}
}

// operation is one that is different from all before.
func (r *Rollout) operation() *argo.Operation {
	operation := guestbook.RollingSync()
	operation.Info = append(operation.Info, &argo.Info{Name: numberInfo, Value: fmt.Sprint(r.writes)})
	return operation
}
