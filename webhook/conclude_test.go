// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/test/scenario"
)

// TestNothingComesOfARequestAboutAnApplicationThatDoesNotExist sends what anybody can send who reaches the port and
// knows the UID of an ApplicationSet. stepgate answers as if the Application existed, and tells nobody.
func TestNothingComesOfARequestAboutAnApplicationThatDoesNotExist(t *testing.T) {
	for name, tc := range map[string]struct {
		cluster     *scenario.Cluster
		write       func(*scenario.Attempt)
		fails       bool
		wantRefresh bool
	}{
		"that is denied":           {cluster: scenario.Of(blocked)},
		"that asks for a refresh":  {cluster: scenario.Of("1:dev=Healthy@a 3:prod=Healthy@b"), wantRefresh: true},
		"that is bypassed":         {cluster: scenario.Of(blocked), write: func(a *scenario.Attempt) { askBypass("alice")(a); a.User = scenario.ArgoCDServer }},
		"that cannot be judged":    {cluster: scenario.Of(blocked), fails: true},
		"of a set that has no UID": {cluster: scenario.Of(blocked), write: func(a *scenario.Attempt) { a.After.UID, a.Before.UID = "", "" }},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			config := scenario.Config()
			config.Release = true
			answers := map[bool]string{}
			for _, exists := range []bool{true, false} {
				write := scenario.SyncOf(tc.cluster, "prod")
				if tc.write != nil {
					tc.write(write)
				}
				if tc.fails {
					tc.cluster.Reads, tc.cluster.FailAt = 0, 1
				}
				trial := newTrial(config, tc.cluster)
				trial.gate.Lookup = existing(exists)
				resp := trial.handle(write.Request())
				if resp.Result != nil {
					answers[exists] = resp.Result.Message
				}
				events, refreshed := trial.posted(), len(trial.refreshes.Take()) > 0
				if exists {
					g.Expect(events).To(HaveLen(1))
					g.Expect(refreshed).To(Equal(tc.wantRefresh))
					continue
				}
				g.Expect(events).To(BeEmpty())
				g.Expect(refreshed).To(BeFalse())
				g.Expect(trial.blocked.Waits(types.UID("prod-uid"))).To(BeFalse())
				g.Expect(trial.counted("stepgate_unknown_application_decisions_total")).To(BeNumerically("==", 1))
			}
			g.Expect(answers[false]).To(Equal(answers[true]))
		})
	}
}
