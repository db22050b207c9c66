// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"reflect"
	"slices"
	"strconv"

	synccommon "github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	"github.com/argoproj/argo-cd/v3/common"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
)

// waves are the sync waves that the steps are, in their order; nil where they are those of RollingSync.
func (s *Scenario) waves() (all []int) {
	for _, step := range s.Steps {
		if step.Wave != nil {
			all = append(all, *step.Wave)
		}
	}
	return all
}

// parent is the Application that orders its children in place of an ApplicationSet; empty if there is none. Nobody
// models its own syncs: what it has deployed stays as it is.
func (w *world) parent() string {
	if application, is := policy.ParentNamed(w.scenario.set().Name); is {
		return application
	}
	return ""
}

// uidOf is the UID of an ApplicationSet at the beginning, or of the order of a parent.
func (w *world) uidOf(name types.NamespacedName) types.UID {
	if parent := w.parent(); parent != "" {
		return argocd.UIDOfParent(name.Namespace, parent)
	}
	return "set-uid"
}

// wavesAnnotations are those by which stepgate orders waves: the limits are those of the steps.
func (w *world) wavesAnnotations() map[string]string {
	all := map[string]string{}
	if len(w.scenario.waves()) == 0 {
		return all
	}
	all[argocd.WavesAnnotation] = "true"
	limits := ""
	for _, step := range w.scenario.Steps {
		if step.MaxUpdate != nil {
			limits += "," + strconv.Itoa(*step.Wave) + "=" + step.MaxUpdate.String()
		}
	}
	if limits != "" {
		all[argocd.MaxUpdateAnnotation] = limits[1:]
	}
	return all
}

// putWave gives an Application the sync wave of its step. Its label "step" says the same, for the world's own truth: so
// who takes a wave for another one does not go by that.
func (w *world) putWave(app *argo.Application, step int) {
	if waves := w.scenario.waves(); len(waves) > 0 {
		annotated(app, synccommon.AnnotationSyncWave, strconv.Itoa(waves[step-1]))
	}
}

// own has an ApplicationSet control an Application, or a parent track it.
func (w *world) own(app *argo.Application, f *family) {
	if parent := w.parent(); parent != "" {
		annotated(app, common.AnnotationKeyAppInstance,
			parent+":argoproj.io/Application:"+app.Namespace+"/"+app.Name)
		return
	}
	app.OwnerReferences = ownedBy(f.name, f.uid)
}

// ownerOf is the UID of what orders an Application, by its metadata.
func (w *world) ownerOf(app *argo.Application) types.UID {
	if len(app.OwnerReferences) > 0 {
		return app.OwnerReferences[0].UID
	}
	return w.families[0].uid
}

// orderOf is what the real webhook keeps of an ApplicationSet, or of a parent.
func orderOf(set *argo.ApplicationSet) *argocd.ApplicationSet {
	parent, is := policy.ParentNamed(set.Name)
	if !is {
		return argocd.NewApplicationSet(set)
	}
	return argocd.NewProjection(&argo.Application{ObjectMeta: metav1.ObjectMeta{
		Namespace: set.Namespace, Name: parent, UID: types.UID(parent + "-uid"), ResourceVersion: set.ResourceVersion,
		Annotations: set.Annotations,
	}}).Waves
}

// autoSync is autoSync of controller/appcontroller.go, argo-cd v3.5.7: it asks for a sync of an Application with automated
// sync that a comparison has found OutOfSync, before the result of that is stored. Self-heal is not modelled, nor that a
// commit may change nothing of an Application by its manifest-generate-paths.
func (c *appController) autoSync(app *argo.Application, found *argo.ApplicationStatus) {
	if p := app.Spec.SyncPolicy; p == nil || !p.IsAutomatedSyncEnabled() || app.Operation != nil ||
		app.DeletionTimestamp != nil || found.Sync.Status != argo.SyncStatusCodeOutOfSync ||
		!slices.ContainsFunc(found.Resources, func(r argo.ResourceStatus) bool {
			return r.Status != argo.SyncStatusCodeSynced && !r.RequiresPruning
		}) || c.w.now < c.w.members[app.Name].windowUntil || attempted(app, found) {
		return
	}
	live := c.w.api.apps[app.Name]
	if live == nil || live.Operation != nil {
		return
	}
	next := *live
	next.Operation = &argo.Operation{
		Sync: syncOf(app, found.GetRevisions()).Sync, InitiatedBy: argo.OperationInitiator{Automated: true},
		Retry: argo.RetryStrategy{Limit: 5},
	}
	if retry := app.Spec.SyncPolicy.Retry; retry != nil {
		next.Operation.Retry = *retry
	}
	next.Status.OperationState = nil
	if err := c.w.api.operationWrite(&next, applicationAccount); err == nil {
		c.put(c.w.api.apps[app.Name])
	}
}

// attempted is alreadyAttemptedSync: the last sync was to the same revisions of the same sources.
func attempted(app *argo.Application, found *argo.ApplicationStatus) bool {
	state := app.Status.OperationState
	switch {
	case state == nil:
		return false
	case state.SyncResult == nil:
		return state.Phase.Completed()
	case app.Spec.HasMultipleSources():
		return reflect.DeepEqual(state.SyncResult.Revisions, found.Sync.Revisions) &&
			reflect.DeepEqual(state.SyncResult.Sources, app.Spec.Sources)
	}
	return state.SyncResult.Revision == found.Sync.Revision &&
		reflect.DeepEqual(state.SyncResult.Source, app.Spec.GetSource())
}
