package start

import (
	"context"
	"encoding/json"
	"fmt"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/release"
)

// fieldManager owns the operation until Argo CD removes it.
const fieldManager = "stepgate-start"

// Operations writes operations to the API server.
type Operations struct{ client client.Client }

// NewOperations returns an Operations that reads and writes with client.
func NewOperations(client client.Client) *Operations { return &Operations{client: client} }

var _ Writer = (*Operations)(nil)

// Write writes the operation if the Application has the version that was judged, when it is read and when it is
// written.
func (o *Operations) Write(ctx context.Context, s release.Start) error {
	app, set := &argo.Application{}, &argo.ApplicationSet{}
	if err := o.client.Get(ctx, s.App, app); err != nil {
		return fmt.Errorf("read Application %s: %w", s.App, err)
	}
	name := types.NamespacedName{Namespace: s.App.Namespace, Name: s.Set}
	if err := o.client.Get(ctx, name, set); err != nil {
		return fmt.Errorf("read ApplicationSet %s: %w", name, err)
	}
	patch, err := Patch(app, set, s)
	if err != nil {
		return err
	}
	if err := o.client.Patch(ctx, app, client.RawPatch(types.MergePatchType, patch),
		client.FieldOwner(fieldManager)); err != nil {
		return fmt.Errorf("start the sync of Application %s: %w", s.App, err)
	}
	return nil
}

// Patch is the JSON merge patch that starts a sync of an Application as it is stored now. The error is ErrOutdated or
// ErrNeedless where there is nothing to start.
func Patch(app *argo.Application, set *argo.ApplicationSet, s release.Start) ([]byte, error) {
	revisions := s.Revisions
	if revisions == nil {
		revisions = argocd.ComparedRevisions(app)
	}
	switch {
	case app.ResourceVersion != s.ResourceVersion || app.Operation != nil || len(revisions) == 0:
		return nil, ErrOutdated
	case argocd.HasRun(app, revisions):
		return nil, ErrNeedless
	}
	why := fmt.Sprintf("step %d of ApplicationSet %s may sync, and Argo CD has not started it", s.Step+1,
		policy.ClientText(set.Namespace+"/"+set.Name))
	return json.Marshal(map[string]any{
		"metadata":  map[string]string{"resourceVersion": s.ResourceVersion},
		"operation": argocd.NewOperation(app, set, revisions, why),
	})
}
