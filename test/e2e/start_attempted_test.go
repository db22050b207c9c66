// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
)

// automatic has the application controller sync by itself what it has not synced yet, and heal nothing: it then takes a
// commit for synced that it is not, in alreadyAttemptedSync of argo-cd v3.5.7, controller/appcontroller.go.
func automatic(_ *rollout, spec *argo.ApplicationSpec) {
	spec.SyncPolicy = &argo.SyncPolicy{Automated: &argo.SyncPolicyAutomated{}}
}

// ownPaths has Argo CD look at the commits only that touch the path of an Application.
func ownPaths(set *argo.ApplicationSet) {
	set.Spec.Template.Annotations = map[string]string{argo.AnnotationKeyManifestGeneratePaths: "."}
}

// unended takes the end and the result of the last sync of every member away, and then a commit lands. Argo CD takes it
// for synced.
func unended(r *rollout) {
	r.begin()
	unended := map[string]any{"finishedAt": nil, "syncResult": nil}
	for _, m := range r.members {
		r.patch(m, map[string]any{"status": map[string]any{"operationState": unended}})
	}
	r.version("2", r.members)
	r.refresh(r.in(backwards()...)...)
}

// overtakenElsewhere has a commit wait for dev, and another one land meanwhile that touches nobody. Argo CD compares with
// that, sees no change since the first one, and takes it for synced.
func overtakenElsewhere(r *rollout) {
	r.begin()
	dev := r.one("dev")
	r.version("2", r.members, dev)
	r.refresh(r.in(backwards()...)...)
	r.untilEach(dev.name+" Progressing", []*member{dev}, progressing)
	r.commit(dev.repo, files{"others/file": "2"})
	r.refreshAll(r.in(backwards()...))
	r.pause(standsStill)
	r.health(dev, "Healthy")
}
