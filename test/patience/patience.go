// SPDX-License-Identifier: Apache-2.0

// Package patience is how long tests wait before they give up.
package patience

import (
	"os"
	"testing"
	"time"

	"github.com/onsi/gomega"
)

// Main runs the tests of a package, for its TestMain. Gomega gives up after a second, which is too short on a busy
// machine. No assertion may rest on when it gives up.
func Main(m *testing.M) {
	gomega.SetDefaultEventuallyTimeout(2 * time.Minute)
	os.Exit(m.Run())
}
