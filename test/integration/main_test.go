// SPDX-License-Identifier: Apache-2.0

// Package integration tests `stepgate-webhook serve` as a process of its own, under the RBAC of config/, called over
// TLS by a real kube-apiserver through real webhook configurations with their matchConditions.
package integration

import (
	"os"
	"testing"
	"time"

	"github.com/onsi/gomega"

	"github.com/stepgate/stepgate/test/environment"
)

// shared is for all tests: starting it takes seconds, and every test has namespaces of its own. Those tests run side by
// side that wait most of their time.
var shared *environment.Environment

func TestMain(m *testing.M) {
	// When a test gives up, and nothing that it asserts: processes start while other suites compete for the processors.
	gomega.SetDefaultEventuallyTimeout(2 * time.Minute)
	os.Exit(environment.Main(m, func(e *environment.Environment) error { shared = e; return nil }))
}
