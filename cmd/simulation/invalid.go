// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"slices"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
)

// requeueOnValidationError is ReconcileRequeueOnValidationError.
const requeueOnValidationError = 3 * time.Minute

// valid are the Applications that can be written, and the error of the others, of which there may be none.
func (c *setController) valid(desired []argo.Application) (valid []argo.Application, failing string) {
	for _, app := range desired {
		if c.w.members[app.Name].invalid {
			failing = "application " + app.Name + " references a project which does not exist"
		} else {
			valid = append(valid, app)
		}
	}
	return valid, failing
}

// report sets the condition ErrorOccurred. In truth it is taken back at the end of a pass.
func (c *setController) report(failing string) {
	set := *c.of.live
	if is := slices.ContainsFunc(set.Status.Conditions, func(c argo.ApplicationSetCondition) bool {
		return c.Message == failing
	}); is || failing == "" && set.Status.Conditions == nil {
		return
	}
	set.Status.Conditions = nil
	if failing != "" {
		set.Status.Conditions = []argo.ApplicationSetCondition{
			{Type: argo.ApplicationSetConditionErrorOccurred, Status: argo.ApplicationSetConditionStatusTrue, Message: failing},
		}
	}
	c.w.api.writeSet(&set)
}
