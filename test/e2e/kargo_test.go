// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	synccommon "github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clientretry "k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/argocd"
	"github.com/stepgate/stepgate/test/script"
)

const (
	// kargoAccount is the account of Kargo's controller.
	kargoAccount = "system:serviceaccount:kargo:kargo-controller"
	// kargoInfo is the entry of an operation by which Kargo knows its own ones again.
	kargoInfo = "kargo.akuity.io/promotion"
	// kargoWaits is after how long Kargo looks again if nothing wakes it. While its sync is held, nothing may: it has
	// cleared the result of the last one.
	kargoWaits = 5 * time.Minute
	// kargoStep is how long the step argocd-update may take: its Stage sets retry.timeout, as works-with.md says.
	kargoStep = 20 * time.Minute
)

// promotion is Kargo v1.11.2 at its step argocd-update, for one Application. It writes, reads and waits as
// pkg/promotion/runner/builtin/argocd_updater.go of akuity/kargo does. An error ends it, because the error threshold of
// the step is 1.
type promotion struct {
	*rollout
	m  *member
	id string
	// person has started it; without one, Kargo itself has. Only then is the operation automated.
	person string
	// update is what the step changes in the sources; nil if it only asks for a sync, and for its revision.
	update func(*unstructured.Unstructured) error

	started, ended time.Time
	writes         int
	// woke says that an update has woken Kargo since it last looked, which was at looked.
	woke   atomic.Bool
	looked time.Time
}

// promote begins the promotion of a member to what git has now.
func (r *rollout) promote(m *member, person string, update func(*unstructured.Unstructured) error) *promotion {
	p := &promotion{
		rollout: r, m: m, id: fmt.Sprintf("%s.%d", m.name, len(m.changes)), person: person, update: update,
		started: time.Now(),
	}
	at := r.runs(m)
	r.recorder.tell(at.Namespace, at.Name, func(before, now *argo.Application) {
		if wakesKargo(before, now) {
			p.woke.Store(true)
		}
	})
	p.look()
	return p
}

// succeed goes on with promotions until each has succeeded, and each Application is Healthy, as Kargo has to see it
// before it promotes to the next stage.
func (r *rollout) succeed(all ...*promotion) {
	r.until("the success of promotions", func() bool {
		for _, p := range all {
			if p.ended.IsZero() && p.woken() {
				p.look()
			}
		}
		return !slices.ContainsFunc(all, func(p *promotion) bool { return p.ended.IsZero() })
	})
	for _, p := range all {
		r.note += fmt.Sprintf("%s: %d writes, %.1f s; ", p.m.env, p.writes, p.ended.Sub(p.started).Seconds())
		r.until("the health of "+p.m.name, p.healthy)
	}
}

// woken says whether Kargo looks again: an update has woken it since it last looked, or it has waited for long enough.
func (p *promotion) woken() bool {
	if time.Since(p.started) > kargoStep {
		script.Fail("Kargo: the step timed out after %s", kargoStep)
	}
	return p.woke.Swap(false) || time.Since(p.looked) > kargoWaits
}

// wakesKargo reports whether an update of an Application wakes Kargo: the predicates in
// pkg/controller/promotions/predicates.go.
func wakesKargo(before, now *argo.Application) bool {
	state, last := now.Status.OperationState, before.Status.OperationState
	operated := state != nil && state.Phase.Completed() && (last == nil || !last.Phase.Completed())
	compared := state != nil && state.FinishedAt != nil && !before.Status.ReconciledAt.Equal(now.Status.ReconciledAt) &&
		(before.Status.ReconciledAt == nil || before.Status.ReconciledAt.Before(state.FinishedAt))
	return operated || compared || now.Status.Health.Status != before.Status.Health.Status ||
		now.Status.Sync.Status != before.Status.Sync.Status
}

// look reads the Application, and writes it if Kargo has to: processApplication.
func (p *promotion) look() {
	app := &argo.Application{}
	script.Must(p.Admin.Get(p.ctx, p.key(p.m.name), app))
	p.looked = time.Now()
	phase, write := p.read(app)
	switch {
	case write:
		p.writes++
		script.Mustf(p.write(), "Kargo: the promotion %s has failed", p.id)
	case phase.Completed() && !phase.Successful():
		script.Fail("Kargo: the sync of %s has failed: %s", p.id, app.Status.OperationState.Message)
	case phase.Successful():
		p.ended = time.Now()
	}
}

// read is how Kargo takes the last operation of an Application, and whether it has to write one of its own:
// mustPerformUpdate.
func (p *promotion) read(app *argo.Application) (phase synccommon.OperationPhase, write bool) {
	state := app.Status.OperationState
	switch {
	case state == nil:
		return "", true
	case p.found(state.Operation.Info) != p.id:
		return state.Phase, state.Phase.Completed()
	case !state.Phase.Completed():
		return state.Phase, false
	case state.SyncResult == nil:
		return "", true
	}
	observed := state.SyncResult.Revisions
	if len(observed) == 0 {
		observed = []string{state.SyncResult.Revision}
	}
	return state.Phase, !slices.Equal(observed, p.desired())
}

// found is the promotion that an operation was written for; empty if Kargo has not written it.
func (p *promotion) found(all []*argo.Info) string {
	for _, info := range all {
		if info != nil && info.Name == kargoInfo {
			return info.Value
		}
	}
	return ""
}

// desired are the revisions of the Freight, by source.
func (p *promotion) desired() (all []string) {
	for _, s := range p.m.sources() {
		all = append(all, s.revision)
	}
	return all
}

// write is syncApplication: one merge patch with a request for a hard refresh, the sources, an operation that names no
// revision, and no result of the last one. It is made again if somebody else has written the Application meanwhile.
func (p *promotion) write() error {
	as, err := p.Client(kargoAccount)
	if err != nil {
		return err
	}
	return clientretry.RetryOnConflict(clientretry.DefaultRetry, func() error {
		app := &unstructured.Unstructured{}
		app.SetGroupVersionKind(argo.ApplicationSchemaGroupVersionKind)
		if err := as.Get(p.ctx, p.key(p.m.name), app); err != nil {
			return err
		}
		patch := client.MergeFromWithOptions(app.DeepCopy(), client.MergeFromWithOptimisticLock{})
		if err := p.change(app); err != nil {
			return err
		}
		return as.Patch(p.ctx, app, patch)
	})
}

// change makes of an Application what Kargo writes.
func (p *promotion) change(app *unstructured.Unstructured) error {
	annotations := app.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[argo.AnnotationKeyRefresh] = string(argo.RefreshTypeHard)
	app.SetAnnotations(annotations)
	if p.update != nil {
		if err := p.update(app); err != nil {
			return err
		}
	}
	by := map[string]any{"username": p.person}
	if p.person == "" {
		by = map[string]any{"username": "kargo-controller", "automated": true}
	}
	unstructured.RemoveNestedField(app.Object, "status", "operationState")
	return unstructured.SetNestedField(app.Object, map[string]any{
		"initiatedBy": by, "retry": map[string]any{}, "sync": map[string]any{},
		"info": []any{
			map[string]any{"name": "Reason", "value": "Promotion triggered a sync of this Application resource."},
			map[string]any{"name": kargoInfo, "value": p.id},
		},
	}, "operation")
}

// parametrize gives the chart of an Application a parameter (`helm.images`).
func parametrize(value string) func(*unstructured.Unstructured) error {
	return func(app *unstructured.Unstructured) error {
		parameter := map[string]any{"name": argocd.OwnParameter, "value": value}
		return unstructured.SetNestedSlice(app.Object, []any{parameter}, "spec", "source", "helm", "parameters")
	}
}

// repoint has every source of an Application name the commit that git has now (`updateTargetRevision`).
func (m *member) repoint(app *unstructured.Unstructured) error {
	spec, ok := app.Object["spec"].(map[string]any)
	if !ok {
		return errors.New("an Application without a spec")
	}
	all, several := spec["sources"].([]any)
	if !several {
		all = []any{spec["source"]}
	}
	for i, s := range m.sources() {
		if err := unstructured.SetNestedField(all[i].(map[string]any), s.revision, "targetRevision"); err != nil {
			return err
		}
	}
	return nil
}

// healthy is what Kargo asks of a stage before it promotes to the next one: getApplicationHealth in
// pkg/health/checker/builtin/argocd.go. It requests a comparison after the last operation if there was none.
func (p *promotion) healthy() bool {
	app := p.live(p.m)
	state, at := app.Status.OperationState, app.Status.ReconciledAt
	if state == nil || state.FinishedAt == nil || app.Operation != nil {
		return false
	}
	if at == nil || at.Before(state.FinishedAt) {
		if app.Annotations[argo.AnnotationKeyRefresh] == "" {
			as := script.Get(p.Client(kargoAccount))
			script.Must(as.Patch(p.ctx, app.DeepCopy(), annotation(argo.AnnotationKeyRefresh, string(argo.RefreshTypeHard))))
		}
		return false
	}
	observed := app.Status.Sync.Revisions
	if len(observed) == 0 {
		observed = []string{app.Status.Sync.Revision}
	}
	return slices.Equal(observed, p.desired()) && app.Status.Health.Status == "Healthy"
}
