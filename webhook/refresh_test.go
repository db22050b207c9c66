// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"testing"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/stepgate/stepgate/test/scenario"
	"github.com/stepgate/stepgate/webhook/settings"
)

// TestWhatIsRefreshed judges writes of prod. Everything was compared a minute before noon.
func TestWhatIsRefreshed(t *testing.T) {
	const stale = "1:dev=Healthy@a 1:eu=Degraded@a 2:qa=Healthy@a 3:prod=Healthy@b"
	for name, tc := range map[string]struct {
		scenario string
		off      bool
		edit     func(*settings.Config, *scenario.Cluster, *scenario.Attempt)
		want     []string
	}{
		"the blockers that are only stale, up to the step with one that is broken": {
			scenario: stale, want: []string{"argocd/dev NotCompleted compared to aaaaaaa, not bbbbbbb at 11:59:00"},
		},
		"one that was compared in this second": {
			scenario: stale, edit: func(_ *settings.Config, c *scenario.Cluster, _ *scenario.Attempt) {
				c.Apps[0].Status.ReconciledAt = ptr.To(metav1.NewTime(scenario.Noon))
			}, want: []string{"argocd/dev NotCompleted compared to aaaaaaa, not bbbbbbb at 12:00:00 after 1s"},
		},
		"one that has synced and was not compared since": {
			scenario: "1:dev=Healthy 3:prod=Healthy", want: []string{"argocd/dev NotCompleted compared before its last operation ended at 11:59:00"},
			edit: func(_ *settings.Config, c *scenario.Cluster, _ *scenario.Attempt) {
				c.Apps[0].Status.OperationState = &argo.OperationState{
					Phase: "Succeeded", Operation: argo.Operation{Sync: &argo.SyncOperation{}}, FinishedAt: ptr.To(metav1.NewTime(scenario.Noon)),
				}
			},
		},
		"the flag is off":  {scenario: stale, off: true},
		"nothing is stale": {scenario: blocked},
		"an allow":         {scenario: open},
		"a server dry-run": {scenario: stale, edit: func(_ *settings.Config, _ *scenario.Cluster, a *scenario.Attempt) { a.DryRun = true }},
		"audit mode":       {scenario: stale, edit: func(config *settings.Config, _ *scenario.Cluster, _ *scenario.Attempt) { config.Mode = settings.Audit }},
		"audit mode by annotation": {scenario: stale, edit: func(_ *settings.Config, c *scenario.Cluster, _ *scenario.Attempt) {
			c.Sets[0].Annotations = map[string]string{settings.ModeAnnotation: "audit"}
		}},
		"no decision": {scenario: stale, edit: func(_ *settings.Config, c *scenario.Cluster, _ *scenario.Attempt) { c.FailAt = 2 }},
		"a refresh is pending": {
			scenario: "1:dev=Healthy@a 3:prod=Healthy@b",
			edit: func(_ *settings.Config, c *scenario.Cluster, _ *scenario.Attempt) {
				c.Apps[0].Annotations = map[string]string{argo.AnnotationKeyRefresh: "hard"}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := scenario.Of(tc.scenario)
			config, write := scenario.Config(), scenario.SyncOf(c, "prod")
			config.Release = !tc.off
			if tc.edit != nil {
				tc.edit(&config, c, write)
			}
			trial := newTrial(config, c)
			trial.handle(write.Request())
			NewWithT(t).Expect(trial.refreshes.Take()).To(Equal(tc.want))
		})
	}
}
