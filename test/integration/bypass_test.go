// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"testing"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/guestbook"
)

// TestTricksAreNoWayRound changes prod so that it looks like another Application, in the same write as its operation.
func TestTricksAreNoWayRound(t *testing.T) {
	r := newRollout(t)
	const held = "a claim to be the controller"
	for trick, patch := range map[string]string{
		"the step label edited to step 1":        `{"metadata":{"labels":{"envLabel":"env-dev"}},"operation":{"sync":{}}}`,
		"the step label edited to no step":       `{"metadata":{"labels":{"envLabel":"none"}},"operation":{"sync":{}}}`,
		"the step label removed":                 `{"metadata":{"labels":null},"operation":{"sync":{}}}`,
		"the ownerReference stripped":            `{"metadata":{"ownerReferences":null},"operation":{"sync":{}}}`,
		"the ownerReference to one that is gone": `{"metadata":{"ownerReferences":[{"apiVersion":"argoproj.io/v1alpha1","kind":"ApplicationSet","name":"gone","uid":"1","controller":true}]},"operation":{"sync":{}}}`,
		held:                                     `{"operation":{"initiatedBy":{"username":"applicationset-controller","automated":true},"sync":{}}}`,
		"a claim to be an allow-listed user":     `{"operation":{"initiatedBy":{"username":"admin"},"sync":{"revision":"HEAD"}}}`,
	} {
		err := r.as(cluster.Human).Patch(r.ctx, r.app("prod"), client.RawPatch(types.MergePatchType, []byte(patch)))
		if trick == held {
			r.Expect(err).NotTo(HaveOccurred(), "a controller asks again")
		} else {
			r.denied(err, bothBlock...)
		}
		r.Expect(r.stored("prod")).To(BeFalse(), trick)
	}
}

func TestABypassInASyncIsHonouredOnlyFromArgocdServer(t *testing.T) {
	r := newRollout(t, "--bypass-user=alice", "--argocd-server-account="+cluster.ServerAccount)
	bypass := func(user string) *argo.Operation {
		op := guestbook.UserSync(user)
		op.Info = []*argo.Info{{Name: "stepgate.io/bypass", Value: "INC-1234"}}
		return op
	}
	try := func(account, user string) error {
		return r.update(account, "prod", func(app *argo.Application) { app.Operation = bypass(user) })
	}

	for user, try := range map[string]struct {
		err  error
		says string
	}{
		"alice": {try(cluster.Human, "alice"), "jane is not argocd-server"},
		"bob":   {try(cluster.ServerAccount, "bob"), `user "bob" may not bypass (--bypass-user)`},
	} {
		r.denied(try.err, bothBlock...)
		r.Expect(try.err).To(MatchError(ContainSubstring("bypass INC-1234 not honoured: "+try.says)), user)
	}
	r.Expect(try(cluster.ServerAccount, "alice")).To(Succeed())
	r.Eventually(func() string {
		for _, e := range r.events("prod", "SyncGateBypassed") {
			return e.Note
		}
		return ""
	}).Should(Equal("the gate was bypassed: INC-1234 by alice"))
}
