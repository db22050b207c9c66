// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"slices"
	"strings"

	synccommon "github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"

	"github.com/stepgate/stepgate/policy"
)

// mostSaid is the length of what is shown of a message of Argo CD: it names the cluster, and how it failed.
const mostSaid = 400

// Says is what Argo CD itself says is wrong with an Application: why its last operation failed, or is tried again, or
// why it cannot be compared. It is empty where Argo CD says nothing.
func Says(app *argo.Application) string {
	troubles := []string{
		argo.ApplicationConditionComparisonError, argo.ApplicationConditionInvalidSpecError,
		argo.ApplicationConditionUnknownError,
	}
	for _, c := range app.Status.Conditions {
		if slices.Contains(troubles, c.Type) {
			return policy.Printable(c.Type+": "+c.Message, mostSaid)
		}
	}
	last := app.Status.OperationState
	if last == nil || last.Message == "" || last.Phase.Successful() || last.Phase == "Running" && last.RetryCount == 0 {
		return ""
	}
	return policy.Printable(last.Message+firstFailure(last), mostSaid)
}

// firstFailure is why the first resource of a sync failed, where the message of the operation leaves that out, as Argo
// CD 3.2 does.
func firstFailure(last *argo.OperationState) string {
	if last.SyncResult == nil {
		return ""
	}
	for _, r := range last.SyncResult.Resources {
		if r.Status == synccommon.ResultCodeSyncFailed && r.Message != "" && !strings.Contains(last.Message, r.Message) {
			return fmt.Sprintf(" %s %s: %s", r.Kind, r.Name, r.Message)
		}
	}
	return ""
}

// AskArgoCD fills in what Argo CD says of the first blockers, as far as they can be read.
func (e *Explanation) AskArgoCD(read func(application string) *argo.Application) {
	for i := range e.Blockers[:min(len(e.Blockers), mostBlockers)] {
		if app := read(e.Blockers[i].Application); app != nil {
			e.Blockers[i].Says = Says(app)
		}
	}
}
