// SPDX-License-Identifier: Apache-2.0

// Package environment starts everything that a suite needs before it starts stepgate.
package environment

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/go-logr/logr"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/cluster"
)

// Environment is an etcd and a kube-apiserver with Argo CD's CRDs, and a stepgate that is built from this checkout. A
// command calls Start and Stop; a test package calls Main in its TestMain. Package release then installs stepgate and
// runs one replica or several (release.StartOne, release.Start, release.StartChart), and package load writes
// Applications with known right answers. Everything is on loopback, and a suite has its Environment to itself.
type Environment struct {
	*cluster.Cluster
	// Admin is a client of the cluster's administrator.
	Admin client.Client
	// Binary is the command line, and Webhook and Reporter are the programs that the images hold.
	Binary, Webhook, Reporter string
}

// Options are how an Environment is started.
type Options struct {
	cluster.Options
	// OnlyArgoCD leaves out the RBAC by which the tests write as Argo CD's accounts: a real Argo CD brings its own.
	OnlyArgoCD bool
	// End is called by Main at the end, and after an interrupt with context.Canceled. It is told what went wrong, but
	// not which tests have failed, and returns that and what else went wrong.
	End func(problem error) error
}

// Start starts the cluster, builds stepgate, and lets the accounts of cluster write Applications.
func Start(ctx context.Context, o Options) (e *Environment, err error) {
	ctrllog.SetLogger(logr.Discard())
	e = &Environment{}
	if e.Cluster, err = cluster.Start(o.Options); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, e.Stop())
		}
	}()
	if e.Admin, err = e.Client(""); err != nil {
		return e, err
	}
	if err = e.build(ctx); err != nil {
		return e, err
	}
	if !o.OnlyArgoCD {
		err = e.InstallWriters(ctx)
	}
	return e, err
}

// build compiles the programs, with the flags of the Makefile, whoever calls it. They have no version: the doctor
// would compare the one of a commit with the chart's.
func (e *Environment) build(ctx context.Context) error {
	command := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-o", e.Dir(), "./cmd/stepgate",
		"./cmd/stepgate-webhook", "./cmd/stepgate-reporter")
	command.Dir = e.Root
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("build stepgate: %w: %s", err, text)
	}
	e.Binary, e.Webhook = filepath.Join(e.Dir(), "stepgate"), filepath.Join(e.Dir(), "stepgate-webhook")
	e.Reporter = filepath.Join(e.Dir(), "stepgate-reporter")
	return nil
}

// Main starts an Environment for the tests of a package, runs them, and returns the exit code. prepare may do more
// before the tests run. `go test -list` starts nothing, and an interrupt leaves no process behind.
func Main(m *testing.M, prepare func(*Environment) error) int {
	return MainWith(m, Options{}, prepare)
}

// MainWith is Main, for a package that needs another cluster than the others.
func MainWith(m *testing.M, o Options, prepare func(*Environment) error) int {
	flag.Parse()
	if list := flag.Lookup("test.list"); list != nil && list.Value.String() != "" {
		return m.Run()
	}
	e, err := Start(context.Background(), o)
	if err != nil {
		return o.end(err)
	}
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-interrupted
		os.Exit(max(1, o.end(errors.Join(context.Canceled, e.Stop()))))
	}()
	code := 0
	if err = prepare(e); err == nil {
		code = m.Run()
	}
	return max(code, o.end(errors.Join(err, e.Stop())))
}

// end ends a run, and returns the exit code.
func (o Options) end(problem error) int {
	if o.End != nil {
		problem = o.End(problem)
	}
	if problem == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, problem)
	return 1
}
