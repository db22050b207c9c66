// SPDX-License-Identifier: Apache-2.0

package extension_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/cmd/dashboard"
	"github.com/stepgate/stepgate/cmd/history"
	"github.com/stepgate/stepgate/webhook/ledger"
)

// TestTheHistory is the log with its newest rollout first, or one sentence that says why there is none.
func TestTheHistory(t *testing.T) {
	at := now.Add(-time.Hour)
	kept := &ledger.Log{Since: at, Rollouts: []ledger.Rollout{
		{Revision: "1", ComparedAt: at, Steps: []ledger.Step{}}, {Revision: "2", ComparedAt: now, Steps: []ledger.Step{}},
	}}
	for name, tc := range map[string]struct {
		log  *ledger.Log
		err  error
		want string
	}{
		"found":                {log: kept},
		"none":                 {err: history.ErrNoLedger, want: "stepgate in namespace stepgate has kept nothing of this rollout yet"},
		"without the right":    {err: history.ErrForbidden, want: "stepgate's reporter may not get ConfigMaps in namespace stepgate"},
		"of another version":   {err: ledger.ErrVersion, want: "use the version that runs in namespace stepgate"},
		"that cannot be read":  {err: ledger.ErrUnreadable, want: "stepgate begins it anew with the next sync"},
		"in an older document": {err: history.ErrNoLog, want: "upgrade stepgate"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := newWorld(t)
			w.log = func() (*ledger.Log, error) { return tc.log, tc.err }
			h := read[dashboard.History](t, w.serve(w.objects), "/api/v1/history", "prod")
			if tc.want != "" {
				g.Expect(h.Problem).To(ContainSubstring(tc.want))
				g.Expect(h.Rollouts).To(BeEmpty())
				return
			}
			g.Expect(h.Problem).To(BeEmpty())
			g.Expect(h.Since).To(BeTemporally("==", at))
			g.Expect(h.Rollouts).To(HaveLen(2))
			g.Expect(h.Rollouts[0].Revision).To(Equal("2"))
			g.Expect(kept.Rollouts[0].Revision).To(Equal("1"), "the log is as it was")
		})
	}
}

// TestAHistoryThatIsNotRead is an error, and no history.
func TestAHistoryThatIsNotRead(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t)
	w.log = func() (*ledger.Log, error) { return nil, errors.New("the API server is away") }
	answer := ask(t, w.serve(w.objects), http.MethodGet, "/api/v1/history",
		headers("argocd:engineering-prod-guestbook", "default"))
	g.Expect(answer.Code).To(Equal(502))
	g.Expect(answer.Body.String()).NotTo(ContainSubstring("away"))
}
