package refresh

import (
	"context"
	"encoding/json"
	"fmt"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// fieldManager owns the annotation until Argo CD removes it.
const fieldManager = "stepgate-refresh"

// Annotation asks with the annotation that `argocd app get --refresh` uses, too: argocd.argoproj.io/refresh: normal.
type Annotation struct{ client client.Writer }

// NewAnnotation returns an Annotation that writes with client.
func NewAnnotation(client client.Writer) *Annotation { return &Annotation{client: client} }

// AskRefresh sets the annotation by server-side apply without force: it writes that one field only, and conflicts with a
// hard refresh that is under way. An Application that is gone is not created: it is Invalid without a spec.
func (a *Annotation) AskRefresh(ctx context.Context, name types.NamespacedName) error {
	patch, err := json.Marshal(map[string]any{
		"apiVersion": argo.SchemeGroupVersion.String(), "kind": "Application",
		"metadata": map[string]any{
			"namespace": name.Namespace, "name": name.Name,
			"annotations": map[string]string{argo.AnnotationKeyRefresh: string(argo.RefreshTypeNormal)},
		},
	})
	if err != nil {
		return err
	}
	app := &argo.Application{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name}}
	if err := a.client.Patch(ctx, app, client.RawPatch(types.ApplyPatchType, patch), client.FieldOwner(fieldManager)); err != nil {
		return fmt.Errorf("annotate Application %s: %w", name, err)
	}
	return nil
}
