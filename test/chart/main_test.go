// SPDX-License-Identifier: Apache-2.0

// Package chart tests the Helm chart with the real Helm, on a real kube-apiserver, with stepgate running as the chart's
// Deployment would run it: the same arguments, service account and RBAC.
package chart

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/onsi/gomega"

	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/environment"
	"github.com/stepgate/stepgate/test/installed"
)

// All tests share these.
var (
	shared *environment.Environment
	helm   *installed.Helm
)

func TestMain(m *testing.M) {
	gomega.SetDefaultEventuallyTimeout(2 * time.Minute)
	o := environment.Options{Options: cluster.Options{AdmissionPolicies: true}}
	os.Exit(environment.MainWith(m, o, func(e *environment.Environment) (err error) {
		shared = e
		if helm, err = installed.NewHelm(e); err != nil {
			return err
		}
		return e.CreateNamespace(context.Background(), cluster.ArgoNamespace)
	}))
}
