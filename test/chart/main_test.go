// Package chart tests the Helm chart with the real Helm, on a real kube-apiserver, with stepgate running as the chart's
// Deployment would run it: the same arguments, service account and RBAC.
package chart

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-logr/logr"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/stepgate/stepgate/test/local"
)

// The parts that all tests share.
var (
	root    string
	cluster *local.Cluster
	helm    *local.Helm
	binary  string
)

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	fail := func(err error) int {
		fmt.Fprintln(os.Stderr, "chart:", err)
		return 1
	}
	ctrllog.SetLogger(logr.Discard())
	var err error
	if root, err = filepath.Abs("../.."); err != nil {
		return fail(err)
	}
	if cluster, err = local.StartCluster(root); err != nil {
		return fail(err)
	}
	defer func() {
		if err := cluster.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "chart: stop:", err)
		}
	}()
	if helm, err = cluster.Helm(root); err != nil {
		return fail(err)
	}
	if binary, err = local.Build(root, cluster.Dir()); err != nil {
		return fail(err)
	}
	if err := cluster.InstallWriters(context.Background()); err != nil {
		return fail(err)
	}
	return m.Run()
}
