// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"testing"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/test/scenario"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/settings"
)

// TestAForgedStampIsRefused in enforce mode, in whatever step, also of an operation that deploys nothing: who forges one
// has a failure forgotten, or another destination taken for the one of before.
func TestAForgedStampIsRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		app   string
		sync  argo.SyncOperation
		forge bool
		mode  settings.Mode
		want  bool
	}{
		"its own":                 {app: "dev", sync: argo.SyncOperation{Revision: scenario.Commit("b")}, want: true},
		"another one":             {app: "dev", sync: argo.SyncOperation{Revision: scenario.Commit("b")}, forge: true},
		"another one, in step 3":  {app: "prod", sync: argo.SyncOperation{Revision: scenario.Commit("b")}, forge: true},
		"of a dry run":            {app: "dev", sync: argo.SyncOperation{DryRun: true}, forge: true},
		"its own, of a dry run":   {app: "dev", sync: argo.SyncOperation{DryRun: true}, want: true},
		"another one, audit mode": {app: "dev", sync: argo.SyncOperation{Revision: scenario.Commit("b")}, forge: true, mode: settings.Audit, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c := scenario.Of("1:dev=Healthy@b 3:prod=Healthy@b")
			config := scenario.Pinning()
			config.Mode = tc.mode
			a := scenario.SyncOf(c, tc.app)
			a.User, a.After.Operation.Sync, a.After.Operation.InitiatedBy.Automated = scenario.ArgoCDServer, &tc.sync, false
			trial, _, app := mutated(t, config, c, a)
			a.After = app
			if tc.forge {
				a.After.Operation.Info = []*argo.Info{{Name: argocd.StampInfo, Value: `{"v":1,"content":"x"}`}}
			}
			answer := trial.asWritten(a.Request())
			g.Expect(answer.Allowed).To(Equal(tc.want))
			if !tc.want {
				g.Expect(answer.Result.Message).To(ContainSubstring("(ContentUnknown: the operation brings " +
					"stepgate.io/content of its own, which stepgate writes). Next: leave it out"))
			}
		})
	}
}
