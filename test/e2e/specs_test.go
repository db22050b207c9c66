// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/test/argocd"
	"github.com/stepgate/stepgate/test/script"
)

const (
	// manyEach is the number of Applications in each of three steps, where their number matters.
	manyEach = 20
	// missingProject is a project that there is not: the ApplicationSet controller writes no Application of it.
	missingProject = "missing"
	// stuckFor is how long something stays as it should not be.
	stuckFor = 12 * time.Second
	// settling is how long the gate waits after a change of specs or labels.
	settling = policy.SettlingTime
)

// specs are rollouts of a change of the spec, and of what people do to Applications directly.
func specs() []scenario {
	return []scenario{
		{key: "specs-many", title: "3 steps of 20; a change of the template that changes every spec, and a commit; the last step is first by name", each: manyEach, world: true, limit: 5 * time.Minute, setup: 10 * time.Minute, waits: settling, play: repointedMany},
		{
			key: "specs-invalid", title: "a commit; an Application of step 1 is not valid for a while, and not Synced",
			each: 1, world: true, limit: 3 * time.Minute, template: inProject, play: notValid,
		},
		{key: "specs-relabelled", title: "an Application of step 1 is Progressing; a user takes its label off, and syncs prod with the argocd CLI", each: 1, manual: true, world: true, waits: settling, play: relabelled},
		{key: "specs-local", title: "a user syncs manifests of his own to prod with argocd app sync --local", each: 1, manual: true, world: true, play: local},
		{
			key: "specs-parameter", title: "step 1 is Degraded; a user sets a parameter of prod with argocd app set, and syncs it, before its turn and in its turn",
			each: 1, waits: settling, manual: true, world: true, layout: fromChart, template: ofChart, set: ignoringParameters, play: ownParameter,
		},
		{key: "specs-dying", title: "prod is being deleted, its finalizer stays for a while, and a commit lands", each: 1, world: true, limit: 3 * time.Minute, waits: settling, play: dying},
	}
}

// automatedSpecs are those in which the application controller syncs by itself.
func automatedSpecs() []scenario {
	all := []scenario{
		{key: "auto-specs-many", title: "3 steps of 20; a change of the template that changes every spec; the last step is first by name", each: manyEach, limit: 5 * time.Minute, setup: 10 * time.Minute, play: repointed},
		{key: "auto-specs-invalid", title: "the same, and an Application of step 1 is not valid for a while", each: manyEach, limit: 5 * time.Minute, setup: 10 * time.Minute, play: repointedInvalid},
		{key: "auto-specs-install", title: "first installation of 3 steps of 20, of which one of step 1 is not valid for a while", each: manyEach, fresh: true, limit: 6 * time.Minute, play: installedInvalid},
		{key: "auto-specs-adopted", title: "3 steps of 20; the ApplicationSet is deleted without them, and created again while one of step 1 is Degraded", each: manyEach, limit: 5 * time.Minute, setup: 10 * time.Minute, play: adopted},
	}
	for i := range all {
		all[i].waits = settling
	}
	return all
}

func inProject(_ *rollout, spec *argo.ApplicationSpec) { spec.Project = "{{.project}}" }

// repointedMany is templateSpec with many: Argo CD itself deploys the change of the template together with the commit.
func repointedMany(r *rollout) {
	r.begin()
	r.repoint()
	r.quiet()
	r.version("3", r.members)
	r.refreshAtOnce(r.in(backwards()...)...)
}

// repointedInvalid has the project of an Application of step 1 be missing, together with the change.
func repointedInvalid(r *rollout) {
	r.begin()
	dev := r.one("dev")
	dev.project = missingProject
	r.pointToTwo()
	r.untilFailing()
	r.pause(stuckFor)
	dev.project = ""
	r.edit(nil)
}

// notValid has a commit land that an Application of step 1 gets only when it is valid again. Meanwhile Argo CD goes round
// in circles: see simulation's world.endless.
func notValid(r *rollout) {
	r.begin()
	dev := r.one("dev")
	dev.project = missingProject
	r.edit(nil)
	r.untilFailing()
	r.version("2", r.members)
	r.refreshAtOnce(r.members...)
	r.pause(stuckFor)
	dev.project = ""
	r.edit(nil)
}

func installedInvalid(r *rollout) {
	dev := r.one("dev")
	dev.project = missingProject
	r.begin()
	r.install()
	r.untilFailing()
	r.pause(stuckFor)
	dev.project = ""
	r.edit(nil)
}

// untilFailing waits until the ApplicationSet controller reports an error.
func (r *rollout) untilFailing() {
	r.until("an error of the ApplicationSet", func() bool {
		for _, c := range r.applicationSet().Status.Conditions {
			if c.Type == argo.ApplicationSetConditionErrorOccurred && c.Status == argo.ApplicationSetConditionStatusTrue {
				return true
			}
		}
		return false
	})
}

// adopted lets the ApplicationSet be gone, and all Applications without an owner, as after kubectl delete
// --cascade=orphan: no garbage collector runs here that would take the owner away. It is created again with a commit,
// and while one of step 1 is Degraded. As long as an Application has no owner, nobody gates it: it is refreshed when it
// has one.
func adopted(r *rollout) {
	r.begin()
	dev := r.one("dev")
	r.health(dev, "Degraded")
	set := r.applicationSet()
	script.Must(r.Admin.Delete(r.ctx, set, client.PropagationPolicy(metav1.DeletePropagationBackground)))
	for _, m := range r.members {
		r.patch(m, map[string]any{"metadata": map[string]any{"ownerReferences": nil}})
	}
	r.version("2", r.members)
	again := &argo.ApplicationSet{ObjectMeta: metav1.ObjectMeta{Namespace: set.Namespace, Name: set.Name}, Spec: set.Spec}
	script.Must(r.Admin.Create(r.ctx, again))
	for _, m := range r.in(backwards()...) {
		r.untilEach("an owner", []*member{m}, func(_ *member, app *argo.Application) bool {
			return metav1.GetControllerOf(app) != nil
		})
		r.refreshAtOnce(m)
	}
	r.pause(stuckFor)
	r.health(dev, "Healthy")
}

// relabelled has dev stay Progressing with a commit. A user takes it out of its step, and syncs prod at once.
func relabelled(r *rollout) {
	r.begin()
	dev, prod := r.one("dev"), r.one("prod")
	r.version("2", r.members, dev)
	r.refresh(prod)
	r.refresh(dev)
	r.untilEach(dev.name+" Progressing", []*member{dev}, progressing)
	r.patch(dev, map[string]any{"metadata": map[string]any{"labels": map[string]any{stepLabel: nil}}})
	r.tooEarly(prod)
	r.health(dev, "Healthy")
	r.refresh(r.in("qa")...)
}

// local has a user bring manifests along. Without the gate that is not played: it works.
func local(r *rollout) {
	r.begin()
	prod := r.one("prod")
	if r.mode == on {
		folder := filepath.Join(r.Dir(), "local-"+r.name)
		script.Must(os.MkdirAll(folder, 0o700))
		for _, text := range prod.file("Healthy") {
			script.Must(os.WriteFile(filepath.Join(folder, "configmap.yaml"),
				[]byte(strings.Replace(text, `version: "1"`, `version: "mine"`, 1)), 0o600))
		}
		text, err := r.clis[r.mode].SyncLocal(r.ctx, prod.name, folder)
		if err == nil || !strings.Contains(text, "PermissionDenied") || !strings.Contains(text, "ContentUnknown") {
			script.Fail("argocd app sync --local was not refused by the gate: %v: %s", err, text)
		}
	}
	r.version("2", r.members)
	r.refresh(r.in(backwards()...)...)
}

// ignoringParameters leaves the parameters of single Applications as somebody has set them.
func ignoringParameters(set *argo.ApplicationSet) {
	set.Spec.IgnoreApplicationDifferences = argo.ApplicationSetIgnoreDifferences{
		{JSONPointers: []string{"/spec/source/helm"}},
	}
}

// ownParameter lets a user give prod a parameter of its own, together with a new version of the chart. Nobody can prove
// the parameter; it waits for the order of the version all the same.
func ownParameter(r *rollout) {
	const value = "mine"
	r.byUsersOnly()
	r.begin()
	dev, prod := r.one("dev"), r.one("prod")
	r.health(dev, "Degraded")
	r.version("2", r.members)
	text, err := r.clis[r.mode].SetParameter(r.ctx, prod.name, argocd.OwnParameter, value)
	script.Mustf(err, "argocd app set %s: %s", prod.name, text)
	r.refresh(prod)
	if r.mode == on { // without the gate, the ApplicationSet controller may just be syncing it
		r.tooEarly(prod)
	}
	r.health(dev, "Healthy")
	for _, m := range r.in(environments[:]...) {
		r.sync(m)
		r.untilNewest(m)
	}
	r.until("the parameter of "+prod.name, func() bool { return r.inCluster(prod)[argocd.OwnParameter] == value })
}

// dying lets prod be deleted, and stay, while a commit is rolled out.
func dying(r *rollout) {
	r.begin()
	prod := r.one("prod")
	r.finalizers(prod, append(r.live(prod).Finalizers, "example.com/stuck"))
	app := &argo.Application{ObjectMeta: metav1.ObjectMeta{Namespace: string(r.mode), Name: prod.name}}
	script.Must(r.Admin.Delete(r.ctx, app))
	r.version("2", r.members)
	r.refresh(r.in("qa", "dev")...)
	r.untilNewest(r.one("qa"))
	r.pause(stuckFor)
	r.finalizers(prod, nil)
}

// finalizers sets those of a member's Application. The application controller removes its own.
func (r *rollout) finalizers(m *member, all []string) {
	r.patch(m, map[string]any{"metadata": map[string]any{"finalizers": all}})
}

// patch changes a member's Application as its owner never would.
func (r *rollout) patch(m *member, change map[string]any) {
	app := &argo.Application{ObjectMeta: metav1.ObjectMeta{Namespace: string(r.mode), Name: m.name}}
	text := script.Get(json.Marshal(change))
	script.Mustf(r.Admin.Patch(r.ctx, app, client.RawPatch(types.MergePatchType, text)), "patch %s", m.name)
}

// completedOnPurpose lets Applications of earlier steps be OutOfSync where only pruning is left.
func completedOnPurpose(set *argo.ApplicationSet) {
	metav1.SetMetaDataAnnotation(&set.ObjectMeta, "stepgate.io/require", "completed")
}

// pruneOnly removes a manifest of dev together with a commit that touches all. Automated sync prunes nothing, so that
// dev stays OutOfSync.
func pruneOnly(r *rollout) {
	dev := r.one("dev")
	extra := dev.path + "/extra.yaml"
	r.commit(dev.repo, files{extra: "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + dev.name + "-extra\n"})
	r.refreshAll(r.members)
	r.untilEach("the extra manifest", []*member{dev}, (*member).atNewest)
	r.begin()
	dev.leftover = true
	changed := files{extra: ""}
	for _, m := range r.members {
		m.version = "2"
		maps.Copy(changed, m.file("Healthy"))
	}
	r.commit(dev.repo, changed)
	r.refresh(r.in(backwards()...)...)
}
