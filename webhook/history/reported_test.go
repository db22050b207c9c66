// SPDX-License-Identifier: Apache-2.0

package history

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
)

// TestWhatIsReportedMayBeOfTheSpecBefore until an operation has started since, or something else is reported so long
// after the change that the agent has seen it.
func TestWhatIsReportedMayBeOfTheSpecBefore(t *testing.T) {
	reported := func(spec string, startedAt int, report argocd.Fingerprint) *argocd.Projection {
		return &argocd.Projection{Report: report, Content: argocd.Content{Parameters: spec}, Application: policy.Application{
			Reported: true, LastOperation: policy.LastOperation{StartedAt: second(startedAt)},
		}}
	}
	type seen struct {
		p  *argocd.Projection
		at int
	}
	long := 100 + int(policy.SettlingTime/time.Second) + 1
	for name, tc := range map[string]struct {
		events []seen
		want   bool
	}{
		"its spec stays":                         {[]seen{{reported("a", 50, 1), 60}, {reported("a", 50, 2), 100}}, false},
		"its spec has changed":                   {[]seen{{reported("a", 50, 1), 60}, {reported("b", 50, 1), 100}}, true},
		"an operation has started since":         {[]seen{{reported("a", 50, 1), 60}, {reported("b", 50, 1), 100}, {reported("b", 100, 2), 101}}, false},
		"something else was reported at once":    {[]seen{{reported("a", 50, 1), 60}, {reported("b", 50, 1), 100}, {reported("b", 50, 2), 101}}, true},
		"something else was reported later":      {[]seen{{reported("a", 50, 1), 60}, {reported("b", 50, 1), 100}, {reported("b", 50, 2), long}}, false},
		"nothing else was reported for long":     {[]seen{{reported("a", 50, 1), 60}, {reported("b", 50, 1), 100}, {reported("b", 50, 1), long}}, true},
		"Argo CD itself compares it":             {[]seen{{reported("a", 50, 0), 60}, {reported("b", 50, 0), 100}}, false},
		"it was reported when it was first seen": {[]seen{{reported("a", 100, 1), 100}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			g, r := NewWithT(t), (*Record)(nil)
			for i, e := range tc.events {
				if i == 0 {
					e.p.ContentSince = e.p.Application.LastOperation.StartedAt
				}
				r, _ = r.Next(e.p, Event{Position: uint64(i + 1), At: second(e.at)})
			}
			past := r.Past(99, 99)
			g.Expect(past.Respecified).To(Equal(tc.want))
			if tc.events[0].p.Report != 0 {
				g.Expect(past.Freshness).To(Equal(policy.Fresh), "no request makes a report newer")
			}
		})
	}
}
