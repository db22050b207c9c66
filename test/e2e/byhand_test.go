// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"

	"github.com/stepgate/stepgate/test/script"
)

// installByHand syncs the step that has maxUpdate 0 during the installation, when its turn has come.
func (r *rollout) installByHand() {
	if r.scenario.byHand != environments[0] {
		r.untilNewest(r.one(environments[0]))
	}
	r.sync(r.one(r.scenario.byHand))
}

// byHand lets somebody sync qa before dev has even been compared, and again when its turn has come.
func byHand(r *rollout) {
	dev, qa := r.one("dev"), r.one("qa")
	r.begin()
	r.version("2", r.members)
	r.refresh(qa)
	r.tooEarly(qa)
	r.refresh(r.in("prod", "dev")...)
	r.untilNewest(dev)
	r.sync(qa)
}

// tooEarly syncs a member with the CLI before its turn. A gate must refuse the sync, and say why;
// without one it works.
func (r *rollout) tooEarly(m *member) {
	if !r.mode.keepsOrder() {
		r.sync(m)
		return
	}
	switch text, err := r.clis[r.mode].Sync(r.ctx, m.name); {
	case err == nil:
		script.Fail("argocd app sync %s was not refused: %s", m.name, text)
	case !strings.Contains(text, "PermissionDenied") || !strings.Contains(text, "may not sync "):
		script.Fail("argocd app sync %s was refused in other words than the gate's: %s", m.name, text)
	}
}

// sync syncs with the CLI, again and again until it works: the last change may not have been compared yet.
func (r *rollout) sync(m *member) {
	text := ""
	err := r.wait(r.scenario.within(), func() bool {
		var err error
		text, err = r.clis[r.mode].Sync(r.ctx, m.name)
		return err == nil
	})
	script.Mustf(err, "argocd app sync %s: %s", m.name, text)
}
