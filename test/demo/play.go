// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"strings"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/environment"
	"github.com/stepgate/stepgate/test/eventually"
	"github.com/stepgate/stepgate/test/guestbook"
	"github.com/stepgate/stepgate/test/installed"
	"github.com/stepgate/stepgate/test/script"
	"github.com/stepgate/stepgate/webhook"
)

// play is the running demo. Its methods are steps of a script: the first that cannot be played ends it.
type play struct {
	*environment.Environment
	ctx  context.Context
	out  *printer
	gate *installed.Replica
	*guestbook.Rollout

	writes, denied, held, unexpected int
}

// answer is the answer of the API server to a write.
type answer struct {
	object string
	err    error
	// held is the note of the Event SyncHeld, where the operation was held.
	held       string
	warnings   []string
	unexpected bool
}

func (a answer) text() string {
	if a.held != "" {
		return a.object + " patched, without the operation. Event SyncHeld: " + a.held
	}
	if a.err != nil {
		return a.err.Error()
	}
	return a.object + " patched"
}

// heard collects the API server's warnings.
type heard struct{ texts []string }

// HandleWarningHeader keeps one warning.
func (h *heard) HandleWarningHeader(_ int, _, text string) { h.texts = append(h.texts, text) }

// writer is somebody who writes Applications.
type writer struct{ name, account string }

var (
	controller     = writer{"application controller", cluster.ControllerAccount}
	applicationSet = writer{"ApplicationSet ctrl", cluster.ApplicationSetAccount}
	server         = writer{"argocd-server", cluster.ServerAccount}
	kubectl        = writer{"kubectl, as jane", cluster.Human}
	administrator  = writer{"administrator", ""}
)

// prepare creates the ApplicationSet and its Applications, all of them Synced and Healthy at the old commit.
func (p *play) prepare() {
	script.Must(p.CreateNamespace(p.ctx, cluster.ArgoNamespace))
	p.Rollout = script.Get(guestbook.Create(p.ctx, p.Admin, cluster.ArgoNamespace, guestbook.Lately,
		func(made *guestbook.Rollout, _ string, app *argo.Application) {
			app.Operation = guestbook.RollingSync()
			guestbook.Start(app, made.Tick())
			guestbook.Finish(app, made.Tick(), guestbook.OldCommit)
			guestbook.Compare(app, made.Tick(), guestbook.OldCommit, argo.SyncStatusCodeSynced, health.HealthStatusHealthy)
		}))
}

// waitUntilCalled waits until the API server has learnt of both registrations.
func (p *play) waitUntilCalled() {
	jane := script.Get(p.Client(cluster.Human))
	script.Must(eventually.Succeeds(p.ctx, func() error {
		app := p.app("dev")
		before := app.DeepCopy()
		app.Operation = guestbook.UserSync("probe")
		_ = jane.Patch(p.ctx, app, client.MergeFrom(before), client.DryRunAll)
		for _, path := range []string{webhook.ValidatePath, webhook.MutatePath} {
			n, err := p.gate.Metric(p.ctx, "stepgate_requests_total", "path", path)
			if err == nil && n == 0 {
				err = errors.New("the API server does not call stepgate's " + path)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}))
}

func (p *play) app(env string) *argo.Application { return script.Get(p.App(p.ctx, env)) }

// expectation is the answer that the demo expects of the API server.
type expectation struct {
	denied, held bool
	// contains must be part of the answer, of a warning or of the Event.
	contains string
}

var admitted = expectation{}

func deniedBecause(text string) expectation { return expectation{denied: true, contains: text} }

func heldBecause(text string) expectation { return expectation{held: true, contains: text} }

func admittedWith(warning string) expectation { return expectation{contains: warning} }

// write lets somebody change an Application, and shows and counts the answer.
func (p *play) write(by writer, env, what string, change func(*argo.Application), want expectation) {
	app := p.app(env)
	before := app.DeepCopy()
	change(app)
	p.patch(by, what, app, before, want)
}

func (p *play) patch(by writer, what string, changed, before client.Object, want expectation) {
	warnings := &heard{}
	c := script.Get(p.ClientWithWarnings(by.account, warnings))
	a := answer{object: "application.argoproj.io/" + changed.GetName()}
	if _, ok := changed.(*argo.ApplicationSet); ok {
		a.object = "applicationset.argoproj.io/" + changed.GetName()
	}
	a.err = c.Patch(p.ctx, changed, client.MergeFrom(before))
	a.warnings = warnings.texts
	if app, ok := changed.(*argo.Application); ok && want.held && a.err == nil && app.Operation == nil {
		a.held = p.noteWith("SyncHeld", app.Name, want.contains)
		p.held++
	}
	said := a.text() + strings.Join(a.warnings, "\n")
	a.unexpected = (a.err != nil) != want.denied || (a.held != "") != want.held || !strings.Contains(said, want.contains)
	p.writes++
	if a.err != nil {
		p.denied++
	}
	if a.unexpected {
		p.unexpected++
	}
	p.out.write(p.writes, by.name, what, a)
}

// sync lets somebody write an operation.
func (p *play) sync(by writer, env string, op *argo.Operation, want expectation) {
	what := "sync " + env
	if user := op.InitiatedBy.Username; by == server {
		what += ", asked for by " + user
	}
	for _, info := range op.Info {
		if strings.HasPrefix(info.Name, "stepgate.io/") {
			what += " --info " + info.Name + "=" + info.Value
		}
	}
	p.write(by, env, what, func(app *argo.Application) { app.Operation = op }, want)
}
