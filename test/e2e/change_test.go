// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientretry "k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/argocd"
	"github.com/stepgate/stepgate/test/script"
)

// files are paths and contents in a repository.
type files map[string]string

// file is the manifest that a member deploys.
func (m *member) file(health string) files {
	return files{m.path + "/configmap.yaml": fmt.Sprintf(
		"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %s\ndata:\n  version: %q\n  health: %s\n", m.name, m.version, health)}
}

// branch is a branch of a repository.
type branch struct {
	repo *argocd.Repository
	name string
}

// commit commits files to the main branch of a repository, and makes that a change of all its members.
func (r *rollout) commit(repo *argocd.Repository, changed files) {
	r.commitTo(branch{repo, argocd.Main}, changed)
	r.changed()
}

func (r *rollout) commitTo(b branch, changed files) {
	r.landed(b, script.Get(b.repo.Commit(b.name, changed)))
}

// landed says that a branch is at a new commit. The tags of its members follow.
func (r *rollout) landed(b branch, revision string) {
	for _, m := range r.members {
		for _, s := range m.sources() {
			if s.repo != b.repo || s.branch != b.name {
				continue
			}
			s.revision = revision
			if s.tag != "" {
				script.Must(s.repo.Tag(s.tag, revision))
			}
		}
	}
}

// changed closes a change: members without a new commit keep their revision.
func (r *rollout) changed() {
	r.changedAt = append(r.changedAt, time.Now())
	for _, m := range r.members {
		m.changes, m.contents = append(m.changes, m.state()), append(m.contents, m.content())
	}
}

// version gives members a new version, Healthy, or Progressing for some of them. It commits to the branches in the
// order of the members; all commits are one change.
func (r *rollout) version(version string, members []*member, progressing ...*member) {
	r.versionAs(version, members, "Progressing", progressing...)
}

// versionAs gives members a new version, Healthy, or with another health for some of them.
func (r *rollout) versionAs(version string, members []*member, other string, some ...*member) {
	changed := map[branch]files{}
	var order []branch
	for _, m := range members {
		m.version = version
		if m.charts != nil {
			m.revision = script.Get(m.charts.Publish(version))
			continue
		}
		b := branch{m.repo, m.branch}
		if changed[b] == nil {
			changed[b] = files{}
			order = append(order, b)
		}
		health := "Healthy"
		if slices.Contains(some, m) {
			health = other
		}
		maps.Copy(changed[b], m.file(health))
	}
	for _, b := range order {
		r.commitTo(b, changed[b])
	}
	r.changed()
}

const (
	// between is the pause between two refreshes, as between two webhooks of a git server.
	between       = 500 * time.Millisecond
	refreshWithin = 10 * time.Second
	refreshTries  = 3
)

// refresh asks Argo CD to compare Applications, as its git webhook does, one after the other: each is compared before
// the next is asked for, and then there is a pause.
func (r *rollout) refresh(members ...*member) {
	for _, m := range members {
		r.refreshed(m)
		r.pause(between)
	}
}

// refreshAtOnce asks Argo CD to compare Applications, and does not wait for it.
func (r *rollout) refreshAtOnce(members ...*member) {
	for _, m := range members {
		r.annotate(m, argo.AnnotationKeyRefresh, "normal")
	}
}

// refreshed asks for a refresh and waits until it is done. Argo CD v3.5.7 overlooks one that is written while it writes
// the Application itself, and stores its own copy in its cache; in this case it is asked again.
func (r *rollout) refreshed(m *member) {
	for range refreshTries {
		for _, value := range []string{"", "normal"} {
			r.annotate(m, argo.AnnotationKeyRefresh, value)
		}
		err := r.wait(refreshWithin, func() bool {
			app := r.live(m)
			return app != nil && app.Annotations[argo.AnnotationKeyRefresh] == ""
		})
		if err == nil {
			return
		}
		script.Must(r.ctx.Err())
	}
	script.Fail("Argo CD did not refresh %s", m.name)
}

// annotate sets an annotation of a member's Application, or removes it if the value is empty.
func (r *rollout) annotate(m *member, key, value string) {
	app, at := &argo.Application{}, r.runs(m)
	app.Namespace, app.Name = at.Namespace, at.Name
	r.annotateObject(app, key, value)
}

func (r *rollout) annotateObject(o client.Object, key, value string) {
	// On a busy machine, etcd does not always answer in time.
	busy := func(err error) bool {
		return apierrors.ReasonForError(err) == metav1.StatusReasonUnknown && r.ctx.Err() == nil
	}
	script.Must(clientretry.OnError(clientretry.DefaultBackoff, busy, func() error {
		return r.Admin.Patch(r.ctx, o, annotation(key, value))
	}))
}

// annotation is a patch that sets an annotation, or removes it if the value is empty.
func annotation(key, value string) client.Patch {
	quoted := "null"
	if value != "" {
		quoted = strconv.Quote(value)
	}
	return client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%s}}}`, key, quoted))
}
