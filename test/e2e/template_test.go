// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"maps"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
)

// repoint changes every spec, to deploy another folder of the same repository, and waits until every Application has
// been compared with it. From argo-cd v3.3 on the ApplicationSet controller does not sync an Application that was
// Synced when its spec changed; it deploys the change together with the next one of the revision.
func (r *rollout) repoint() {
	r.pointToTwo()
	r.untilEach("the new spec compared", r.members, func(m *member, app *argo.Application) bool {
		return app.Status.Sync.ComparedTo.Source.Path == m.path && app.Operation == nil
	})
}

// pointToTwo changes every spec to deploy another folder, with version 2, which is committed first.
func (r *rollout) pointToTwo() {
	ahead := files{}
	for _, m := range r.members {
		m.path, m.version = m.name+"/two", "2"
		maps.Copy(ahead, m.file("Healthy"))
	}
	r.commit(r.members[0].repo, ahead)
	r.edit(nil)
}

// templateSpec changes the template. A commit lands when the ApplicationSet controller has done all it does about that:
// no operation may be under way then, because one that names no revision would deploy the commit.
func templateSpec(r *rollout) {
	r.begin()
	r.repoint()
	r.quiet()
	r.version("3", r.members)
	r.refresh(r.in(backwards()...)...)
}

func templateLabels(r *rollout) {
	r.begin()
	const label = "team"
	r.edit(func(set *argo.ApplicationSet) { set.Spec.Template.Labels[label] = "blue" })
	r.untilEach("the new label on every Application", r.members, func(_ *member, app *argo.Application) bool {
		return app.Labels[label] == "blue"
	})
}

// quiet waits until the ApplicationSet controller has had nothing to do for a while.
func (r *rollout) quiet() {
	var since time.Time
	r.until("nothing more to do for the ApplicationSet controller", func() bool {
		r.refreshOverlooked()
		recorded, busy := r.recorded(), since.IsZero()
		for _, m := range r.members {
			app := r.live(m)
			busy = busy || recorded[m.name] != "Healthy" || app == nil || app.Operation != nil
		}
		if busy {
			since = time.Now()
		}
		return time.Since(since) > 2*time.Second
	})
}
