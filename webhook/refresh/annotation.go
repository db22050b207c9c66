// SPDX-License-Identifier: Apache-2.0

package refresh

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

// AskRefresh sets the annotation by server-side apply without force: it writes that one field only, and conflicts with
// a hard refresh that is under way. An Application that is gone is not created: it is Invalid without a spec.
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
	if err := a.client.Patch(ctx, app, client.RawPatch(types.ApplyPatchType, patch),
		client.FieldOwner(fieldManager)); err != nil {
		return fmt.Errorf("annotate Application %s: %w", name, err)
	}
	return nil
}

// again is the value of a request that was made again. To Argo CD every value but "hard" is a normal refresh
// (pkg/apis/application/v1alpha1/types.go, IsRefreshRequested).
const again = "normal-again"

// AskRefreshAgain changes the annotation from one of the two values for a normal refresh to the other. To set the value
// that it has would be no change, and so no event. It changes no hard refresh.
func (a *Annotation) AskRefreshAgain(ctx context.Context, name types.NamespacedName) error {
	normal := string(argo.RefreshTypeNormal)
	err := a.change(ctx, name, normal, again)
	if apierrors.IsInvalid(err) {
		err = a.change(ctx, name, again, normal)
	}
	if err != nil {
		return fmt.Errorf("annotate Application %s again: %w", name, err)
	}
	return nil
}

func (a *Annotation) change(ctx context.Context, name types.NamespacedName, from, to string) error {
	path := "/metadata/annotations/" + strings.ReplaceAll(argo.AnnotationKeyRefresh, "/", "~1")
	patch, err := json.Marshal([]map[string]string{
		{"op": "test", "path": path, "value": from}, {"op": "replace", "path": path, "value": to},
	})
	if err != nil {
		return err
	}
	app := &argo.Application{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name}}
	return a.client.Patch(ctx, app, client.RawPatch(types.JSONPatchType, patch), client.FieldOwner(fieldManager))
}
