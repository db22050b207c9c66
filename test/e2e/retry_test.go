// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"

	"github.com/stepgate/stepgate/test/argocd"
	"github.com/stepgate/stepgate/test/script"
)

// retried repeats a failed sync every two seconds.
func retried(_ *rollout, spec *argo.ApplicationSpec) {
	factor := int64(1)
	spec.SyncPolicy = &argo.SyncPolicy{
		Retry: &argo.RetryStrategy{Limit: 50, Backoff: &argo.Backoff{Duration: "2s", Factor: &factor, MaxDuration: "2s"}},
	}
}

// retry lets the first commit fail in prod for want of a namespace. The second commit lands, and then the namespace is
// created: a retry succeeds. Nobody lets Argo CD compare anything with the second commit before that.
func retry(r *rollout) {
	prod, missing := r.one("prod"), r.name+"-"+string(r.mode)
	r.begin()
	r.commitTo(branch{prod.repo, argocd.Main}, files{prod.path + "/later.yaml": fmt.Sprintf(
		"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: later\n  namespace: %s\n", missing)})
	r.version("2", r.members)
	r.refresh(r.in(backwards()...)...)
	r.untilEach("a failed sync that is to be tried again", []*member{prod}, func(_ *member, app *argo.Application) bool {
		return app.Operation != nil && app.Status.OperationState != nil && app.Status.OperationState.RetryCount > 0
	})
	r.version("3", r.members)
	script.Must(r.CreateNamespace(r.ctx, missing))
	r.untilIdle(prod)
	r.refresh(r.in(backwards()...)...)
}

// untilIdle waits until a member has no operation any more.
func (r *rollout) untilIdle(m *member) {
	r.untilEach("the end of the operation of "+m.name, []*member{m}, func(_ *member, app *argo.Application) bool {
		return app.Operation == nil
	})
}

// project is the name of the rollout's own project.
func (r *rollout) project() string { return string(r.mode) + "-" + r.name }

func ownProject(r *rollout) { script.Must(r.argo.CreateProject(r.ctx, r.project())) }

func inOwnProject(r *rollout, spec *argo.ApplicationSpec) { spec.Project = r.project() }

// window has the sync of prod wait for its sync window. A commit lands, and then the window opens.
func window(r *rollout) {
	prod := r.one("prod")
	script.Must(r.argo.ShutWindow(r.ctx, r.project(), prod.name))
	r.begin()
	r.version("2", r.members)
	r.refresh(r.in(backwards()...)...)
	r.untilEach("a sync that waits for its window", []*member{prod}, func(_ *member, app *argo.Application) bool {
		return app.Operation != nil && app.Status.OperationState != nil &&
			strings.Contains(app.Status.OperationState.Message, "blocked by sync window")
	})
	r.version("3", r.members)
	script.Must(r.argo.OpenWindow(r.ctx, r.project()))
	// Argo CD looks at the window again when it next looks at the Application.
	r.refreshAtOnce(prod)
	r.untilIdle(prod)
	r.refresh(r.in(backwards()...)...)
}
