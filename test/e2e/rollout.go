package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/argocd"
	"github.com/stepgate/stepgate/test/e2e/observer"
)

// environments are the steps, in their order.
var environments = [...]string{"dev", "qa", "prod"}

// member is one Application of a rollout and what it should deploy.
type member struct {
	name, env string
	step      int
	path      string
	repo      *argocd.Repository
	// version is what its ConfigMap should hold at the end.
	version string
	// removed says that the generator does not generate it any more.
	removed bool
	changes []observer.State
}

// rollout is one scenario as it is played in one namespace, which is what decides whether the gate is there.
type rollout struct {
	*stand
	scenario scenario
	mode     mode
	name     string

	admin   client.Client
	members []*member
	// changedAt is when each change was made; the first is the installation.
	changedAt []time.Time
	// began is when the rollout that is measured began, and since the resourceVersion from which on starts count.
	began    time.Time
	since    uint64
	finished time.Time
	// nudged counts the operations that Argo CD overlooked while this was measured.
	nudged   int
	nudgedAt time.Time
}

// populate makes the members and their repositories: one for all, or one each.
func (r *rollout) populate() error {
	shared, err := r.repository("all")
	if err != nil {
		return err
	}
	for step, env := range environments {
		for i := range r.scenario.each {
			m := &member{env: env, step: step, name: r.name + "-" + env, repo: shared, version: "1"}
			if r.scenario.each > 1 {
				// Against the order of the steps, because the controller goes by name.
				m.name = fmt.Sprintf("%s-%c-%s-%d", r.name, 'c'-rune(step), env, i+1)
			}
			m.path = m.name + "/one"
			if r.scenario.ownRepos {
				if m.repo, err = r.repository(m.name); err != nil {
					return err
				}
			}
			r.members = append(r.members, m)
		}
	}
	return nil
}

func (r *rollout) repository(name string) (*argocd.Repository, error) {
	return r.argo.NewRepository(string(r.mode) + "-" + r.name + "-" + name)
}

// in are the members of an environment.
func (r *rollout) in(env string) []*member {
	var found []*member
	for _, m := range r.members {
		if m.env == env && !m.removed {
			found = append(found, m)
		}
	}
	return found
}

// file is the manifest that a member deploys.
func (m *member) file(health string) map[string]string {
	return map[string]string{m.path + "/configmap.yaml": fmt.Sprintf(
		"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %s\ndata:\n  version: %q\n  health: %s\n", m.name, m.version, health)}
}

// commit commits files to every repository that has members among them, and makes it a change.
func (r *rollout) commit(files map[*argocd.Repository]map[string]string, order []*argocd.Repository) error {
	for _, repo := range order {
		revision, err := repo.Commit(files[repo])
		if err != nil {
			return err
		}
		for _, m := range r.members {
			if m.repo == repo {
				m.pending(revision)
			}
		}
	}
	r.changed()
	return nil
}

// pending says which commit the next change makes of the member's repository.
func (m *member) pending(revision string) {
	m.changes = append(m.changes, observer.State{Revision: revision, Path: m.path})
}

// changed closes a change: members that were not touched keep their state.
func (r *rollout) changed() {
	r.changedAt = append(r.changedAt, time.Now())
	for _, m := range r.members {
		if len(m.changes) < len(r.changedAt) {
			m.changes = append(m.changes, m.changes[len(m.changes)-1])
			m.changes[len(m.changes)-1].Path = m.path
		}
	}
}

// version gives members a new version with a health and commits it, to the repositories in the order of the members.
func (r *rollout) version(version string, health func(*member) string, members ...*member) error {
	files := map[*argocd.Repository]map[string]string{}
	var order []*argocd.Repository
	for _, m := range members {
		m.version = version
		if files[m.repo] == nil {
			files[m.repo] = map[string]string{}
			order = append(order, m.repo)
		}
		for path, content := range m.file(health(m)) {
			files[m.repo][path] = content
		}
	}
	return r.commit(files, order)
}

func healthy(*member) string { return "Healthy" }

// begin marks the beginning of what is measured.
func (r *rollout) begin() {
	r.began, r.nudged = time.Now(), 0
	for _, m := range r.members {
		if app := r.recorder.app(string(r.mode), m.name); app != nil {
			if o, err := observer.Observe(app, false, r.began); err == nil {
				r.since = max(r.since, o.ResourceVersion)
			}
		}
	}
}

// refresh asks Argo CD to compare Applications, as its git webhook does, one after the other: each is compared before
// the next is asked for, and then there is a pause.
func (r *rollout) refresh(ctx context.Context, pause time.Duration, members ...*member) error {
	for _, m := range members {
		if pause == 0 {
			if err := r.annotate(ctx, m, "normal"); err != nil {
				return err
			}
			continue
		}
		if err := r.refreshed(ctx, m); err != nil {
			return fmt.Errorf("refresh of %s: %w", m.name, err)
		}
		if err := wait(ctx, pause); err != nil {
			return err
		}
	}
	return nil
}

// refreshed waits until the refresh is done. Argo CD v3.5.7 overlooks one that is written while it writes the Application
// itself, and stores its own copy in its cache; it is asked again, then.
func (r *rollout) refreshed(ctx context.Context, m *member) error {
	err := errTimeout
	for range refreshTries {
		if !errors.Is(err, errTimeout) {
			break
		}
		for _, value := range []string{"", "normal"} {
			if err := r.annotate(ctx, m, value); err != nil {
				return err
			}
		}
		err = until(ctx, refreshWithin, func() (bool, error) {
			app := r.recorder.app(string(r.mode), m.name)
			return app != nil && app.Annotations[argo.AnnotationKeyRefresh] == "", nil
		})
	}
	return err
}

// annotate asks for a refresh, or takes that back if value is empty.
func (r *rollout) annotate(ctx context.Context, m *member, value string) error {
	app := &argo.Application{}
	app.Namespace, app.Name = string(r.mode), m.name
	quoted := "null"
	if value != "" {
		quoted = strconv.Quote(value)
	}
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%s}}}`, argo.AnnotationKeyRefresh, quoted)
	return r.admin.Patch(ctx, app, client.RawPatch(types.MergePatchType, []byte(patch)))
}

// judge is what the observer says of it.
func (r *rollout) judge() ([]observer.Start, error) {
	plan := observer.Rollout{ChangedAt: r.changedAt, Healthy: r.scenario.needHealthy}
	names := map[string]bool{}
	for _, m := range r.members {
		names[m.name] = true
		plan.Applications = append(plan.Applications, observer.Application{Name: m.name, Step: m.step, Changes: m.changes})
	}
	history, err := r.recorder.seen(string(r.mode), names)
	if err != nil {
		return nil, err
	}
	var starts []observer.Start
	for _, s := range observer.Judge(plan, history) {
		if s.ResourceVersion > r.since {
			starts = append(starts, s)
		}
	}
	return starts, nil
}
