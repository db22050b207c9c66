// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
)

// Test is a test that keeps why it failed, for its page.
type Test struct {
	*testing.T
	mu      sync.Mutex
	reasons []error
}

// Errorf is the one of testing.T.
func (t *Test) Errorf(format string, args ...any) {
	t.Helper()
	t.keep(format, args...)
	t.T.Errorf(format, args...)
}

// Fatalf is the one of testing.T.
func (t *Test) Fatalf(format string, args ...any) {
	t.Helper()
	t.keep(format, args...)
	t.T.Fatalf(format, args...)
}

// Cleanup is the one of testing.T, also for a test that embeds something else with a Cleanup.
func (t *Test) Cleanup(end func()) { t.T.Cleanup(end) }

// keep keeps a reason as one line.
func (t *Test) keep(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.reasons = append(t.reasons, errors.New(strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " ")))
}

// Reason is why the test failed; nil if it did not.
func (t *Test) Reason() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.reasons) == 0 && t.Failed() {
		return errors.New("its output says why")
	}
	return errors.Join(t.reasons...)
}
