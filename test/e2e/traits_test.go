// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// keptWaiting is the first member whose sync the ApplicationSet controller starts while step 1 is complete, recorded as
// Healthy, and Degraded. From 3.3 on that is one of step 2. Up to 3.2 it is one of step 3, as long as step 2 has not
// been compared with the commit: the controller looks at the step just before and at nothing else.
func (r *rollout) keptWaiting() *member {
	if r.argo.Traits.LooksAtHealth {
		return r.one("prod")
	}
	return r.one("qa")
}

// refreshLater lets Argo CD compare the later steps with a commit while step 1 is Degraded, in an order in which the
// ApplicationSet controller starts a sync of keptWaiting, and waits until it has.
func (r *rollout) refreshLater(until func()) {
	if !r.argo.Traits.LooksAtHealth {
		r.refresh(r.in("qa", "prod")...)
		until()
		return
	}
	r.refresh(r.one("prod"))
	until()
	r.refresh(r.one("qa"))
}

// byUsersOnly lets the ApplicationSet controller start no sync from now on, so that users can start them, before their
// turn and in it. From 3.3 on it does that by itself where the revision stays the same.
func (r *rollout) byUsersOnly() {
	if !r.argo.Traits.SyncsDrift {
		return
	}
	r.edit(func(set *argo.ApplicationSet) {
		for i := range set.Spec.Strategy.RollingSync.Steps {
			none := intstr.FromInt32(0)
			set.Spec.Strategy.RollingSync.Steps[i].MaxUpdate = &none
		}
	})
}
