// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"testing"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/guestbook"
	"github.com/stepgate/stepgate/webhook/argocd"
)

// TestEveryOperationIsStoredWithItsStamp has its stamp, once, whatever the writer has sent: of the first step, of a dry run, and with
// a forged one.
func TestEveryOperationIsStoredWithItsStamp(t *testing.T) {
	r := newRollout(t)
	stamps := func(env string) (all []string) {
		for _, info := range r.app(env).Operation.Info {
			if info.Name == argocd.StampInfo {
				all = append(all, info.Value)
			}
		}
		return all
	}
	full := ConsistOf(MatchRegexp(`^\{"v":1,"parameters":"[0-9a-f]{24}","around":"[0-9a-f]{24}"`))
	forged := []*argo.Info{{Name: argocd.StampInfo, Value: `{"v":1,"around":"x"}`}, {Name: "Reason", Value: "x"}}

	r.Expect(r.update(cluster.ServerAccount, "dev", func(app *argo.Application) {
		app.Operation = guestbook.UserSync("jane")
		app.Operation.Info = forged
	})).To(Succeed())
	r.Expect(stamps("dev")).To(full, "the first step, which names no revision")
	r.done("dev")

	r.Expect(r.update(cluster.ServerAccount, "prod", func(app *argo.Application) {
		app.Operation = guestbook.UserSync("jane")
		app.Operation.Sync.DryRun = true
	})).To(Succeed())
	r.Expect(stamps("prod")).To(ConsistOf(MatchRegexp(`^\{"v":1(,"last":|\})`)), "a dry run deploys nothing")
}
