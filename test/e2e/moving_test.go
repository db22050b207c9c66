// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/e2e/observer"
	"github.com/stepgate/stepgate/test/script"
)

// moving are the scenarios in which something else than git changes around a commit.
func moving() []scenario {
	return []scenario{
		{key: "drift-before", title: "somebody changes the cluster in step 1, and then a commit; prod refreshed first", each: 1, world: true, play: driftBefore},
		{
			key: "drift-after", title: "a commit that does not touch step 1, and then somebody changes the cluster there; prod refreshed first", each: 1, world: true,
			play: driftAfter,
		},
		{
			key: "moved", title: "an Application of step 3 is moved to step 1 while the rollout is at step 1", each: 2, waits: settling, world: true, quick: true, play: moved,
		},
		{key: "added", title: "Applications are added to steps 1 and 3 together with a commit; prod refreshed first", each: 1, waits: settling, world: true, play: added},
		{
			key: "rollback", title: "prod is rolled back with the argocd CLI, and forward again while step 1 is Degraded", each: 1, world: true,
			needHealthy: true, manual: true, play: rollback,
		},
	}
}

// drift changes the version that a member has in the cluster, and waits until Argo CD has noticed.
func (r *rollout) drift(m *member) {
	before := time.Now()
	r.setDeployed(m, "drifted")
	r.refreshed(m)
	// An ApplicationSet controller that syncs drift may have repaired it by now.
	r.until("drift of "+m.name, func() bool {
		for _, o := range script.Get(r.recorder.seen(string(r.mode), map[string]bool{m.name: true})) {
			if o.At.After(before) && !o.Synced {
				return true
			}
		}
		return false
	})
}

func (r *rollout) setDeployed(m *member, version string) {
	live := &corev1.ConfigMap{}
	live.Namespace, live.Name = m.destination, m.name
	patch := fmt.Sprintf(`{"data":{"version":%q}}`, version)
	script.Must(r.Admin.Patch(r.ctx, live, client.RawPatch(types.MergePatchType, []byte(patch))))
}

func driftBefore(r *rollout) {
	r.begin()
	r.drift(r.one("dev"))
	r.version("2", r.members)
	r.refresh(r.in(backwards()...)...)
}

// driftAfter has dev drift when it is Synced at the commit without a sync. From 3.3 on the ApplicationSet controller
// does not repair that; somebody does in the end.
func driftAfter(r *rollout) {
	r.begin()
	dev, later := r.one("dev"), r.in("prod", "qa")
	r.version("2", later)
	r.refresh(dev)
	r.untilRecorded(dev)
	r.drift(dev)
	r.refresh(later...)
	r.untilEach("the commit in the later steps", later, (*member).atNewest)
	r.setDeployed(dev, dev.version)
	r.refresh(dev)
}

// moved gives an Application of prod the label of dev while dev is still Progressing.
func moved(r *rollout) {
	r.begin()
	dev, last := r.one("dev"), r.in("prod")[1]
	r.version("2", r.members, dev)
	r.refresh(r.in(backwards()...)...)
	r.stuck(dev)
	last.env, last.step = dev.env, dev.step
	r.edit(nil)
	r.pause(between)
	r.version("3", r.members)
	r.refresh(r.in(backwards()...)...)
}

// added adds a member to the first step and one to the last, with the commit that brings their manifests.
func added(r *rollout) {
	r.begin()
	before := r.in(backwards()...)
	for _, m := range []*member{r.newMember(r.name+"-more-dev", 0, before[0].repo),
		r.newMember(r.name+"-more-prod", len(environments)-1, before[0].repo)} {
		m.changes = make([]observer.State, len(r.changedAt))
		r.members = append(r.members, m)
	}
	r.version("2", r.members)
	r.edit(nil)
	r.refresh(before...)
}

// rollback rolls prod back, which is not gated, and then lets somebody sync it forward again while dev is Degraded.
func rollback(r *rollout) {
	dev, prod := r.one("dev"), r.one("prod")
	r.version("2", r.members)
	r.refresh(r.members...)
	r.until("a first commit to roll back", r.isComplete)
	r.quiet()
	r.byUsersOnly()
	r.begin()
	text, err := r.clis[r.mode].Rollback(r.ctx, prod.name, r.live(prod).Status.History[0].ID)
	script.Mustf(err, "argocd app rollback %s: %s", prod.name, text)
	r.until("the old version of "+prod.name, func() bool {
		return r.deployed(prod) == "1" && r.live(prod).Operation == nil
	})
	r.health(dev, "Degraded")
	r.tooEarly(prod)
	r.health(dev, "Healthy")
	r.sync(prod)
}
