// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"slices"
	"testing"

	"github.com/stepgate/stepgate/test/report"
)

// besidePlays are rollouts beside other programs that write Applications, and beside people who do.
func besidePlays() []gatedPlay {
	return slices.Concat(kargoPlays(), retryPlays(), pullPlays(), heldPlays(), jitterPlays())
}

// TestBeside plays rollouts in which somebody else than Argo CD's controllers writes Applications.
func TestBeside(t *testing.T) {
	playGated(t, report.Suite{
		Name: "e2e-beside", Title: "rollouts beside Kargo, retries, agents of other clusters, automated sync and people, without stepgate and with it",
	}, besidePlays())
}
