// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"

	"github.com/stepgate/stepgate/test/guestbook"
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
				"the ApplicationSet controller wants to sync prod, and records it as Pending",
				"dev has not been compared with it yet, so it still looks done: Healthy and Synced, at the old commit",
			},
			noticedOnProdFirst,
		},
		{
			"Step 1: dev syncs",
			[]string{"the first step is never held up; status writes do not even reach stepgate (matchConditions)"},
			stepOne,
		},
		{
			"Step 2: dev is done, so qa may sync, and prod still may not",
			nil,
			stepTwo,
		},
		{
			"Tricks",
			[]string{"each would make prod look like something else, in the same write as its operation"},
			tricks,
		},
		{
			"Audit mode: the same sync, admitted and recorded",
			[]string{"for the whole gate by --mode audit, or for one ApplicationSet by annotation"},
			audited,
		},
		{
			"Bypass: for emergencies, by users who may, and always recorded",
			[]string{"stepgate runs with --bypass-user alice; argocd-server says who asked"},
			bypassed,
		},
		{
			"Step 3: qa is done, so prod may sync",
			nil,
			stepThree,
		},
	}
}

func noticedOnProdFirst(p *play) {
	p.compared("prod", argo.SyncStatusCodeOutOfSync, health.HealthStatusHealthy)
	p.rolling("prod", heldBecause("engineering-dev-guestbook (NotCompleted: compared to 864496e, not 78de5d3)"))
	p.pending("prod")
	p.refreshed("dev")
	p.refreshed("qa")
	p.user("prod", "bob", deniedBecause("NotCompleted"))
	p.compared("dev", argo.SyncStatusCodeOutOfSync, health.HealthStatusHealthy)
	p.compared("qa", argo.SyncStatusCodeOutOfSync, health.HealthStatusHealthy)
	p.rolling("prod", heldBecause("engineering-dev-guestbook (NotCompleted: OutOfSync)"))
}

func stepOne(p *play) {
	p.rolling("dev", admitted)
	p.start("dev")
	p.finish("dev")
	p.compared("dev", argo.SyncStatusCodeSynced, health.HealthStatusProgressing)
	p.rolling("prod", heldBecause("engineering-dev-guestbook (NotHealthy: Progressing)"))
	p.compared("dev", argo.SyncStatusCodeSynced, health.HealthStatusHealthy)
}

func stepTwo(p *play) {
	p.rolling("qa", admitted)
	p.rolling("prod", heldBecause("engineering-qa-guestbook (OperationInProgress)"))
}

func tricks(p *play) {
	denied := deniedBecause("step 3 of ApplicationSet argocd/guestbook may not sync yet")
	p.trick("sync prod, with its step label changed to env-dev", func(app *argo.Application) {
		app.Labels[guestbook.StepLabel] = "env-dev"
	}, denied)
	p.trick("sync prod, with its ownerReference removed", func(app *argo.Application) {
		app.OwnerReferences = nil
	}, denied)
	p.trick("sync prod, claiming to be the ApplicationSet controller", func(app *argo.Application) {
		app.Operation = guestbook.RollingSync()
	}, heldBecause("engineering-qa-guestbook (OperationInProgress)"))
}

func audited(p *play) {
	p.annotate("stepgate.io/mode", "audit")
	p.sync(kubectl, "prod", guestbook.UserSync("jane"), admittedWith("stepgate (audit mode) would deny this sync"))
	p.withdraw("prod")
	p.annotate("stepgate.io/mode", "")
}

func bypassed(p *play) {
	p.bypass("bob", deniedBecause(`not honoured: user "bob" may not bypass`))
	p.bypass("alice", admitted)
	p.withdraw("prod")
	p.untilBlocked()
}

func stepThree(p *play) {
	p.start("qa")
	p.finish("qa")
	p.compared("qa", argo.SyncStatusCodeSynced, health.HealthStatusHealthy)
	p.refreshed("prod", "dev", "qa")
	p.rolling("prod", admitted)
	p.start("prod")
	p.finish("prod")
	p.compared("prod", argo.SyncStatusCodeSynced, health.HealthStatusHealthy)
}
