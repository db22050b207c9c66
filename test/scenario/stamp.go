// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"

	"github.com/stepgate/stepgate/webhook/argocd"
)

// Stamp gives the last operation of an Application the stamp that the mutating webhook would have written.
func Stamp(app *argo.Application) {
	write := app.DeepCopy()
	write.Operation = write.Status.OperationState.Operation.DeepCopy()
	decoded, err := argocd.Decode(Raw(write))
	if err != nil {
		panic(err)
	}
	stamped, _ := argocd.Stamped(decoded, nil)
	app.Status.OperationState.Operation.Info = stamped.Operation.Info
}
