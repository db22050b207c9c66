// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	synccommon "github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/test/argocd"
	"github.com/stepgate/stepgate/test/script"
)

// smokeTest is a PostSync hook of a member: it fails if it is Degraded, and runs while it is Progressing. Each sync has
// its own: Argo CD would delete one that has a name in the foreground, which needs a garbage collector.
func (m *member) smokeTest(health string) files {
	return files{m.path + "/smoke.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  generateName: " + m.smoke() +
		"\n  annotations:\n    argocd.argoproj.io/hook: PostSync\ndata:\n  health: " + health + "\n"}
}

func (m *member) smoke() string { return m.name + "-smoke-" }

// hooks returns the hooks of a member that are in the cluster.
func (r *rollout) hooks(m *member) []corev1.ConfigMap {
	all := &corev1.ConfigMapList{}
	script.Must(r.Admin.List(r.ctx, all, client.InNamespace(m.destination)))
	return slices.DeleteFunc(all.Items, func(c corev1.ConfigMap) bool { return !strings.HasPrefix(c.Name, m.smoke()) })
}

// hiddenBy has a hook of dev fail, and somebody replace the result by a sync that deploys nothing, or a part. The next
// commit repairs it.
func hiddenBy(replace func(*rollout, *member)) func(*rollout) {
	return func(r *rollout) {
		r.begin()
		dev := r.one("dev")
		r.versionWith("2", dev.smokeTest("Degraded"))
		r.refresh(r.in(backwards()...)...)
		r.untilOperated(dev, func(o *argo.OperationState) bool { return o.Phase == synccommon.OperationFailed })
		r.byUsersOnly()
		replace(r, dev)
		r.refresh(r.in(backwards()...)...)
		r.tooEarly(r.one("qa"))
		r.pause(standsStill)
		r.byControllerAgain()
		r.versionWith("3", dev.smokeTest("Healthy"))
		r.refresh(r.in(backwards()...)...)
	}
}

// untilOperated waits until the last operation of a member has ended so.
func (r *rollout) untilOperated(m *member, so func(*argo.OperationState) bool) {
	r.untilEach("the end of an operation of "+m.name, []*member{m}, func(_ *member, app *argo.Application) bool {
		state := app.Status.OperationState
		return app.Operation == nil && state != nil && state.Phase.Completed() && so(state)
	})
}

// syncDry has somebody see what a sync would do.
func (r *rollout) syncDry(m *member) {
	r.replaced(m, r.clis[r.mode].SyncDry, func(o *argo.SyncOperation) bool { return o.DryRun })
}

// syncOne has somebody sync the ConfigMap of a member, without the hook.
func (r *rollout) syncOne(m *member) {
	one := func(ctx context.Context, name string) (string, error) {
		return r.clis[r.mode].SyncConfigMap(ctx, name, name)
	}
	r.replaced(m, one, func(o *argo.SyncOperation) bool { return len(o.Resources) > 0 })
}

// replaced runs a command until the last operation of a member is of its kind, and has succeeded. The ApplicationSet
// controller may repeat its own sync meanwhile.
func (r *rollout) replaced(
	m *member, run func(context.Context, string) (string, error), is func(*argo.SyncOperation) bool,
) {
	text := ""
	err := r.wait(r.scenario.within(), func() bool {
		var err error
		if text, err = run(r.ctx, m.name); err != nil {
			return false
		}
		return r.wait(refreshWithin, func() bool {
			app := r.live(m)
			last := app.Status.OperationState
			return app.Operation == nil && last != nil && is(last.Operation.Sync) && last.Phase.Successful()
		}) == nil
	})
	script.Mustf(err, "the result of another sync of %s: %s", m.name, text)
}

// localFirst has somebody sync manifests of his own to dev, so that Argo CD writes a commit into its history that it
// has never run. Then he syncs the commit itself.
func localFirst(then ...func(*rollout, *member)) func(*rollout) {
	return func(r *rollout) {
		r.begin()
		dev := r.one("dev")
		r.version("2", r.members)
		r.refresh(dev)
		text, err := r.clis[r.mode].SyncLocal(r.ctx, dev.name, r.localManifests(dev))
		script.Mustf(err, "argocd app sync --local %s: %s", dev.name, text)
		r.untilOperated(dev, func(o *argo.OperationState) bool { return len(o.Operation.Sync.Manifests) > 0 })
		for _, step := range then {
			step(r, dev)
		}
		r.pause(policy.ClusterLag + time.Second) // what is found sooner may be of before the sync
		r.refresh(r.in(backwards()...)...)
		if version := r.deployed(dev); version != "mine" {
			script.Fail("dev has version %q, not what somebody has sent along", version)
		}
		r.tooEarly(r.one("qa"))
		r.pause(standsStill)
		r.sync(dev)
	}
}

// localManifests is a folder with the manifests of a member, of a version of its own.
func (r *rollout) localManifests(m *member) string {
	folder := filepath.Join(r.Dir(), "local-"+string(r.mode)+"-"+r.name)
	script.Must(os.MkdirAll(folder, 0o700))
	mine := *m
	mine.version = "mine"
	for path, text := range mine.file("Healthy") {
		script.Must(os.WriteFile(filepath.Join(folder, filepath.Base(path)), []byte(text), 0o600))
	}
	return folder
}

// returned has somebody sync dev back to the commit before while one that it has completed soaks before prod. Nobody may
// deploy that any more; the next commit repairs it.
func returned(r *rollout) {
	dev, qa, prod := r.one("dev"), r.one("qa"), r.one("prod")
	r.pause(2 * between)
	r.refresh(r.members...)
	r.begin()
	r.annotateObject(r.applicationSet(), prefix+"soak", "3="+returnedSoak.String())
	r.version("2", r.members)
	for _, m := range []*member{dev, qa} {
		r.refresh(m)
		r.untilNewest(m)
	}
	r.pause(4 * between) // a comparison of a later second than the sync shows what came of that
	r.refresh(dev, qa, prod)
	r.byUsersOnly()
	text, err := r.clis[r.mode].SyncRevision(r.ctx, dev.name, dev.changes[0].Revision)
	script.Mustf(err, "argocd app sync --revision %s: %s", dev.name, text)
	r.until("the old version of "+dev.name, func() bool { return r.deployed(dev) == "1" && r.live(dev).Operation == nil })
	r.pause(returnedSoak + standsStill)
	r.refresh(prod)
	r.tooEarly(prod)
	r.pause(standsStill)
	if version := r.deployed(dev); version != "1" {
		script.Fail("dev was rolled back, and has version %q", version)
	}
	r.byControllerAgain()
	r.version("3", r.members)
	r.refresh(r.in(backwards()...)...)
}

// returnedSoak is longer than it takes to roll back.
const returnedSoak = 20 * time.Second

// byControllerAgain ends byUsersOnly.
func (r *rollout) byControllerAgain() {
	if !r.argo.Traits.SyncsDrift {
		return
	}
	r.edit(func(set *argo.ApplicationSet) {
		for i := range set.Spec.Strategy.RollingSync.Steps {
			set.Spec.Strategy.RollingSync.Steps[i].MaxUpdate = nil
		}
	})
}

// restarted has stepgate start anew while a hook of dev runs, in a sync by somebody who prunes nothing: dev stays
// OutOfSync for good. meanwhile is what happens before stepgate is back, and after the sync.
func restarted(meanwhile ...func(*rollout, *member)) func(*rollout) {
	return func(r *rollout) {
		dev := r.one("dev")
		extra := dev.path + "/extra.yaml"
		r.commit(dev.repo, files{extra: "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + dev.name + "-extra\n"})
		r.refreshAll(r.members)
		r.sync(dev)
		r.untilEach("the extra manifest", []*member{dev}, (*member).atNewest)
		r.quiet()
		r.begin()
		dev.leftover = true
		others := dev.smokeTest("Progressing")
		others[extra] = ""
		r.versionWith("2", others)
		r.refresh(r.in(backwards()...)...)
		text, err := r.clis[r.mode].SyncUnpruned(r.ctx, dev.name)
		script.Mustf(err, "argocd app sync %s: %s", dev.name, text)
		r.until("a running hook of "+dev.name, func() bool { return len(r.hooks(dev)) > 0 && r.live(dev).Operation != nil })
		steps := func() {
			for _, step := range meanwhile {
				step(r, dev)
			}
		}
		r.startAnew(steps)
		for _, hook := range r.hooks(dev) {
			r.annotateObject(&hook, argocd.HealthAnnotation, "Healthy")
		}
		r.untilOperated(dev, func(o *argo.OperationState) bool { return o.Phase.Successful() })
		steps() // the application controller may have written again what it had in memory
		r.byWhoever(r.in("qa", "prod"))
	}
}

// startAnew kills all replicas of the gate, if there is one, and starts them again.
func (r *rollout) startAnew(meanwhile func()) {
	if r.mode == off {
		return
	}
	for i := range r.mode.replicas() {
		r.kill(i)
	}
	meanwhile()
	for i := range r.mode.replicas() {
		r.restart(i)
	}
	r.untilReady()
}

// unstamp takes away what stepgate has written into the operation of a member.
func (r *rollout) unstamp(m *member) {
	r.patch(m, map[string]any{"status": map[string]any{"operationState": map[string]any{
		"operation": map[string]any{"info": nil},
	}}})
}

// byWhoever has members synced one after the other: by stepgate, if it starts what is due, else by somebody with the
// CLI. It goes no further than that works.
func (r *rollout) byWhoever(members []*member) {
	if r.mode.starts() && !r.argo.Traits.SyncsDrift {
		return
	}
	for _, m := range members {
		if r.wait(r.scenario.within(), func() bool {
			_, err := r.clis[r.mode].Sync(r.ctx, m.name)
			return err == nil
		}) != nil {
			return
		}
		r.untilNewest(m)
	}
}
