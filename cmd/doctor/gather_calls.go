// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	synccommon "github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/settings"
)

// splitAccount is the namespace of a service account's user name, or "".
func splitAccount(user string) string {
	rest, isAccount := strings.CutPrefix(user, "system:serviceaccount:")
	namespace, _, ok := strings.Cut(rest, ":")
	if !isAccount || !ok {
		return ""
	}
	return namespace
}

// heard collects the API server's warnings.
type heard struct{ texts []string }

// HandleWarningHeader keeps one warning.
func (h *heard) HandleWarningHeader(_ int, _, text string) { h.texts = append(h.texts, text) }

// attempts sends the two server dry-runs. The API server stores nothing of them, and stepgate records nothing.
func (s *Sources) attempts(ctx context.Context, f *Facts, r *Installation) *Attempts {
	sets := f.candidates(r)
	app, err := s.candidate(ctx, sets)
	switch {
	case f.ApplicationSets.Err != nil:
		return &Attempts{Why: "the ApplicationSets cannot be read"}
	case err != nil:
		return &Attempts{Why: "the Applications cannot be read: " + oneLine(err.Error())}
	case app == nil:
		return &Attempts{Why: noCandidate(sets)}
	}
	a := &Attempts{Application: app.Namespace + "/" + app.Name}
	a.Refuse = s.attempt(func(objects client.Client) (*argo.Operation, error) {
		early := earlySync(app)
		err := objects.Create(ctx, early, client.DryRunAll)
		return early.Operation, err
	})
	a.Pin = s.attempt(func(objects client.Client) (*argo.Operation, error) {
		pinned := &argo.Application{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: app.Name}}
		err := objects.Patch(ctx, pinned, client.RawPatch(types.MergePatchType, unpinnedSync()), client.DryRunAll)
		return pinned.Operation, err
	})
	return a
}

func (s *Sources) attempt(send func(client.Client) (*argo.Operation, error)) (a Attempt) {
	var warnings heard
	objects, err := s.Warned(&warnings)
	if err != nil {
		return Attempt{Err: err}
	}
	a.Operation, a.Err = send(objects)
	a.Warnings = warnings.texts
	return a
}

// candidates are the ApplicationSets that a release gates now, by their UID.
func (f *Facts) candidates(r *Installation) map[types.UID]*argocd.ApplicationSet {
	var config settings.Config
	if r.Flags != nil {
		config = r.Flags.Gate
	}
	parser, all := settings.NewParser(config, settings.At(f.Now)), map[types.UID]*argocd.ApplicationSet{}
	for i := range f.ApplicationSets.Value {
		set := &f.ApplicationSets.Value[i]
		known := argocd.NewApplicationSet(set)
		if !known.Ordered() || !r.gated(set.Namespace) || f.ignored(set.Namespace) || set.DeletionTimestamp != nil {
			continue
		}
		exempt, _ := parser.Exemptions(known)
		if !slices.ContainsFunc(exempt, func(e settings.Exemption) bool { return e.Kind != "exclusion" }) {
			all[set.UID] = known
		}
	}
	return all
}

// candidate is the first Application in a later step or wave of one of these ApplicationSets, if possible one without an
// operation; nil if there is none. It reads no further than it has to.
func (s *Sources) candidate(
	ctx context.Context, sets map[types.UID]*argocd.ApplicationSet,
) (found *argo.Application, err error) {
	namespaces, lowest := map[string]bool{}, map[types.UID]inWave{}
	for _, set := range sets {
		namespaces[set.Namespace] = true
	}
	for _, namespace := range sorted(namespaces) {
		next := ""
		for {
			var page argo.ApplicationList
			if err := s.Objects.List(ctx, &page, client.InNamespace(namespace), client.Limit(pageOfCandidates),
				client.Continue(next)); err != nil {
				return found, err
			}
			for i := range page.Items {
				app := later(sets, lowest, &page.Items[i])
				if app == nil {
					continue
				}
				if app.Operation == nil {
					return app, nil
				}
				found = app
			}
			if next = page.Continue; next == "" {
				break
			}
		}
	}
	return found, nil
}

// pageOfCandidates is small: one Application is enough, and the first page nearly always has one.
const pageOfCandidates = 100

// inWave is an Application and its wave.
type inWave struct {
	app  *argo.Application
	step int
}

// later is the Application, if it is in step 2 or later of one of these ApplicationSets. Of two waves it is the one in
// the later wave: lowest has the Application in the lowest wave of each ApplicationSet so far. It is nil if there is none.
func later(
	sets map[types.UID]*argocd.ApplicationSet, lowest map[types.UID]inWave, app *argo.Application,
) *argo.Application {
	owner := metav1.GetControllerOf(app)
	if owner == nil || sets[owner.UID] == nil || app.DeletionTimestamp != nil {
		return nil
	}
	step := sets[owner.UID].StepOf(argocd.Labels(app.Labels, app.Annotations))
	if !policy.IsWave(step) {
		if step > 0 {
			return app
		}
		return nil
	}
	low, known := lowest[owner.UID]
	if !known || step < low.step {
		lowest[owner.UID] = inWave{app, step}
	}
	switch {
	case !known || step == low.step:
		return nil
	case step < low.step:
		return low.app
	}
	return app
}

// trial is an operation that asks the mutating webhook for its warning.
func trial() *argo.Operation {
	return &argo.Operation{
		InitiatedBy: argo.OperationInitiator{Username: "stepgate doctor", Automated: true}, Sync: &argo.SyncOperation{},
		Info: []*argo.Info{{Name: webhook.SelfTestInfo, Value: "mutate"}},
	}
}

// earlySync is a copy of an Application under another name, with an operation. Argo CD has never compared it, so that a
// gate that pins always denies it (ContentUnknown).
func earlySync(app *argo.Application) *argo.Application {
	const suffix = "-stepgate-doctor"
	early := &argo.Application{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: app.Namespace, Name: app.Name[:min(len(app.Name), 253-len(suffix))] + suffix, Labels: app.Labels,
		},
		Spec: *app.Spec.DeepCopy(), Operation: trial(),
	}
	if wave, has := app.Annotations[synccommon.AnnotationSyncWave]; has {
		early.Annotations = map[string]string{synccommon.AnnotationSyncWave: wave}
	}
	for _, o := range app.OwnerReferences {
		o.BlockOwnerDeletion = nil // it would need a right on the ApplicationSet's finalizers
		early.OwnerReferences = append(early.OwnerReferences, o)
	}
	return early
}

// unpinnedSync is a patch with an automated operation that names no revision.
func unpinnedSync() []byte {
	text, err := json.Marshal(map[string]any{"operation": trial()})
	if err != nil {
		return []byte(fmt.Sprintf("%q", err)) // it cannot happen, and the API server would say so
	}
	return text
}
