// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/policy"
)

func TestABlockerNamesItsCluster(t *testing.T) {
	const before = "step 2 of ApplicationSet argocd/guestbook may not sync yet: 1 Application of step 1 is not done: dev"
	for name, tc := range map[string]struct {
		cluster, scenario string
		retried           bool
		want              string
	}{
		"the cluster in which Argo CD runs": {
			scenario: "1:dev=Degraded > 2:prod", want: before + " (NotHealthy: Degraded). Next: wait until dev is Healthy, or repair it",
		},
		"another one, by name": {
			cluster: "eu-1", scenario: "1:dev=Healthy/Unknown > 2:prod",
			want: before + " in cluster eu-1 (NotCompleted: Argo CD cannot compare it). Next: read the conditions of dev",
		},
		"a name that is no text": {
			cluster: "eu\n1", scenario: "1:dev=Degraded > 2:prod", want: before + " in cluster eu?1 (NotHealthy: Degraded). Next: wait until dev is Healthy, or repair it",
		},
		"a sync that is tried again, because its cluster does not answer": {
			cluster: "eu-1", scenario: "1:dev,running > 2:prod", retried: true,
			want: before + " in cluster eu-1 (OperationInProgress: its sync failed, and is tried again). Next: wait until the operation of dev has ended",
		},
		"a sync that was tried again, before one that only waits": {
			scenario: "1:dev,op > 2:prod", retried: true, want: before + " (OperationInProgress). Next: wait until the operation of dev has ended",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			in := scenario(tc.scenario)
			in.Siblings[0].Cluster, in.Siblings[0].LastOperation.Retried = tc.cluster, tc.retried
			g.Expect(policy.Evaluate(in).Message()).To(Equal(tc.want))
		})
	}
}
