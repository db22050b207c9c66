// SPDX-License-Identifier: Apache-2.0

package extension

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stepgate/stepgate/cmd/dashboard"
)

// Status is a rollout in one line, and one Application of it.
type Status struct {
	// At is when it was so.
	At      metav1.Time   `json:"at"`
	Rollout dashboard.Row `json:"rollout"`
	// Step is the number of the Application's step; 0 if no step selects it, or there are none. Wave is the sync wave that
	// the step is; absent for a step of RollingSync.
	Step int  `json:"step"`
	Wave *int `json:"wave,omitempty"`
	// Said is what `stepgate get` says of it; absent if no step selects it, and where there are none unless it comes after
	// others.
	Said *dashboard.Said `json:"said,omitempty"`
}
