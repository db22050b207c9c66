// Package dashboard opens `stepgate dashboard` in a real Chromium, on a real kube-apiserver with a real stepgate.
package dashboard

import (
	"os"
	"testing"
	"time"

	"github.com/onsi/gomega"

	"github.com/stepgate/stepgate/test/environment"
)

var shared *environment.Environment

func TestMain(m *testing.M) {
	gomega.SetDefaultEventuallyTimeout(time.Minute) // when a test gives up
	os.Exit(environment.Main(m, func(e *environment.Environment) error { shared = e; return nil }))
}
