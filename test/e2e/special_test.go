// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/stepgate/stepgate/test/argocd"
	"github.com/stepgate/stepgate/test/script"
)

// special are the scenarios that are more than a commit and an order of refreshes.
func special() []scenario {
	return []scenario{
		{key: "template-spec", title: "a change of the template that changes every spec, and then a commit; prod refreshed first", each: 1, waits: settling, quick: true, play: templateSpec},
		{key: "template-labels", title: "a change of the template that changes labels only", each: 1, play: templateLabels},
		{key: "nine", title: "3 steps of 3 Applications, named against the order of the steps; prod refreshed first", each: 3, quick: true, play: commitRefreshedIn(backwards())},
		{key: "install", title: "first installation", each: 1, waits: settling, fresh: true, play: installing},
		{key: "degraded", title: "an Application of step 1 becomes Degraded, and recovers", each: 1, needHealthy: true, play: degraded},
		{key: "bad", title: "a commit is bad in step 1, and the next one repairs it; the others were compared with the bad one", each: 1, quick: true, play: bad},
		{key: "bad-one-of-three", title: "the same with three Applications in each step, of which one is bad", each: 3, play: bad},
		{key: "failed", title: "the sync of step 1 fails, and a new commit mends it", each: 1, noRetry: true, play: failed},
		{key: "overtaken", title: "a second commit lands while step 2 is still Progressing with the first", each: 1, play: overtaken},
		{key: "overtaken-at-once", title: "a second commit lands the moment that step 2 has synced the first", each: 1, play: overtakenAtOnce},
		{key: "by-hand", title: "step 2 has maxUpdate 0 and is synced with the argocd CLI, before its turn and in its turn", each: 1, byHand: "qa", play: byHand},
		{key: "removed", title: "an Application of step 1 that holds the rollout up is removed from the generator", each: 2, play: removed},
		{key: "deleted", title: "the ApplicationSet is deleted during the rollout", each: 1, reverse: true, play: deleted},
		{key: "resync", title: "a commit; nothing but periodic comparison", each: 1, resync: true, limit: 3 * time.Minute, play: onlyCommit},
		{key: "resync-prod", title: "a commit; prod is refreshed, the others compared periodically", each: 1, resync: true, quick: true, limit: 3 * time.Minute, play: onlyProd},
	}
}

// backwards are the environments, the last step first.
func backwards() []string { return []string{"prod", "qa", "dev"} }

// onlyCommit commits right after all Applications were compared, so that the next periodic comparison is about as far
// away in every mode.
func onlyCommit(r *rollout) {
	for _, m := range r.members {
		r.refreshed(m)
	}
	r.begin()
	r.version("2", r.members)
}

func onlyProd(r *rollout) {
	onlyCommit(r)
	r.refreshAtOnce(r.in("prod")...)
}

// installing measures the installation.
func installing(r *rollout) {
	r.begin()
	r.install()
}

// degraded has dev finish the commit and become Degraded at once, while qa and prod have not been compared yet.
func degraded(r *rollout) {
	r.begin()
	r.version("2", r.members)
	dev := r.one("dev")
	r.refresh(dev)
	r.untilNewest(dev)
	r.health(dev, "Degraded")
	r.refresh(r.in("prod", "qa")...)
	r.pause(5 * time.Second)
	r.health(dev, "Healthy")
}

// bad has an Application of step 1 become Degraded with a commit that everybody was compared with. The next one repairs
// it, and the others are compared with that only when step 1 is done. Nobody may deploy the bad one any more.
func bad(r *rollout) {
	r.begin()
	dev := r.in("dev")
	r.versionAs("2", r.members, "Degraded", dev[0])
	r.refresh(r.in(backwards()...)...)
	r.untilEach("Degraded", dev[:1], func(_ *member, app *argo.Application) bool {
		return app.Status.Health.Status == "Degraded" && app.Operation == nil
	})
	r.version("3", r.members)
	r.refresh(dev...)
	r.untilNewest(dev[0])
	r.pause(5 * time.Second)
	r.refresh(r.in("prod", "qa")...)
}

// health has the health of a member in the cluster differ from git, and waits until Argo CD has noticed.
func (r *rollout) health(m *member, health string) {
	live := &corev1.ConfigMap{}
	live.Namespace, live.Name = m.destination, m.name
	r.annotateObject(live, argocd.HealthAnnotation, health)
	r.untilWithin(refreshTries*refreshWithin, m.name+" "+health, func() bool {
		app := r.live(m)
		return app != nil && string(app.Status.Health.Status) == health
	})
}

// failed commits a manifest for dev that cannot be applied; when its sync has failed, a second commit repairs it.
func failed(r *rollout) {
	r.begin()
	dev := r.one("dev")
	broken := dev.path + "/broken.yaml"
	r.version("2", r.members)
	r.commit(dev.repo, files{broken: "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: Not_A_Name\n"})
	r.refresh(r.in(backwards()...)...)
	r.until("the failed sync of dev", func() bool {
		app := r.live(dev)
		return app != nil && app.Status.OperationState != nil &&
			(app.Status.OperationState.Phase.Failed() || app.Status.OperationState.Phase == "Error")
	})
	r.commit(dev.repo, files{broken: ""})
	r.refresh(r.in(backwards()...)...)
}

// overtaken stops the first commit at qa, whose new version never becomes Healthy; the second commit repairs it.
func overtaken(r *rollout) {
	overtake(r, func(qa *member) { r.stuck(qa) })
}

// overtakenAtOnce is overtaken without waiting for the ApplicationSet controller to notice that qa has synced: until
// then, it writes qa's operation again and again, and each would deploy the newest commit there is.
func overtakenAtOnce(r *rollout) {
	overtake(r, func(qa *member) { r.untilEach("qa at the first commit", []*member{qa}, progressing) })
}

func overtake(r *rollout, wait func(qa *member)) {
	r.begin()
	r.version("2", r.members, r.in("qa")...)
	r.refresh(r.members...)
	wait(r.one("qa"))
	r.version("3", r.members)
	r.refresh(r.in(backwards()...)...)
}

// progressing says that an Application has synced and is Progressing.
func progressing(_ *member, app *argo.Application) bool {
	return app.Status.Health.Status == "Progressing" && app.Operation == nil
}

// stuck waits until a member has synced and is Progressing, and the ApplicationSet controller knows it: until then, it
// may write the operation again.
func (r *rollout) stuck(m *member) {
	r.untilEach(m.name+" Progressing", []*member{m}, func(m *member, app *argo.Application) bool {
		return progressing(m, app) && r.recorded()[m.name] == "Progressing"
	})
}

// removed has one of the two Applications of step 1 stay Progressing, and then takes it out of the generator.
func removed(r *rollout) {
	r.begin()
	dev := r.one("dev")
	r.version("2", r.members, dev)
	r.refresh(r.in(backwards()...)...)
	r.stuck(dev)
	dev.removed = true
	r.edit(nil)
}

// deleted deletes the ApplicationSet as soon as dev has started. It is complete when nothing is left of it.
func deleted(r *rollout) {
	r.begin()
	r.version("2", r.members)
	r.refreshAtOnce(r.in(backwards()...)...)
	r.untilEach("the start of dev", r.in("dev"), func(m *member, app *argo.Application) bool {
		return app.Operation != nil || m.atNewest(app)
	})
	for _, m := range r.members {
		m.removed = true
	}
	script.Must(r.Admin.Delete(r.ctx, r.applicationSet()))
}
