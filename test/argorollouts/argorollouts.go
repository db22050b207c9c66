// SPDX-License-Identifier: Apache-2.0

// Package argorollouts runs the controller of Argo Rollouts that runs AnalysisRuns.
package argorollouts

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/stepgate/stepgate/test/environment"
	"github.com/stepgate/stepgate/test/process"
)

// module is the Go module of Argo Rollouts.
const module = "github.com/argoproj/argo-rollouts"

// Start installs the CRDs of analyses, and starts their controller as the cluster's administrator. It ends with the
// cluster.
func Start(ctx context.Context, e *environment.Environment) (log string, err error) {
	binary := filepath.Join(e.Root, "bin", "argo-rollouts")
	if _, err := os.Stat(binary); err != nil {
		return "", fmt.Errorf("no Argo Rollouts: run `make bin/argo-rollouts`: %w", err)
	}
	list := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module)
	list.Dir = filepath.Join(e.Root, "test", "tools", "argo-rollouts")
	dir, err := list.Output()
	if err != nil {
		return "", fmt.Errorf("find the module of Argo Rollouts: %w", err)
	}
	crds := filepath.Join(strings.TrimSpace(string(dir)), "manifests", "crds")
	var paths []string
	for _, name := range []string{"analysis-run", "analysis-template", "cluster-analysis-template"} {
		paths = append(paths, filepath.Join(crds, name+"-crd.yaml"))
	}
	options := envtest.CRDInstallOptions{Paths: paths, ErrorIfPathMissing: true}
	if _, err := envtest.InstallCRDs(e.Config, options); err != nil {
		return "", fmt.Errorf("the CRDs of Argo Rollouts: %w", err)
	}
	kubeconfig, err := e.AdminKubeconfig()
	if err != nil {
		return "", err
	}
	health, metrics, err := freePorts()
	if err != nil {
		return "", err
	}
	command := exec.Command(binary, "--controllers=analysis", "--leader-elect=false", "--kubeconfig="+kubeconfig,
		"--healthzPort="+health, "--metricsPort="+metrics)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	log = filepath.Join(e.Dir(), "argo-rollouts.log")
	p, err := process.Start("argo-rollouts", command, log, (*exec.Cmd).Start)
	if err != nil {
		return log, err
	}
	e.Cleanup(p.StopGroup)
	return log, p.Wait(ctx, func() error { return process.Answers(ctx, "http://127.0.0.1:"+health+"/healthz") })
}

// freePorts are two ports of loopback on which nobody listens.
func freePorts() (first, second string, err error) {
	for _, port := range []*string{&first, &second} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return "", "", err
		}
		defer func() { _ = listener.Close() }()
		if _, *port, err = net.SplitHostPort(listener.Addr().String()); err != nil {
			return "", "", err
		}
	}
	return first, second, nil
}
