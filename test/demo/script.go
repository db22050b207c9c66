// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"

	"github.com/stepgate/stepgate/cmd/screen"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/eventually"
	"github.com/stepgate/stepgate/test/guestbook"
	"github.com/stepgate/stepgate/test/script"
)

// compared has the application controller store a comparison with the new commit. It answers a refresh that stepgate
// asks for meanwhile, too: nobody compares the Application again by himself.
func (p *play) compared(env string, sync argo.SyncStatusCode, state health.HealthStatusCode) {
	what := "status of " + env + ": compared to " + guestbook.NewCommit[:7] + ", " + string(sync) + ", " + string(state)
	app := p.app(env)
	before := app.DeepCopy()
	metav1.SetMetaDataAnnotation(&before.ObjectMeta, argo.AnnotationKeyRefresh, string(argo.RefreshTypeNormal))
	guestbook.Compare(app, p.Tick(), guestbook.NewCommit, sync, state)
	p.patch(controller, what, app, before, admitted)
}

func (p *play) rolling(env string, want expectation) {
	p.sync(applicationSet, env, guestbook.RollingSync(), want)
}

// pending lets the ApplicationSet controller record an Application as Pending.
func (p *play) pending(env string) {
	set := p.Set.DeepCopy()
	script.Must(p.Admin.Get(p.ctx, client.ObjectKeyFromObject(set), set))
	before := set.DeepCopy()
	set.Status.ApplicationStatus = []argo.ApplicationSetApplicationStatus{{
		Application: guestbook.Application(p.Set, env).Name, Status: argo.ProgressiveSyncPending, Step: "3",
		TargetRevisions: []string{guestbook.NewCommit},
	}}
	script.Must(p.Admin.Status().Patch(p.ctx, set, client.MergeFrom(before)))
}

func (p *play) user(env, name string, want expectation) {
	p.sync(server, env, guestbook.UserSync(name), want)
}

func (p *play) bypass(name string, want expectation) {
	op := guestbook.UserSync(name)
	op.Info = []*argo.Info{{Name: "stepgate.io/bypass", Value: "INC-1234"}}
	p.sync(server, "prod", op, want)
}

func (p *play) start(env string) {
	p.write(controller, env, "status of "+env+": sync Running", func(app *argo.Application) {
		guestbook.Start(app, p.Tick())
	}, admitted)
}

func (p *play) finish(env string) {
	p.write(controller, env, "status of "+env+": sync Succeeded at "+guestbook.NewCommit[:7]+", operation removed",
		func(app *argo.Application) { guestbook.Finish(app, p.Tick(), guestbook.NewCommit) }, admitted)
}

// withdraw removes an operation before the application controller takes it up.
func (p *play) withdraw(env string) {
	p.write(administrator, env, "withdraw the sync of "+env, func(app *argo.Application) { app.Operation = nil }, admitted)
}

// untilBlocked waits until the gate counts a sync among those that wait. One that was bypassed had got through for it,
// if it has looked before that was withdrawn: then it finds out anew that the sync waits.
func (p *play) untilBlocked() {
	script.Must(eventually.Succeeds(p.ctx, func() error {
		since, err := p.gate.Metric(p.ctx, "stepgate_applicationset_blocked_since_timestamp_seconds")
		if err == nil && since == 0 {
			err = errors.New("stepgate counts no sync as blocked")
		}
		return err
	}))
}

func (p *play) trick(what string, change func(*argo.Application), want expectation) {
	p.write(kubectl, "prod", what, func(app *argo.Application) {
		app.Operation = guestbook.UserSync("jane")
		change(app)
	}, want)
}

// annotate sets an annotation of the ApplicationSet, or removes it when the value is empty.
func (p *play) annotate(key, value string) {
	set := p.Set.DeepCopy()
	script.Must(p.Admin.Get(p.ctx, client.ObjectKeyFromObject(set), set))
	before := set.DeepCopy()
	what := "annotate ApplicationSet guestbook: " + key + "=" + value
	set.Annotations = map[string]string{key: value}
	if value == "" {
		what, set.Annotations = "remove the annotation "+key, nil
	}
	p.patch(administrator, what, set, before, admitted)
}

// refreshed waits until stepgate has asked for an Application to be refreshed: it does so after its answer. The
// application controller meanwhile answers what stepgate asks of others: on a slow machine, it looks between the end of
// a sync and the comparison that follows.
func (p *play) refreshed(env string, others ...string) {
	script.Must(eventually.Succeeds(p.ctx, func() error {
		for _, other := range others {
			p.answer(other)
		}
		if p.app(env).Annotations[argo.AnnotationKeyRefresh] == "" {
			return errors.New("stepgate has not asked for a refresh of " + env)
		}
		return nil
	}))
	p.out.Line("\n     %s annotated %s with %s=%s: Argo CD compares it again", p.out.Paint(screen.Bold, "stepgate"), env,
		argo.AnnotationKeyRefresh, argo.RefreshTypeNormal)
}

// answer lets the application controller compare an Application again if that is asked for. Nothing has changed.
func (p *play) answer(env string) {
	app := p.app(env)
	if app.Annotations[argo.AnnotationKeyRefresh] == "" {
		return
	}
	before := app.DeepCopy()
	guestbook.Compare(app, p.Tick(), guestbook.NewCommit, app.Status.Sync.Status, app.Status.Health.Status)
	script.Must(p.Admin.Patch(p.ctx, app, client.MergeFrom(before)))
}
