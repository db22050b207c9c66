package evidence

import (
	"fmt"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	"github.com/argoproj/argo-cd/v3/util/lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stepgate/stepgate/policy"
)

// healthSays is what one object says by Argo CD's own health of it: its built-in checks and the scripts that it ships,
// not those that argocd-cm adds.
func healthSays(object *unstructured.Unstructured) policy.Finding {
	h, err := health.GetResourceHealth(object, lua.ResourceHealthOverrides{})
	switch {
	case err != nil:
		return policy.Finding{Detail: "Argo CD cannot tell its health: " + err.Error()}
	case h == nil:
		return policy.Finding{Detail: "Argo CD knows no health of this kind: add \"if EXPRESSION\""}
	case h.Status == health.HealthStatusHealthy:
		return policy.Finding{Answer: policy.Yes, Detail: string(h.Status)}
	case h.Status == health.HealthStatusDegraded:
		return policy.Finding{Answer: policy.No, Detail: fmt.Sprintf("%s: %s", h.Status, h.Message)}
	}
	return policy.Finding{Detail: string(h.Status)} // its message may change all the time
}
