// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/stepgate/stepgate/test/scenario"
)

// An account that writes what only a controller of Argo CD writes, and is not listed, is counted each time and logged
// once.
func TestUnlistedAccounts(t *testing.T) {
	for name, tc := range map[string]struct {
		user  string
		write func(*scenario.Attempt)
		want  int
	}{
		"the ApplicationSet controller":          {user: "system:serviceaccount:argocd:argocd-applicationset-controller"},
		"one of another name":                    {user: "system:serviceaccount:gitops:sets", want: 2},
		"one of another name, listed":            {user: "listed-set"},
		"an application controller":              {user: "system:serviceaccount:gitops:cd-argocd-application-controller"},
		"argocd-server":                          {user: scenario.ArgoCDServer, want: 2},
		"a user, who does not claim to be one":   {user: "alice", write: func(a *scenario.Attempt) { a.After.Operation.InitiatedBy.Automated = false }},
		"a server dry-run by one of other names": {user: "system:serviceaccount:gitops:sets", write: func(a *scenario.Attempt) { a.DryRun = true }},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			logged := 0
			log := funcr.New(func(_, args string) {
				if matched, _ := ContainSubstring("not listed").Match(args); matched {
					g.Expect(args).To(ContainSubstring(`"account"="` + tc.user + `"`))
					logged++
				}
			}, funcr.Options{Verbosity: 9})
			c := scenario.Of(blocked)
			config := scenario.Config()
			config.ApplicationSetAccounts = []string{"listed-set"}
			trial := newTrial(config, c)
			write := scenario.SyncOf(c, "prod")
			write.User = tc.user
			write.After.Operation.InitiatedBy.Automated = true
			if tc.write != nil {
				tc.write(write)
			}
			for range 2 {
				trial.gate.Handle(logr.NewContext(t.Context(), log),
					webhook.AdmissionRequest{AdmissionRequest: scenario.Pinned(write.Request())})
			}
			g.Expect(trial.counted("stepgate_unlisted_account_operations_total")).To(BeEquivalentTo(tc.want))
			g.Expect(logged).To(Equal(min(tc.want, 1)))
		})
	}
}
