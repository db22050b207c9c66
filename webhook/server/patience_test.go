package server

import (
	"os"
	"testing"
	"time"

	"github.com/onsi/gomega"
)

// Gomega gives up after a second, which is too short on a busy machine. No assertion rests on when it gives up.
func TestMain(m *testing.M) {
	gomega.SetDefaultEventuallyTimeout(2 * time.Minute)
	os.Exit(m.Run())
}
