// SPDX-License-Identifier: Apache-2.0

// Package quickstart runs the steps of docs/quickstart.md that need no container engine: the script's own, on the real
// Argo CD, and with a git server on this machine in place of the Pod.
package quickstart

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/test/argocd"
	"github.com/stepgate/stepgate/test/checkout"
	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/environment"
	"github.com/stepgate/stepgate/test/eventually"
	"github.com/stepgate/stepgate/test/installed"
	"github.com/stepgate/stepgate/test/process"
)

// shared is the cluster, env is the environment of the script in it.
var (
	shared *environment.Environment
	env    []string
)

func TestMain(m *testing.M) {
	o, err := locate()
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

// locate finds the Argo CD that the script installs.
func locate() (argocd.Options, error) {
	root, err := checkout.Root()
	if err != nil {
		return argocd.Options{}, err
	}
	return argocd.Locate(root, argocd.Versions()[0])
}

// start starts Argo CD, polling as it does by default, and the git server.
func start(ctx context.Context, o argocd.Options) error {
	o.Settings = argocd.Settings{Resync: 2 * time.Minute, Jitter: time.Minute}
	argo, err := argocd.Start(ctx, shared, o)
	if err != nil {
		return err
	}
	shared.Cleanup(argo.Stop)
	kubeconfig, err := shared.AdminKubeconfig()
	if err != nil {
		return err
	}
	repository := filepath.Join(shared.Dir(), "git", "guestbook.git")
	address, err := serve(ctx, repository)
	if err != nil {
		return err
	}
	env = append(os.Environ(), "KUBECONFIG="+kubeconfig,
		"PATH="+filepath.Dir(shared.Binary)+":"+filepath.Join(shared.Root, "bin")+":"+os.Getenv("PATH"),
		"QUICKSTART_GIT=sh", "QUICKSTART_DIR="+repository, "QUICKSTART_URL=git://"+address+"/guestbook.git")
	return shared.CreateNamespace(ctx, "quickstart")
}

// serve serves the folder of a new repository as git daemon does in the Pod, and returns the address.
func serve(ctx context.Context, repository string) (string, error) {
	if err := os.MkdirAll(filepath.Dir(repository), 0o700); err != nil {
		return "", err
	}
	init := exec.CommandContext(ctx, "git", "init", "--quiet", "--bare", "--initial-branch=main", repository)
	if text, err := init.CombinedOutput(); err != nil {
		return "", fmt.Errorf("git init: %w: %s", err, text)
	}
	address, err := installed.FreeAddress()
	if err != nil {
		return "", err
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", err
	}
	base := filepath.Dir(repository)
	command := exec.Command("git", "daemon", "--export-all", "--base-path="+base, "--reuseaddr", "--listen="+host,
		"--port="+port, base)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	daemon, err := process.Start("git daemon", command, filepath.Join(base, "daemon.log"), (*exec.Cmd).Start)
	if err != nil {
		return "", err
	}
	shared.Cleanup(daemon.StopGroup)
	return address, daemon.Wait(ctx, func() error {
		connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err != nil {
			return err
		}
		return connection.Close()
	})
}

// run runs a program of the page in the checkout, and returns its output.
func run(t *testing.T, program string, args ...string) (string, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), program, args...)
	command.Dir, command.Env, command.WaitDelay = shared.Root, env, time.Second
	text, err := command.CombinedOutput()
	t.Logf("$ %s %v\n%s", program, args, text)
	return string(text), err
}

// step runs a step of the script, which has to succeed.
func step(t *testing.T, name string) string {
	t.Helper()
	text, err := run(t, "test/quickstart/quickstart.sh", name)
	NewWithT(t).Expect(err).NotTo(HaveOccurred(), text)
	return text
}

const inOrder = "  1. sync starts: guestbook-dev\n  2. sync starts: guestbook-qa\n  3. sync starts: guestbook-prod\n"

// The same commit goes wrong without stepgate, and right with it.
func TestQuickstart(t *testing.T) {
	g := NewWithT(t)
	g.Expect(step(t, "sample")).To(ContainSubstring("all three Applications are at "))
	g.Expect(step(t, "rollout")).To(And(ContainSubstring("  1. sync starts: guestbook-prod\n"),
		HaveSuffix("\nOUT OF ORDER\n")))
	text, err := run(t, shared.Binary, "audit", "-n", cluster.ArgoNamespace)
	g.Expect(text).To(ContainSubstring("1 of 2 rollouts went out of order"))
	exit := &exec.ExitError{}
	g.Expect(errors.As(err, &exit)).To(BeTrue())
	g.Expect(exit.ExitCode()).To(Equal(1))

	_, err = installed.Start(t.Context(), shared, installed.Options{
		Registration: installed.Registration{Name: "stepgate"},
	}, "")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(step(t, "rollout")).To(And(ContainSubstring(inOrder), HaveSuffix("\nIN ORDER\n")))
	g.Expect(eventually.Succeeds(t.Context(), func() error {
		text, err := run(t, "kubectl", "get", "events", "-n", cluster.ArgoNamespace, "--field-selector", "reason=SyncHeld")
		if err != nil {
			return err
		}
		if ok, _ := ContainSubstring("guestbook-prod").Match(text); !ok {
			return errors.New("no Event says that prod was held")
		}
		return nil
	})).To(Succeed())
}

// The sample has nothing that lint or simulate minds.
func TestTheSample(t *testing.T) {
	for _, args := range [][]string{
		{"lint", "-f", "docs/examples/guestbook.yaml"}, {"simulate", "-f", "docs/examples/guestbook.yaml"},
	} {
		text, err := run(t, shared.Binary, args...)
		NewWithT(t).Expect(err).NotTo(HaveOccurred(), text)
	}
}

// Where a program is missing, the script says which one, and has called none: kind, kubectl and helm leave a file.
func TestAMissingProgramIsNamed(t *testing.T) {
	g, bin := NewWithT(t), t.TempDir()
	for _, name := range []string{"bash", "dirname"} {
		path, err := exec.LookPath(name)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(os.Symlink(path, filepath.Join(bin, name))).To(Succeed())
	}
	for _, name := range []string{"kind", "kubectl", "helm"} {
		text := "#!/bin/sh\n: >" + bin + "/called\n"
		g.Expect(os.WriteFile(filepath.Join(bin, name), []byte(text), 0o755)).To(Succeed())
	}
	for _, step := range []string{"all", "cluster", "install"} {
		command := exec.CommandContext(t.Context(), filepath.Join(bin, "bash"), "test/quickstart/quickstart.sh", step)
		command.Dir, command.Env = shared.Root, []string{"PATH=" + bin}
		text, err := command.CombinedOutput()
		g.Expect(err).To(HaveOccurred())
		g.Expect(command.ProcessState.ExitCode()).To(Equal(2), string(text))
		g.Expect(string(text)).To(Equal(
			"quickstart: docker is missing: install it. docs/quickstart.md says what you need\n"), step)
		g.Expect(filepath.Join(bin, "called")).NotTo(BeAnExistingFile(), step)
	}
}
