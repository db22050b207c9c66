// SPDX-License-Identifier: Apache-2.0

package release

import (
	"testing"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/test/scenario"
	"github.com/stepgate/stepgate/webhook/settings"
)

// creating is a Creator that remembers after when objects have to be created.
type creating struct{ after []time.Time }

func (c *creating) Create(_ *policy.ApplicationSet, _ settings.Verification, _ string, after time.Time) {
	c.after = append(c.after, after)
}

// TestEvidenceIsCreatedForTheSpec that prod is about to deploy, which it has had since 20 s ago.
func TestEvidenceIsCreatedForTheSpec(t *testing.T) {
	since := scenario.Noon.Add(-20 * time.Second)
	for name, tc := range map[string]struct {
		path string
		want time.Time
	}{
		"it has deployed it":                    {path: "prod"},
		"it has deployed this with another one": {path: "elsewhere", want: since},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c, r := prodMayStart()
			c.Sets[0].Annotations = map[string]string{
				settings.VerifyAnnotation: "3=analysisruns.argoproj.io?check=smoke create=smoke",
			}
			prod := c.Apps[2]
			ran := prod.Spec.GetSource()
			ran.Path = tc.path
			prod.Status.OperationState = &argo.OperationState{
				Phase: "Succeeded", Operation: argo.Operation{Sync: &argo.SyncOperation{}},
				StartedAt:  metav1.NewTime(scenario.Noon.Add(-time.Hour)),
				FinishedAt: ptr.To(metav1.NewTime(scenario.Noon.Add(-time.Hour))),
				SyncResult: &argo.SyncOperationResult{Revision: scenario.Commit("a"), Source: ran},
			}
			r.watch.ContentAt = since
			r.watch.Fresh = map[string]uint64{"dev": 5, "qa": 5}
			creator := &creating{}
			r.VerifyWith(creator)
			r.Reconcile(guestbook)
			g.Expect(creator.after).To(Equal([]time.Time{tc.want}))
		})
	}
}
