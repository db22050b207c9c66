// SPDX-License-Identifier: Apache-2.0

package history

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
)

// TestAReportMayBeOlderThanTheRequest that it takes away: argocd-agent removes the refresh with each report. Argo CD
// itself removes it only when it has compared.
func TestAReportMayBeOlderThanTheRequest(t *testing.T) {
	const before, request = 990, 1000
	counts := request + int(policy.SettlingTime/time.Second)
	type seen struct {
		at, reconciledAt int
		requested        bool
	}
	first, asked := seen{at: before, reconciledAt: before}, seen{request, before, true}
	for name, tc := range map[string]struct {
		argoCDItself bool
		events       []seen
		want         policy.Freshness
	}{
		"Argo CD itself answers":                   {true, []seen{first, asked, {request + 1, request - 1, false}}, policy.Newest},
		"it was under way":                         {false, []seen{first, asked, {request + 1, request - 1, false}}, policy.Unknown},
		"the comparison began at once":             {false, []seen{first, asked, {request + 1, request + 1, false}}, policy.Unknown},
		"the comparison began later":               {false, []seen{first, asked, {counts, counts, false}}, policy.Newest},
		"it arrives later, and was made at once":   {false, []seen{first, asked, {counts + 99, request + 1, false}}, policy.Unknown},
		"the second answer shows that it is one":   {false, []seen{first, asked, {request + 1, request + 1, false}, {counts, request + 1, true}, {counts + 1, counts, false}}, policy.Newest},
		"the time is the same, and it was removed": {false, []seen{first, asked, {counts, before, false}}, policy.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			var r *Record
			for i, e := range tc.events {
				r, _ = r.Next(&argocd.Projection{Relayed: !tc.argoCDItself, Application: policy.Application{
					Compared: at("a"), SyncStatus: "Synced", ReconciledAt: second(e.reconciledAt), RefreshRequested: e.requested,
				}}, Event{Position: uint64(i + 1), At: second(e.at)})
			}
			NewWithT(t).Expect(r.Past(1, 1).Freshness).To(Equal(tc.want))
		})
	}
}
