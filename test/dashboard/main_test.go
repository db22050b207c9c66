// SPDX-License-Identifier: Apache-2.0

// Package dashboard opens `stepgate dashboard` in a real Chromium, on a real kube-apiserver with a real stepgate.
package dashboard

import (
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/onsi/gomega"

	"github.com/stepgate/stepgate/test/environment"
	"github.com/stepgate/stepgate/test/report"
)

var (
	shared  *environment.Environment
	results *report.Results
)

func TestMain(m *testing.M) {
	results = report.Flag(flag.CommandLine)
	flag.Parse()
	if err := results.Check(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	gomega.SetDefaultEventuallyTimeout(time.Minute) // when a test gives up
	os.Exit(environment.Main(m, func(e *environment.Environment) error { shared = e; return nil }))
}
