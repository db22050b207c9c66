// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stepgate/stepgate/webhook/argocd"
)

// setProjection is an ApplicationSet for the informer's store. Its metadata is as short as a Projection's.
type setProjection struct {
	metav1.ObjectMeta
	set  *argocd.ApplicationSet
	pass argocd.Pass
}

// transform is what an informer applies to every object before it stores it.
func (c *Cache) transform(object any) (any, error) {
	switch o := object.(type) {
	case *argo.Application:
		return c.tracking.Projection(o), nil
	case *argo.ApplicationSet:
		return &setProjection{ObjectMeta: argocd.Identity(o), set: c.tracking.ApplicationSet(o), pass: argocd.NewPass(o)}, nil
	case *argo.AppProject:
		return &projectProjection{ObjectMeta: argocd.Identity(o), windows: argocd.SyncWindows(o)}, nil
	case *argocd.Projection, *setProjection, *projectProjection:
		return o, nil // an informer may apply it twice
	}
	return nil, fmt.Errorf("a watch of Argo CD's objects gave a %T", object)
}
