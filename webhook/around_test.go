// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"testing"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/test/scenario"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/settings"
)

// byHand is a sync by a user, as argocd-server writes it.
func byHand(app *argo.Application, sync *argo.SyncOperation) *scenario.Attempt {
	a := &scenario.Attempt{Before: app, After: app.DeepCopy(), User: "jane"}
	a.After.Operation = &argo.Operation{Sync: sync, InitiatedBy: argo.OperationInitiator{Username: "jane"}}
	return a
}

// Ways round the gate that take more than the one write that is judged.
func TestNobodyGetsRoundTheGate(t *testing.T) {
	sync := &argo.SyncOperation{Revision: scenario.Commit("b")}
	otherSource := func(app *argo.Application) *argo.SyncOperation {
		source := app.Spec.Source.DeepCopy()
		source.Path, source.Helm = "some/other/path", &argo.ApplicationSourceHelm{
			Parameters: []argo.HelmParameter{{Name: "image.tag", Value: "never-seen"}},
		}
		return &argo.SyncOperation{Revision: scenario.Commit("b"), Source: source}
	}
	for name, row := range map[string]struct {
		cluster    string
		edit       func(dev, prod *argo.Application)
		sync       func(prod *argo.Application) *argo.SyncOperation
		seen       *scenario.Watch
		want       bool
		wantReason policy.Reason
	}{
		"nothing is edited": {cluster: "1:dev=Degraded@b 3:prod=Healthy@b", wantReason: policy.NotHealthy},
		"prod got the label of step 1 in a write before": {
			cluster: "1:dev=Degraded@b 3:prod=Healthy@b", wantReason: policy.NotHealthy,
			edit: func(_, prod *argo.Application) { prod.Labels["step"] = "1" },
		},
		"dev lost its label in a write before": {
			cluster: "1:dev=Degraded@b 3:prod=Healthy@b", wantReason: policy.NotHealthy,
			edit: func(dev, _ *argo.Application) { delete(dev.Labels, "step") },
		},
		"dev got the label of step 3 in a write before": {
			cluster: "1:dev=Degraded@b 3:prod=Healthy@b", wantReason: policy.NotHealthy,
			edit: func(dev, _ *argo.Application) { dev.Labels["step"] = "3" },
		},
		"argocd app sync --local": {
			cluster: "1:dev=Healthy@b 3:prod=Healthy@b", wantReason: policy.ContentUnknown,
			sync: func(*argo.Application) *argo.SyncOperation {
				return &argo.SyncOperation{Revision: scenario.Commit("b"), Manifests: []string{`{"kind":"ConfigMap"}`}}
			},
		},
		"another path and parameters": {cluster: "1:dev=Healthy@b 3:prod=Healthy@b", wantReason: policy.ContentUnknown, sync: otherSource},
		"dev has skipped what prod was compared with": {
			cluster: "1:dev=Healthy@c 3:prod=Healthy@b", wantReason: policy.NotCompleted,
			seen: &scenario.Watch{ChangedAt: 3, Compared: 3, At: 9, Fresh: map[string]uint64{"dev": 5}},
		},
		"dev has completed it, and gone on": {
			cluster: "1:dev=Healthy@c 3:prod=Healthy@b", want: true, wantReason: policy.EarlierStepsDone,
			seen: &scenario.Watch{
				ChangedAt: 3, Compared: 3, At: 9, Fresh: map[string]uint64{"dev": 5},
				Completed: map[string][]policy.Source{"dev": {sourceAt("b")}},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c := scenario.Of(row.cluster)
			c.Sets[0].Status.ApplicationStatus = []argo.ApplicationSetApplicationStatus{
				{Application: "dev", Step: "1", Status: "Progressing"}, {Application: "prod", Step: "3", Status: "Pending"},
			}
			dev, prod := c.Apps[0], c.Apps[1]
			if row.edit != nil {
				row.edit(dev, prod)
			}
			operation := sync
			if row.sync != nil {
				operation = row.sync(prod)
			}
			config := scenario.Config()
			config.Pin = settings.PinCompared
			trial := newTrial(config, c)
			if row.seen != nil {
				trial.judge.Histories = row.seen
			}
			answer := trial.handle(byHand(prod, operation).Request())
			g.Expect(answer.Allowed).To(Equal(row.want), "%v", answer.AuditAnnotations)
			g.Expect(answer.AuditAnnotations).To(HaveKeyWithValue("reason", string(row.wantReason)))
		})
	}
}

// sourceAt is the source of appOf at a commit.
func sourceAt(letter string) policy.Source {
	app := scenario.App("any", "1", "Healthy", letter)
	return policy.Source{Key: argocd.SourceKey(*app.Spec.Source), Revision: scenario.Commit(letter)}
}
