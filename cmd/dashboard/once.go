// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stepgate/stepgate/cmd/rollout"
)

// DetailAt is a rollout as it is at a time, for a page that does not follow it.
func DetailAt(r *rollout.Rollout, t metav1.Time, rights Rights) Detail {
	d := detailOf(r, "", rights)
	d.At = t
	return d
}

// RowOf is the row of a rollout.
func RowOf(r *rollout.Rollout) Row { return rowOf(r) }
