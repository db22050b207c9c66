// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"slices"
	"strings"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/script"
)

// heldPlays are those in which the application controller syncs by itself, too early. refusing shows what holding saves.
func heldPlays() []gatedPlay {
	return []gatedPlay{{
		scenario: scenario{
			key: "auto-held", title: "automated sync of every step; a commit, with which step 1 stays Progressing", each: 1, quick: true,
			automated: true, world: true, template: both(inProject, selfHealing), play: heldAutomatically,
		},
		gates: []mode{on}, nightly: []mode{refusing},
	}}
}

// heldAutomatically has step 1 be Progressing with a commit, and the next one mend it. With a gate the later steps wait without
// an error meanwhile.
func heldAutomatically(r *rollout) {
	dev, later := r.one("dev"), r.in("prod", "qa")
	r.begin()
	r.version("2", r.members, dev)
	r.refresh(r.in(backwards()...)...)
	r.untilEach("dev Progressing", []*member{dev}, progressing)
	for _, m := range later {
		r.refreshed(m)
	}
	r.pause(standsStill)
	if r.mode.holds() {
		said := 0
		for _, m := range later {
			r.waitsWithoutError(m)
			said += r.saidToHaveStarted(m)
		}
		r.note = fmt.Sprintf("Argo CD said %d times that it had started a sync that was held", said)
	}
	r.version("3", r.members)
	r.refresh(r.in(backwards()...)...)
}

// waitsWithoutError wants a member to have deployed nothing, and to show no error.
func (r *rollout) waitsWithoutError(m *member) {
	app := r.live(m)
	failed := func(c argo.ApplicationCondition) bool { return c.Type == argo.ApplicationConditionSyncError }
	switch at := slices.IndexFunc(app.Status.Conditions, failed); {
	case r.deployed(m) == m.version || app.Operation != nil:
		script.Fail("%s was synced before its turn", m.name)
	case at >= 0:
		script.Fail("%s only waits, and shows %s", m.name, app.Status.Conditions[at].Message)
	}
}

// saidToHaveStarted counts the Events of Argo CD that say so of an automated sync of the last commit.
func (r *rollout) saidToHaveStarted(m *member) (n int) {
	all := &corev1.EventList{}
	script.Must(r.Admin.List(r.ctx, all, client.InNamespace(string(r.mode))))
	for _, e := range all.Items {
		if e.InvolvedObject.Name == m.name && strings.HasPrefix(e.Message, "Initiated automated sync to") &&
			strings.Contains(e.Message, m.revision) {
			n++
		}
	}
	return n
}
