// SPDX-License-Identifier: Apache-2.0

package node

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/argocd"
	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/e2e/observer"
	"github.com/stepgate/stepgate/test/eventually"
	"github.com/stepgate/stepgate/test/script"
)

// rollout is an ApplicationSet with three steps of one Application each, from one repository, and the commits to it.
type rollout struct {
	s     *suite
	repo  *argocd.Repository
	plan  observer.Rollout
	state map[string]observer.State
	// commits counts them.
	commits int
}

const destination = "guestbook"

func environments() []string { return []string{"dev", "qa", "prod"} }

func (s *suite) newRollout() (*rollout, error) {
	r := &rollout{s: s, state: map[string]observer.State{}}
	for step, env := range environments() {
		r.plan.Applications = append(r.plan.Applications, observer.Application{Name: env, Step: step})
	}
	var err error
	if r.repo, err = s.argo.NewRepository("guestbook"); err != nil {
		return nil, err
	}
	return r, s.CreateNamespace(s.ctx, destination)
}

// commit changes what all Applications deploy.
func (r *rollout) commit() {
	r.commits++
	files := map[string]string{}
	for _, env := range environments() {
		files[env+"/configmap.yaml"] = fmt.Sprintf(
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {version: %q}\n", env, strconv.Itoa(r.commits),
		)
	}
	revision := script.Get(r.repo.Commit(argocd.Main, files))
	r.plan.ChangedAt = append(r.plan.ChangedAt, time.Now())
	for i := range r.plan.Applications {
		app := &r.plan.Applications[i]
		r.state[app.Name] = observer.State{Revision: revision, Path: app.Name, Destination: destination}
		app.Changes = append(app.Changes, r.state[app.Name])
	}
}

// install makes the first commit and the ApplicationSet, and waits until it is deployed.
func (r *rollout) install() {
	r.commit()
	list := &argo.ListGenerator{}
	set := &argo.ApplicationSet{ObjectMeta: metav1.ObjectMeta{Namespace: cluster.ArgoNamespace, Name: "guestbook"}}
	set.Spec.GoTemplate = true
	set.Spec.Template = argo.ApplicationSetTemplate{
		ApplicationSetTemplateMeta: argo.ApplicationSetTemplateMeta{Name: "{{.env}}", Labels: map[string]string{"env": "{{.env}}"}},
		Spec: argo.ApplicationSpec{
			Project:     "default",
			Source:      &argo.ApplicationSource{RepoURL: r.repo.URL, Path: "{{.env}}", TargetRevision: argocd.Main},
			Destination: argo.ApplicationDestination{Server: "https://kubernetes.default.svc", Namespace: destination},
		},
	}
	set.Spec.Strategy = &argo.ApplicationSetStrategy{
		Type: "RollingSync", RollingSync: &argo.ApplicationSetRolloutStrategy{},
	}
	for _, env := range environments() {
		list.Elements = append(list.Elements, apiextensionsv1.JSON{
			Raw: script.Get(json.Marshal(map[string]string{"env": env})),
		})
		set.Spec.Strategy.RollingSync.Steps = append(set.Spec.Strategy.RollingSync.Steps, argo.ApplicationSetRolloutStep{
			MatchExpressions: []argo.ApplicationMatchExpression{{Key: "env", Operator: "In", Values: []string{env}}},
		})
	}
	set.Spec.Generators = []argo.ApplicationSetGenerator{{List: list}}
	script.Must(r.s.Admin.Create(r.s.ctx, set))
	r.complete()
}

// ahead is how long before the others prod is compared: on a busy machine the ApplicationSet controller looks that
// late.
const ahead = 2 * time.Second

// play commits, lets Argo CD compare prod before the others, waits until all is deployed, and returns the starts of
// this commit.
func (r *rollout) play() (starts []observer.Start, took time.Duration) {
	r.recorded()
	r.commit()
	began := time.Now()
	for _, env := range []string{"prod", "qa", "dev"} {
		r.refresh(env)
		script.Must(eventually.Succeeds(r.s.ctx, func() error {
			if app := r.s.watch.app(env); app == nil || app.Annotations[argo.AnnotationKeyRefresh] != "" {
				return fmt.Errorf("%s is not compared by Argo CD", env)
			}
			return nil
		}))
		if env == "prod" {
			r.s.pause(ahead)
		}
	}
	r.complete()
	took = time.Since(began)
	all, err := r.s.watch.observations()
	script.Must(err)
	for _, start := range observer.Judge(r.plan, all) {
		if start.Change == len(r.plan.ChangedAt)-1 {
			starts = append(starts, start)
		}
	}
	return starts, took
}

// recorded waits until the ApplicationSet controller has recorded every Application as Healthy.
func (r *rollout) recorded() {
	script.Must(eventually.Succeeds(r.s.ctx, func() error {
		set := &argo.ApplicationSet{}
		if err := r.s.Admin.Get(r.s.ctx, types.NamespacedName{Namespace: cluster.ArgoNamespace, Name: "guestbook"},
			set); err != nil {
			return err
		}
		healthy := 0
		for _, a := range set.Status.ApplicationStatus {
			if a.Status == "Healthy" {
				healthy++
			}
		}
		if healthy != len(environments()) {
			return fmt.Errorf("%d of the Applications are recorded as Healthy", healthy)
		}
		return nil
	}))
}

// refresh asks Argo CD to compare an Application.
func (r *rollout) refresh(env string) {
	app := &argo.Application{ObjectMeta: metav1.ObjectMeta{Namespace: cluster.ArgoNamespace, Name: env}}
	for _, value := range []string{"null", `"normal"`} {
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%s}}}`, argo.AnnotationKeyRefresh, value)
		script.Must(r.s.Admin.Patch(r.s.ctx, app, client.RawPatch(types.MergePatchType, patch)))
	}
}

// overlookedAfter is how long an operation, or a refresh, may be asked for before Argo CD counts as having overlooked
// it, as 3.5.7 does when it is written while the controller records the end of an operation. It is longer than stepgate
// waits before it asks again.
const overlookedAfter = 20 * time.Second

// complete waits until every Application has deployed the newest commit.
func (r *rollout) complete() {
	asked := time.Now()
	script.Must(eventually.SucceedsWithin(r.s.ctx, 3*time.Minute, func() error {
		var missing []error
		for _, env := range environments() {
			app := r.s.watch.app(env)
			if app == nil {
				missing = append(missing, fmt.Errorf("%s does not exist", env))
				continue
			}
			seen, err := observer.Observe(app, false, time.Time{})
			script.Must(err)
			if seen.Synced && seen.Health == "Healthy" && seen.Compared == r.state[env] && !seen.OperationSet {
				continue
			}
			missing = append(missing, fmt.Errorf("%s has not deployed the commit", env))
			if time.Since(asked) > overlookedAfter &&
				(seen.OperationSet && !seen.TakenUp() || app.Annotations[argo.AnnotationKeyRefresh] != "") {
				asked = time.Now()
				r.refresh(env)
			}
		}
		return errors.Join(missing...)
	}))
}
