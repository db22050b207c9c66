// SPDX-License-Identifier: Apache-2.0

package installed

import (
	"context"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/environment"
)

// CreateBarrier creates the Application that the chart creates with writeBarrier.enabled, for an instance that is
// installed from config/. By its ClusterRole, the instance may patch it.
func CreateBarrier(ctx context.Context, e *environment.Environment, name string) (*argo.Application, error) {
	app := &argo.Application{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: name, Name: name + "-barrier", Annotations: map[string]string{
				"argocd.argoproj.io/skip-reconcile": "true",
			},
		},
		Spec: argo.ApplicationSpec{
			Project: "stepgate-write-barrier", Destination: argo.ApplicationDestination{Name: "stepgate-write-barrier"},
		},
	}
	return app, client.IgnoreAlreadyExists(e.Admin.Create(ctx, app))
}
