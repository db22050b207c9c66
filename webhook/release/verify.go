// SPDX-License-Identifier: Apache-2.0

package release

import (
	"time"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/outlook"
	"github.com/stepgate/stepgate/webhook/settings"
)

// Creator has objects created that say whether a step may deploy something. evidence.Creator is one.
type Creator interface {
	// Create has the object of a Verification created, in the background, unless there is one that was created after a
	// moment. what is a text of policy.ApprovalOf.
	Create(set *policy.ApplicationSet, v settings.Verification, what string, after time.Time)
}

// VerifyWith makes the Releaser have objects created that steps wait for.
func (r *Releaser) VerifyWith(c Creator) { r.creator = c }

// verify has the objects created that a candidate lacks, and that nobody else creates.
func (r *Releaser) verify(l *look, found *outlook.Sync) {
	if r.creator == nil || l.Settings.Mode != settings.Enforce {
		return
	}
	for _, v := range l.Settings.Verify {
		if v.Step == found.Best.Step && v.Template != "" {
			r.creator.Create(&l.Set.ApplicationSet, v, policy.ApprovalOf(found.Best.Sources), found.Input.Respecified())
		}
	}
}
