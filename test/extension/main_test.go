// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v3/util/password"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/cmd/extension"
	"github.com/stepgate/stepgate/test/argocd"
	"github.com/stepgate/stepgate/test/checkout"
	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/environment"
	"github.com/stepgate/stepgate/test/guestbook"
	"github.com/stepgate/stepgate/test/installed"
	"github.com/stepgate/stepgate/test/report"
)

const (
	// extensions is where argocd-server looks for extensions; that cannot be changed.
	extensions = "/tmp/extensions"
	secret     = "what argocd-server and stepgate share"
	actSecret  = "what they share for those who act"
	passphrase = "correct horse battery staple"
)

// shared is the cluster, server the argocd-server in it, and direct the address of the reporter's answers.
var (
	shared *environment.Environment
	server *argocd.Server
	direct string
	// results is where figures go.
	results = report.Flag(flag.CommandLine)
)

func TestMain(m *testing.M) {
	flag.Parse()
	if err := results.Check(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	root, err := checkout.Root()
	var o argocd.Options
	if err == nil {
		o, err = argocd.Locate(root, argocd.Versions()[0])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	options := environment.Options{Options: cluster.Options{Manifests: o.Manifests}, OnlyArgoCD: true}
	os.Exit(environment.MainWith(m, options, func(e *environment.Environment) error {
		shared = e
		return start(context.Background(), o)
	}))
}

// start starts argocd-server with the extension, and stepgate with a rollout.
func start(ctx context.Context, o argocd.Options) error {
	if err := unpack(); err != nil {
		return err
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	direct = free.Addr().String()
	if err := free.Close(); err != nil {
		return err
	}
	if server, err = argocd.StartServer(ctx, shared, o, configure); err != nil {
		return err
	}
	shared.Cleanup(server.Stop)
	if err := play(ctx); err != nil {
		return err
	}
	token := filepath.Join(shared.Dir(), "token")
	if err := os.WriteFile(token, []byte(secret+"\n"), 0o600); err != nil {
		return err
	}
	act := filepath.Join(shared.Dir(), "act")
	if err := os.WriteFile(act, []byte(actSecret+"\n"), 0o600); err != nil {
		return err
	}
	options := installed.Options{
		Registration: installed.Registration{Name: "stepgate", Namespaces: []string{cluster.ArgoNamespace}}, UI: true,
		Acts: true, Waves: true,
		Args: []string{"--shutdown-delay=0s", "--approver=argocd:releaser", "--waves"},
	}
	webhook, err := installed.StartOne(ctx, shared, options)
	if err != nil {
		return err
	}
	if err := keep(ctx); err != nil {
		return err
	}
	reporter, err := installed.StartReporter(ctx, shared, options, "--ui-bind-address="+direct, "--ui-token-file="+token,
		"--ui-act-token-file="+act, "--waves")
	if err != nil {
		return err
	}
	return errors.Join(webhook.WaitReady(ctx), reporter.WaitReady(ctx))
}

// unpack packs the extension, and puts it where argocd-extension-installer does.
func unpack() error {
	dir := shared.Dir()
	if err := run([]string{"-dir", dir, "-time", "1"}); err != nil {
		return err
	}
	to := filepath.Join(extensions, "stepgate-test")
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	shared.Cleanup(func() {
		_ = os.RemoveAll(to)
		_ = os.Remove(extensions) // unless something else is in it
	})
	text, err := exec.Command("tar", "-C", to, "--strip-components=1", "-xf", filepath.Join(dir, archive)).CombinedOutput()
	if err != nil {
		return fmt.Errorf("unpack %s: %w: %s", archive, err, text)
	}
	return nil
}

// policies are Argo CD's RBAC: a viewer may do all that is needed to look, a releaser and who is on call may act, and others
// lack something. stepgate lets the releaser approve.
const policies = `p, viewer, applications, get, default/*, allow
p, viewer, applicationsets, get, default/*, allow
p, viewer, extensions, invoke, stepgate, allow
p, releaser, applications, get, default/*, allow
p, releaser, applicationsets, get, default/*, allow
p, releaser, extensions, invoke, stepgate*, allow
p, oncall, applications, get, default/*, allow
p, oncall, extensions, invoke, stepgate-act, allow
p, blind, extensions, invoke, stepgate, allow
p, reader, applications, get, default/*, allow
`

// accounts are local accounts of Argo CD.
var accounts = []string{"viewer", "blind", "reader", "releaser", "oncall"}

// configure writes the configuration of docs/argocd-ui.md, and the accounts.
func configure(ctx context.Context) error {
	hash, err := password.HashPassword(passphrase)
	if err != nil {
		return err
	}
	settings := map[string]string{"extension.config": `extensions:
- name: stepgate
  backend:
    services:
    - url: http://` + direct + `
      headers:
      - name: ` + extension.TokenHeader + `
        value: $extension.stepgate.token
- name: stepgate-act
  backend:
    services:
    - url: http://` + direct + `
      headers:
      - name: ` + extension.TokenHeader + `
        value: $extension.stepgate.act
`}
	secrets := map[string]string{"extension.stepgate.token": secret, "extension.stepgate.act": actSecret}
	for _, account := range accounts {
		settings["accounts."+account] = "login"
		secrets["accounts."+account+".password"] = hash
		secrets["accounts."+account+".passwordMtime"] = time.Now().UTC().Format(time.RFC3339)
	}
	for _, o := range []struct {
		object client.Object
		data   map[string]any
	}{
		{&corev1.ConfigMap{ObjectMeta: named("argocd-cm")}, map[string]any{"data": settings}},
		{&corev1.ConfigMap{ObjectMeta: named("argocd-rbac-cm")}, map[string]any{"data": map[string]string{"policy.csv": policies}}},
		{&corev1.Secret{ObjectMeta: named("argocd-secret")}, map[string]any{"stringData": secrets}},
	} {
		patch, err := json.Marshal(o.data)
		if err != nil {
			return err
		}
		if err := shared.Admin.Patch(ctx, o.object, client.RawPatch("application/merge-patch+json", patch)); err != nil {
			return err
		}
	}
	return nil
}

func named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: cluster.ArgoNamespace, Name: name}
}

// play writes a rollout as the controllers do: dev is at work, qa and prod wait. Beside it is an Application of another
// project, and one of no ApplicationSet.
func play(ctx context.Context) error {
	r, err := guestbook.Create(ctx, shared.Admin, cluster.ArgoNamespace, guestbook.Lately,
		func(r *guestbook.Rollout, env string, app *argo.Application) {
			sync, state := argo.SyncStatusCodeOutOfSync, health.HealthStatusHealthy
			if env == "dev" {
				sync, state = argo.SyncStatusCodeSynced, health.HealthStatusProgressing
			}
			guestbook.Compare(app, r.Tick(), guestbook.NewCommit, sync, state)
		})
	if err != nil {
		return err
	}
	// The ApplicationSet controller records its Applications.
	for i, env := range []string{"dev", "qa", "prod"} {
		r.Set.Status.ApplicationStatus = append(r.Set.Status.ApplicationStatus, argo.ApplicationSetApplicationStatus{
			Application: guestbook.Application(r.Set, env).Name, Step: strconv.Itoa(i + 1), Status: argo.ProgressiveSyncWaiting,
			TargetRevisions: []string{guestbook.NewCommit},
		})
	}
	if err := shared.Admin.Status().Update(ctx, r.Set); err != nil {
		return err
	}
	if err := server.CreateProject(ctx, "secret"); err != nil {
		return err
	}
	for name, project := range map[string]string{"secret": "secret", "alone": "default"} {
		app := guestbook.Application(r.Set, name)
		app.Name, app.OwnerReferences, app.Spec.Project = name, nil, project
		if err := shared.Admin.Create(ctx, app); err != nil {
			return err
		}
	}
	return nil
}

// keep writes the history of the rollout as the gate does, which alone may.
func keep(ctx context.Context) error {
	set := &argo.ApplicationSet{}
	name := client.ObjectKey{Namespace: cluster.ArgoNamespace, Name: "guestbook"}
	if err := shared.Admin.Get(ctx, name, set); err != nil {
		return err
	}
	kept, err := guestbook.Kept(set, "stepgate", time.Now())
	if err != nil {
		return err
	}
	gate, err := shared.Client("system:serviceaccount:stepgate:stepgate")
	if err != nil {
		return err
	}
	return gate.Create(ctx, kept)
}

// said is what `stepgate get` prints.
func said(ctx context.Context) (string, error) {
	kubeconfig, err := shared.AdminKubeconfig()
	if err != nil {
		return "", err
	}
	command := exec.CommandContext(ctx, shared.Binary, "get", "guestbook", "--all", "-n", cluster.ArgoNamespace,
		"--kubeconfig", kubeconfig)
	text, err := command.Output() // 1 says that the rollout is not complete
	if len(text) == 0 {
		return "", err
	}
	return strings.Join(strings.Fields(string(text)), " "), nil
}
