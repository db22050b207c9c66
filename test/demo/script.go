package main

import (
	"github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/guestbook"
)

// scene is a part of the play: its writes in order.
type scene struct {
	title  string
	notes  []string
	writes []func(p *play) error
}

// perform plays all scenes.
func (p *play) perform() error {
	for _, s := range script() {
		p.out.Heading(s.title)
		for _, n := range s.notes {
			p.out.note(n)
		}
		for _, write := range s.writes {
			if err := write(p); err != nil {
				return err
			}
		}
	}
	return nil
}

func script() []scene {
	return []scene{
		{
			"A commit lands, and Argo CD happens to notice it on prod first",
			[]string{
				"ApplicationSet argocd/guestbook: step 1 is dev, step 2 is qa, step 3 is prod",
				"all are Synced and Healthy at commit 864496e; the new commit is 78de5d3",
				"dev has not been compared with it yet, so it still looks done: Healthy and Synced, at the old commit",
			},
			[]func(*play) error{
				compared("prod", argo.SyncStatusCodeOutOfSync, health.HealthStatusHealthy),
				rolling("prod", deniedBecause("engineering-dev-guestbook (RevisionMismatch: compared to 864496e, not 78de5d3)")),
				refreshed("dev"),
				refreshed("qa"),
				user("prod", "bob", deniedBecause("RefreshPending")),
				compared("dev", argo.SyncStatusCodeOutOfSync, health.HealthStatusHealthy),
				compared("qa", argo.SyncStatusCodeOutOfSync, health.HealthStatusHealthy),
				rolling("prod", deniedBecause("engineering-dev-guestbook (NotSynced: OutOfSync)")),
			},
		},
		{
			"Step 1: dev syncs",
			[]string{"the first step is never held up; status writes do not even reach stepgate (matchConditions)"},
			[]func(*play) error{
				rolling("dev", admitted),
				start("dev"),
				finish("dev"),
				compared("dev", argo.SyncStatusCodeSynced, health.HealthStatusProgressing),
				rolling("prod", deniedBecause("engineering-dev-guestbook (NotHealthy: Progressing)")),
				compared("dev", argo.SyncStatusCodeSynced, health.HealthStatusHealthy),
			},
		},
		{
			"Step 2: dev is done, so qa may sync, and prod still may not",
			nil,
			[]func(*play) error{
				rolling("qa", admitted),
				rolling("prod", deniedBecause("engineering-qa-guestbook (OperationInProgress)")),
			},
		},
		{
			"Tricks",
			[]string{"what would make prod look like something else, in the same write as its operation"},
			[]func(*play) error{
				trick("sync prod, with its step label changed to env-dev", func(app *argo.Application) { app.Labels[guestbook.StepLabel] = "env-dev" }),
				trick("sync prod, with its ownerReference removed", func(app *argo.Application) { app.OwnerReferences = nil }),
				trick("sync prod, claiming to be the ApplicationSet controller", func(app *argo.Application) { app.Operation = guestbook.RollingSync() }),
			},
		},
		{
			"Audit mode: the same sync, admitted and recorded",
			[]string{"for the whole gate by --mode audit, or for one ApplicationSet by annotation"},
			[]func(*play) error{
				annotate("stepgate.io/mode", "audit"),
				by(kubectl, "prod", guestbook.UserSync("jane"), admittedWith("stepgate (audit mode) would deny this sync")),
				withdraw("prod"),
				annotate("stepgate.io/mode", ""),
			},
		},
		{
			"Bypass: for emergencies, by those who may, and always recorded",
			[]string{"stepgate runs with --bypass-user alice; argocd-server says who asked"},
			[]func(*play) error{
				bypass("bob", deniedBecause(`not honoured: user "bob" may not bypass`)),
				bypass("alice", admitted),
				withdraw("prod"),
			},
		},
		{
			"Step 3: qa is done, so prod may sync",
			nil,
			[]func(*play) error{
				start("qa"),
				finish("qa"),
				compared("qa", argo.SyncStatusCodeSynced, health.HealthStatusHealthy),
				rolling("prod", admitted),
				start("prod"),
				finish("prod"),
				compared("prod", argo.SyncStatusCodeSynced, health.HealthStatusHealthy),
			},
		},
	}
}

func compared(env string, sync argo.SyncStatusCode, state health.HealthStatusCode) func(*play) error {
	return func(p *play) error { return p.compare(env, guestbook.NewCommit, sync, state) }
}

func by(w writer, env string, op *argo.Operation, want expectation) func(*play) error {
	return func(p *play) error { return p.sync(w, env, op, want) }
}

func rolling(env string, want expectation) func(*play) error {
	return by(applicationSet, env, guestbook.RollingSync(), want)
}

func user(env, name string, want expectation) func(*play) error {
	return by(server, env, guestbook.UserSync(name), want)
}

func bypass(name string, want expectation) func(*play) error {
	op := guestbook.UserSync(name)
	op.Info = []*argo.Info{{Name: "stepgate.io/bypass", Value: "INC-1234"}}
	return by(server, "prod", op, want)
}

func start(env string) func(*play) error {
	return func(p *play) error {
		return p.write(controller, env, "status of "+env+": sync Running", func(app *argo.Application) { guestbook.Start(app, p.tick()) }, admitted)
	}
}

func finish(env string) func(*play) error {
	return func(p *play) error {
		return p.write(controller, env, "status of "+env+": sync Succeeded at "+guestbook.NewCommit[:7]+", operation removed",
			func(app *argo.Application) { guestbook.Finish(app, p.tick(), guestbook.NewCommit) }, admitted)
	}
}

// withdraw removes an operation before the application controller takes it up.
func withdraw(env string) func(*play) error {
	return func(p *play) error {
		return p.write(administrator, env, "withdraw the sync of "+env, func(app *argo.Application) { app.Operation = nil }, admitted)
	}
}

func trick(what string, change func(*argo.Application)) func(*play) error {
	return func(p *play) error {
		return p.write(kubectl, "prod", what, func(app *argo.Application) {
			app.Operation = guestbook.UserSync("jane")
			change(app)
		}, deniedBecause("step 3 of ApplicationSet argocd/guestbook may not sync yet"))
	}
}

// annotate sets an annotation of the ApplicationSet, or removes it when the value is empty.
func annotate(key, value string) func(*play) error {
	return func(p *play) error {
		admin, err := p.cluster.Client("")
		if err != nil {
			return err
		}
		set := p.set.DeepCopy()
		if err := admin.Get(p.ctx, client.ObjectKeyFromObject(set), set); err != nil {
			return err
		}
		before := set.DeepCopy()
		what := "annotate ApplicationSet guestbook: " + key + "=" + value
		set.Annotations = map[string]string{key: value}
		if value == "" {
			what, set.Annotations = "remove the annotation "+key, nil
		}
		return p.patch(administrator, what, set, before, admitted)
	}
}
