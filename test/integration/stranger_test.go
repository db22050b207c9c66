// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"testing"

	. "github.com/onsi/gomega"
)

// TestARequestAboutAnApplicationThatDoesNotExistHasNoEffect sends requests past the API server. One is about prod, and
// one about an Application with its name and owner that has another UID.
func TestARequestAboutAnApplicationThatDoesNotExistHasNoEffect(t *testing.T) {
	r := newRollout(t)
	unknown := func() (float64, error) {
		return r.replica.Metric(r.ctx, "stepgate_unknown_application_decisions_total")
	}
	forged := r.app("prod")
	forged.UID = "00000000-0000-0000-0000-000000000000"
	r.post(forged, "")
	r.Expect(unknown()).To(BeNumerically("==", 1))

	r.post(r.app("prod"), "")
	r.Eventually(func() int { return len(r.events("prod", "SyncDenied")) }).Should(Equal(1), "Events are sent in order")
	r.Expect(r.events("prod", "SyncDenied")[0].Regarding.UID).To(Equal(r.app("prod").UID))
	r.Expect(unknown()).To(BeNumerically("==", 1))
}
