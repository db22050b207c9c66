// SPDX-License-Identifier: Apache-2.0

// Package node installs the chart on a cluster whose Pods real kubelets run, on this machine: etcd, kube-apiserver,
// kube-controller-manager, kube-scheduler, kube-proxy, and two nodes with a kubelet, a containerd and runc each.
// stepgate is the image that `make release-image` builds, pulled from a registry that the test serves; Argo CD's
// controllers are processes. `make e2e-node` runs it.
//
// Everything runs in namespaces of its own (network, mounts, processes, host name, IPC) and keeps its files in one
// temporary folder. Nothing but its cgroups can be seen from the machine. At the end the namespaces, the cgroups and
// the folder go away, also after a failure or an interrupt.
package node

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/stepgate/stepgate/test/checkout"
	"github.com/stepgate/stepgate/test/report"
)

var (
	keep = flag.String("keep", "",
		"the `folder` that the logs of all programs are copied to; a relative path begins at the root of the checkout")
	results = report.Flag(flag.CommandLine)
)

// inside is the first argument of the process that runs in the namespaces.
const inside = "inside"

func TestMain(m *testing.M) {
	if len(os.Args) != 3 || os.Args[1] != inside {
		os.Exit(m.Run())
	}
	ctx, stop := interruptible(context.Background())
	err := play(ctx, os.Args[2])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
}

// TestNodes plays the steps in a process of their own, in the namespaces.
func TestNodes(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts two nodes: leave -short out")
	}
	if err := checkout.Absolute(keep); err != nil {
		t.Fatal(err)
	}
	page, err := results.Page(report.Suite{
		Name: "node", Title: "the chart on two nodes with real kubelets, beside the real Argo CD",
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := interruptible(t.Context())
	defer stop()
	err = errors.Join(isolate(ctx, *keep, page), ctx.Err())
	if err = errors.Join(err, page.Close(err)); err != nil {
		t.Error(err)
	}
}
