package main

import (
	"errors"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/eventually"
	"github.com/stepgate/stepgate/test/guestbook"
	"github.com/stepgate/stepgate/test/report"
	"github.com/stepgate/stepgate/test/script"
)

// scene is a part of the play: its writes in order.
type scene struct {
	title string
	notes []string
	play  func(p *play)
}

// perform plays all scenes.
func (p *play) perform() {
	for _, s := range scenes() {
		p.out.Heading(s.title)
		for _, n := range s.notes {
			p.out.note(n)
		}
		s.play(p)
	}
}

func scenes() []scene {
	return []scene{
		{
			"A commit lands, and Argo CD happens to notice it on prod first",
			[]string{
				"ApplicationSet argocd/guestbook: step 1 is dev, step 2 is qa, step 3 is prod",
				"all are Synced and Healthy at commit 864496e; the new commit is 78de5d3",
				"the ApplicationSet controller has recorded prod as Pending: it wants to sync it",
				"dev has not been compared with it yet, so it still looks done: Healthy and Synced, at the old commit",
			},
			func(p *play) {
				p.compared("prod", argo.SyncStatusCodeOutOfSync, health.HealthStatusHealthy)
				p.pending("prod")
				p.rolling("prod", heldBecause("engineering-dev-guestbook (RevisionMismatch: compared to 864496e, not 78de5d3)"))
				p.refreshed("dev")
				p.refreshed("qa")
				p.user("prod", "bob", deniedBecause("RefreshPending"))
				p.compared("dev", argo.SyncStatusCodeOutOfSync, health.HealthStatusHealthy)
				p.compared("qa", argo.SyncStatusCodeOutOfSync, health.HealthStatusHealthy)
				p.rolling("prod", heldBecause("engineering-dev-guestbook (NotSynced: OutOfSync)"))
			},
		},
		{
			"Step 1: dev syncs",
			[]string{"the first step is never held up; status writes do not even reach stepgate (matchConditions)"},
			func(p *play) {
				p.rolling("dev", admitted)
				p.start("dev")
				p.finish("dev")
				p.compared("dev", argo.SyncStatusCodeSynced, health.HealthStatusProgressing)
				p.rolling("prod", heldBecause("engineering-dev-guestbook (NotHealthy: Progressing)"))
				p.compared("dev", argo.SyncStatusCodeSynced, health.HealthStatusHealthy)
			},
		},
		{
			"Step 2: dev is done, so qa may sync, and prod still may not",
			nil,
			func(p *play) {
				p.rolling("qa", admitted)
				p.rolling("prod", heldBecause("engineering-qa-guestbook (OperationInProgress)"))
			},
		},
		{
			"Tricks",
			[]string{"each would make prod look like something else, in the same write as its operation"},
			func(p *play) {
				p.trick("sync prod, with its step label changed to env-dev", func(app *argo.Application) { app.Labels[guestbook.StepLabel] = "env-dev" })
				p.trick("sync prod, with its ownerReference removed", func(app *argo.Application) { app.OwnerReferences = nil })
				p.trick("sync prod, claiming to be the ApplicationSet controller", func(app *argo.Application) { app.Operation = guestbook.RollingSync() })
			},
		},
		{
			"Audit mode: the same sync, admitted and recorded",
			[]string{"for the whole gate by --mode audit, or for one ApplicationSet by annotation"},
			func(p *play) {
				p.annotate("stepgate.io/mode", "audit")
				p.sync(kubectl, "prod", guestbook.UserSync("jane"), admittedWith("stepgate (audit mode) would deny this sync"))
				p.withdraw("prod")
				p.annotate("stepgate.io/mode", "")
			},
		},
		{
			"Bypass: for emergencies, by users who may, and always recorded",
			[]string{"stepgate runs with --bypass-user alice; argocd-server says who asked"},
			func(p *play) {
				p.bypass("bob", deniedBecause(`not honoured: user "bob" may not bypass`))
				p.bypass("alice", admitted)
				p.withdraw("prod")
			},
		},
		{
			"Step 3: qa is done, so prod may sync",
			nil,
			func(p *play) {
				p.start("qa")
				p.finish("qa")
				p.compared("qa", argo.SyncStatusCodeSynced, health.HealthStatusHealthy)
				p.refreshed("prod")
				p.rolling("prod", admitted)
				p.start("prod")
				p.finish("prod")
				p.compared("prod", argo.SyncStatusCodeSynced, health.HealthStatusHealthy)
			},
		},
	}
}

// compared has the application controller store a comparison with the new commit.
func (p *play) compared(env string, sync argo.SyncStatusCode, state health.HealthStatusCode) {
	what := "status of " + env + ": compared to " + guestbook.NewCommit[:7] + ", " + string(sync) + ", " + string(state)
	p.write(controller, env, what, func(app *argo.Application) { guestbook.Compare(app, p.tick(), guestbook.NewCommit, sync, state) }, admitted)
}

func (p *play) rolling(env string, want expectation) {
	p.sync(applicationSet, env, guestbook.RollingSync(), want)
}

// pending has the ApplicationSet controller record an Application as Pending.
func (p *play) pending(env string) {
	set := p.set.DeepCopy()
	script.Must(p.Admin.Get(p.ctx, client.ObjectKeyFromObject(set), set))
	before := set.DeepCopy()
	set.Status.ApplicationStatus = []argo.ApplicationSetApplicationStatus{{
		Application: guestbook.Application(p.set, env).Name, Status: argo.ProgressiveSyncPending, Step: "3", TargetRevisions: []string{guestbook.NewCommit},
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
	p.write(controller, env, "status of "+env+": sync Running", func(app *argo.Application) { guestbook.Start(app, p.tick()) }, admitted)
}

func (p *play) finish(env string) {
	p.write(controller, env, "status of "+env+": sync Succeeded at "+guestbook.NewCommit[:7]+", operation removed",
		func(app *argo.Application) { guestbook.Finish(app, p.tick(), guestbook.NewCommit) }, admitted)
}

// withdraw removes an operation before the application controller takes it up.
func (p *play) withdraw(env string) {
	p.write(administrator, env, "withdraw the sync of "+env, func(app *argo.Application) { app.Operation = nil }, admitted)
}

func (p *play) trick(what string, change func(*argo.Application)) {
	p.write(kubectl, "prod", what, func(app *argo.Application) {
		app.Operation = guestbook.UserSync("jane")
		change(app)
	}, deniedBecause("step 3 of ApplicationSet argocd/guestbook may not sync yet"))
}

// annotate sets an annotation of the ApplicationSet, or removes it when the value is empty.
func (p *play) annotate(key, value string) {
	set := p.set.DeepCopy()
	script.Must(p.Admin.Get(p.ctx, client.ObjectKeyFromObject(set), set))
	before := set.DeepCopy()
	what := "annotate ApplicationSet guestbook: " + key + "=" + value
	set.Annotations = map[string]string{key: value}
	if value == "" {
		what, set.Annotations = "remove the annotation "+key, nil
	}
	p.patch(administrator, what, set, before, admitted)
}

// refreshed waits until stepgate has asked for an Application to be refreshed: it does so after its answer.
func (p *play) refreshed(env string) {
	script.Must(eventually.Succeeds(p.ctx, func() error {
		if p.app(env).Annotations[argo.AnnotationKeyRefresh] == "" {
			return errors.New("stepgate has not asked for a refresh of " + env)
		}
		return nil
	}))
	p.out.Line("\n     %s annotated %s with %s=%s: Argo CD compares it again", p.out.Paint(report.Bold, "stepgate"), env, argo.AnnotationKeyRefresh, argo.RefreshTypeNormal)
}
