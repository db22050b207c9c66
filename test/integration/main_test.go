// Package integration tests `stepgate serve` as a process of its own, under the RBAC of config/, called over TLS by a
// real kube-apiserver through a real ValidatingWebhookConfiguration with its matchConditions.
package integration

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/onsi/gomega"

	"github.com/stepgate/stepgate/test/local"
)

// The parts that all tests share: starting them takes seconds, and every test has namespaces of its own.
var (
	root    string
	cluster *local.Cluster
	binary  string
)

func TestMain(m *testing.M) {
	// Processes start and certificates are signed while other tests compete for the processors.
	gomega.SetDefaultEventuallyTimeout(20 * time.Second)
	os.Exit(run(m))
}

func run(m *testing.M) int {
	fail := func(err error) int {
		fmt.Fprintln(os.Stderr, "integration:", err)
		return 1
	}
	var err error
	if root, err = filepath.Abs("../.."); err != nil {
		return fail(err)
	}
	if cluster, err = local.StartCluster(root); err != nil {
		return fail(err)
	}
	defer func() {
		if err := cluster.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "integration: stop:", err)
		}
	}()
	if binary, err = local.Build(root, cluster.Dir()); err != nil {
		return fail(err)
	}
	ctx := context.Background()
	if err := cluster.InstallWriters(ctx); err != nil {
		return fail(err)
	}
	return m.Run()
}
