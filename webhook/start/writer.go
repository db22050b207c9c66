// SPDX-License-Identifier: Apache-2.0

package start

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	synccommon "github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/release"
)

// fieldManager owns the operation until Argo CD removes it.
const fieldManager = "stepgate-start"

// Operations writes operations to the API server.
type Operations struct{ client client.Client }

// NewOperations returns an Operations that reads and writes with client, whose warnings are handled by Warnings.
func NewOperations(client client.Client) *Operations { return &Operations{client: client} }

// Warnings is a rest.WarningHandlerWithContext. It passes the warnings of an API server on to the call that they answer.
type Warnings struct{}

// heard is the key of the list of warnings in the context of a call.
type heard struct{}

// HandleWarningHeaderWithContext is rest.WarningHandlerWithContext.
func (Warnings) HandleWarningHeaderWithContext(ctx context.Context, _ int, _, text string) {
	if all, ok := ctx.Value(heard{}).(*[]string); ok {
		*all = append(*all, text)
	}
}

var _ Writer = (*Operations)(nil)

// Write writes the operation, or terminates one, if the Application has the version that was judged, when it is read and
// when it is written.
func (o *Operations) Write(ctx context.Context, s release.Start) error {
	app, set := &argo.Application{}, &argo.ApplicationSet{} // a parent has no templates: its set stays empty
	if err := o.client.Get(ctx, argocd.ObjectName(s.App), app); err != nil {
		return fmt.Errorf("read Application %s: %w", s.App, err)
	}
	if s.Terminates {
		return o.terminate(ctx, app, s)
	}
	if _, is := policy.ParentNamed(s.Set); !is {
		name := types.NamespacedName{Namespace: s.App.Namespace, Name: s.Set}
		if err := o.client.Get(ctx, name, set); err != nil {
			return fmt.Errorf("read ApplicationSet %s: %w", name, err)
		}
	}
	patch, err := Patch(app, set, s)
	if err != nil {
		return err
	}
	if err := o.isJudged(ctx, app, patch); err != nil {
		return err
	}
	if err := o.client.Patch(ctx, app, client.RawPatch(types.MergePatchType, patch),
		client.FieldOwner(fieldManager)); err != nil {
		return fmt.Errorf("start the sync of Application %s: %w", s.App, err)
	}
	return nil
}

// terminate writes what TerminateOperation of argo-cd v3.5.7, server/application/application.go, does. The webhooks are
// not asked: the operation has a stamp of theirs.
func (o *Operations) terminate(ctx context.Context, app *argo.Application, s release.Start) error {
	patch, err := TerminatePatch(app, s)
	if err != nil {
		return err
	}
	if err := o.client.Patch(ctx, app, client.RawPatch(types.MergePatchType, patch),
		client.FieldOwner(fieldManager)); err != nil {
		return fmt.Errorf("terminate the sync of Application %s: %w", s.App, err)
	}
	return nil
}

// TerminatePatch is the JSON merge patch that terminates the operation of an Application as it is stored now. The error
// is ErrOutdated where that is not what was judged.
func TerminatePatch(app *argo.Application, s release.Start) ([]byte, error) {
	if app.ResourceVersion != s.ResourceVersion || argocd.NewProjection(app).Retry == nil {
		return nil, ErrOutdated
	}
	return json.Marshal(map[string]any{
		"metadata": map[string]string{"resourceVersion": s.ResourceVersion},
		"status":   map[string]any{"operationState": map[string]any{"phase": synccommon.OperationTerminating}},
	})
}

// isJudged tries a write without storing it. The error is ErrUnjudged if the API server does not call the mutating
// webhook, which has the same selectors as the validating one: a namespace may be switched off, or an Application exempt.
func (o *Operations) isJudged(ctx context.Context, app *argo.Application, patch []byte) error {
	var trial struct {
		Metadata  map[string]string `json:"metadata"`
		Operation *argo.Operation   `json:"operation"`
	}
	if err := json.Unmarshal(patch, &trial); err != nil {
		return err
	}
	trial.Operation.Info = append(trial.Operation.Info, &argo.Info{Name: webhook.SelfTestInfo, Value: "mutate"})
	text, err := json.Marshal(trial)
	if err != nil {
		return err
	}
	var warnings []string
	if err := o.client.Patch(context.WithValue(ctx, heard{}, &warnings), app.DeepCopy(),
		client.RawPatch(types.MergePatchType, text), client.FieldOwner(fieldManager), client.DryRunAll); err != nil {
		return fmt.Errorf("start the sync of Application %s/%s: %w", app.Namespace, app.Name, err)
	}
	if !slices.Contains(warnings, webhook.SelfTestWarning) {
		return ErrUnjudged
	}
	return nil
}

// Patch is the JSON merge patch that starts a sync of an Application as it is stored now. set has the templates that it
// comes from; it is empty for the child of a parent. The error is ErrOutdated or ErrNeedless where there is nothing to
// start.
func Patch(app *argo.Application, set *argo.ApplicationSet, s release.Start) ([]byte, error) {
	revisions := s.Revisions
	if revisions == nil {
		revisions = argocd.ComparedRevisions(app)
	}
	switch {
	case app.ResourceVersion != s.ResourceVersion || app.Operation != nil || len(revisions) == 0:
		return nil, ErrOutdated
	case !s.Altered && (argocd.HasRun(app, revisions) || !s.Asked && argocd.HasDeployed(app, revisions)):
		return nil, ErrNeedless
	}
	why := fmt.Sprintf("%s of %s may sync, and Argo CD has not started it", policy.StepName(s.Step),
		policy.Called(policy.ClientText(s.App.Namespace+"/"+s.Set)))
	return json.Marshal(map[string]any{
		"metadata":  map[string]string{"resourceVersion": s.ResourceVersion},
		"operation": argocd.NewOperation(app, set, revisions, why),
	})
}
