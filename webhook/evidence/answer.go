// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	"github.com/argoproj/argo-cd/v3/util/lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/expression"
	"github.com/stepgate/stepgate/webhook/settings"
)

// says is what one object says. It is yes, no or not yet, and why, in words of stepgate: whoever reads it may not be
// allowed to read the object.
func says(v *settings.Verification, o *unstructured.Unstructured) policy.Finding {
	switch {
	case o.GetDeletionTimestamp() != nil:
		return expression.NotYet("it is being deleted")
	case v.If != nil:
		return v.If.Says(o.Object)
	}
	return healthSays(o)
}

// healthSays is what one object says by Argo CD's own health of it: its built-in checks and the scripts that it ships,
// not those that argocd-cm adds. Its message is a text of the object.
func healthSays(object *unstructured.Unstructured) policy.Finding {
	h, err := health.GetResourceHealth(object, lua.ResourceHealthOverrides{})
	switch {
	case err != nil:
		return expression.NotYet("Argo CD cannot tell its health")
	case h == nil:
		return expression.NotYet(`Argo CD knows no health of this kind: add "if EXPRESSION"`)
	}
	switch h.Status {
	case health.HealthStatusHealthy:
		return policy.Finding{Answer: policy.Yes, Detail: "yes (Healthy)"}
	case health.HealthStatusDegraded:
		return policy.Finding{Answer: policy.No, Detail: "no (Degraded)"}
	case health.HealthStatusProgressing, health.HealthStatusSuspended, health.HealthStatusMissing:
		return expression.NotYet(string(h.Status))
	default:
		return expression.NotYet("Unknown")
	}
}
