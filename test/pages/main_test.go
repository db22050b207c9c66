// SPDX-License-Identifier: Apache-2.0

// Package pages runs the console blocks of the pages, from their text: Helm, kubectl and stepgate are real, on a real
// kube-apiserver. Only the node and Docker are played: see node_test.go and testdata/programs.
package pages

import (
	"os"
	"testing"
	"time"

	"github.com/onsi/gomega"

	"github.com/stepgate/stepgate/test/environment"
)

// shared is the cluster of the pages.
var shared *environment.Environment

func TestMain(m *testing.M) {
	gomega.SetDefaultEventuallyTimeout(2 * time.Minute)
	os.Exit(environment.Main(m, func(e *environment.Environment) error {
		shared = e
		return nil
	}))
}
