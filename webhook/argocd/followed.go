package argocd

import (
	"slices"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
)

// followed is when the full sync started that the newest operation of an Application has followed, with no other full sync
// in between. The stamp names that one if it has failed; else it has succeeded, and the history has it. It is zero where
// nothing tells, as without a stamp.
func followed(app *argo.Application, o *operated) time.Time {
	op, startedAt := app.Operation, time.Time{}
	if o != nil {
		op, startedAt = o.op, o.startedAt
	}
	if op == nil {
		return time.Time{}
	}
	stamp := stampIn(op)
	switch {
	case stamp.Last != nil:
		return stamp.Last.StartedAt
	case stamp.Content == (Content{}):
		return time.Time{}
	}
	for _, h := range slices.Backward(app.Status.History) {
		if h.DeployStartedAt != nil && !h.DeployStartedAt.Time.Equal(startedAt) {
			return h.DeployStartedAt.Time
		}
	}
	return time.Time{}
}
