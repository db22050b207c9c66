// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"fmt"
	"testing"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/test/scenario"
	"github.com/stepgate/stepgate/webhook/judge"
	"github.com/stepgate/stepgate/webhook/settings"
	"github.com/stepgate/stepgate/webhook/slots"
)

// The Preview answers every write as the Mutator and the Gate do, one after the other: with the same decision, the same
// text, and the same revisions in the operation.
func TestThePreviewAgreesWithTheGate(t *testing.T) {
	outcomes := map[string]int{}
	check := func(r *rapid.T) {
		g := NewWithT(t)
		c, a := drawWrite(r)
		config := drawConfig(r)
		known := scenario.Watched{Cluster: c}
		preview := previewOf(config, c, known, nil)
		answer, err := preview.Write(t.Context(), a.Request())
		g.Expect(err).NotTo(HaveOccurred())

		trial := newTrial(config, c)
		_, after := mutatedBy(t, trial, c, a)
		if held := after.Operation == nil; held || answer.Held {
			g.Expect(answer.Held).To(Equal(held))
			outcomes["held"]++
			return
		}
		mutated := *a
		mutated.After = after
		resp := trial.asWritten(mutated.Request())
		g.Expect(!answer.Rejected()).To(Equal(resp.Allowed), "%s", answer.Message)
		if resp.Allowed {
			outcomes[answer.Outcome.String()]++
		} else {
			g.Expect(resp.Result.Message).To(Equal(answer.Message))
			outcomes["refused"]++
		}
		if sync := after.Operation.Sync; len(answer.Pinned) > 0 {
			g.Expect(answer.Pinned).To(Equal([]string{sync.Revision}))
			outcomes["pinned"]++
		}
	}
	for range 5 { // each outcome is drawn in one of 20 writes, or more often
		rapid.Check(t, check)
	}
	if testing.Short() {
		return // rapid draws too few to meet every outcome
	}
	for _, outcome := range []string{"held", "refused", "allow", "not_gated", "pinned"} {
		NewWithT(t).Expect(outcomes[outcome]).To(BeNumerically(">", 0), "%s is never drawn: %v", outcome, outcomes)
	}
}

// previewOf is the Preview of an installation at noon, which has seen nothing before.
func previewOf(config settings.Config, c *scenario.Cluster, known scenario.Watched, texts slots.Texts) *Preview {
	return NewPreview(config, judge.Dependencies{
		Live: c, Known: known, Histories: &scenario.Watch{}, Clock: scenario.AtNoon,
	}, texts)
}

// drawWrite draws a rollout, and the write of an operation in it.
func drawWrite(r *rapid.T) (*scenario.Cluster, *scenario.Attempt) {
	state := func(name string) string {
		return rapid.SampledFrom([]string{
			"Healthy", "Healthy", "Degraded", "Progressing",
		}).Draw(r, name) + "@" + rapid.SampledFrom([]string{"a", "b", "b"}).Draw(r, name+" at")
	}
	c := scenario.Of(fmt.Sprintf("1:dev=%s 2:qa=%s 3:prod=%s", state("dev"), state("qa"), state("prod")))
	c.Sets[0].Annotations = rapid.SampledFrom([]map[string]string{
		nil, nil, nil, {settings.ModeAnnotation: "off"}, {settings.ModeAnnotation: "audit"},
		{settings.ModeAnnotation: "nonsense"}, {settings.RequireAnnotation: "health"},
		{settings.BypassAnnotation: scenario.Noon.Add(time.Hour).Format(time.RFC3339) + " INC-1"},
	}).Draw(r, "annotations")
	a := scenario.SyncOf(c, rapid.SampledFrom([]string{"dev", "qa", "prod", "prod"}).Draw(r, "target"))
	a.User = rapid.SampledFrom([]string{
		scenario.ApplicationSetController, scenario.ApplicationSetController, scenario.ArgoCDServer,
		scenario.ApplicationController, "jane",
	}).Draw(r, "user")
	op := a.After.Operation
	op.InitiatedBy.Automated = rapid.Bool().Draw(r, "automated")
	op.Retry.Refresh = rapid.Bool().Draw(r, "retry.refresh")
	op.Sync.Revision = rapid.SampledFrom([]string{
		"", "", scenario.Commit("a"), scenario.Commit("b"), "main",
	}).Draw(r, "revision")
	op.Sync.DryRun = rapid.IntRange(0, 9).Draw(r, "dry run") == 0
	if rapid.Bool().Draw(r, "sources") {
		op.Sync.Source = a.After.Spec.Source.DeepCopy()
	}
	if rapid.IntRange(0, 4).Draw(r, "spec") == 0 {
		a.After.Spec.Source.Path = "elsewhere"
	}
	if rapid.IntRange(0, 3).Draw(r, "recorded") == 0 {
		c.Sets[0].Status.ApplicationStatus = []argo.ApplicationSetApplicationStatus{
			{Application: a.After.Name, Step: "3", Status: "Progressing"},
		}
	}
	if rapid.Bool().Draw(r, "history") {
		a.Before.Status.History = argo.RevisionHistories{
			{Revision: scenario.Commit("a"), Source: *a.Before.Spec.Source}, {Revision: scenario.Commit("b"), Source: *a.Before.Spec.Source},
		}
	}
	return c, a
}

func drawConfig(r *rapid.T) settings.Config {
	config := scenario.Config()
	config.Mode = rapid.SampledFrom([]settings.Mode{settings.Enforce, settings.Enforce, settings.Audit}).Draw(r, "mode")
	config.Pin = rapid.SampledFrom([]settings.Pin{
		settings.PinCompared, settings.PinCompared, settings.PinCandidate,
	}).Draw(r, "pin")
	config.Hold, config.Release = rapid.Bool().Draw(r, "hold"), rapid.Bool().Draw(r, "release")
	config.Require = rapid.SampledFrom([]policy.Require{
		policy.RequireRevision, policy.RequireCompleted, policy.RequireHealth,
	}).Draw(r, "require")
	config.GateRollbacks = rapid.Bool().Draw(r, "gate rollbacks")
	return config
}

// What a Preview says of all Applications at once is what it says of each.
func TestThePreviewOfAllSyncsAgreesWithEach(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		g := NewWithT(t)
		c, _ := drawWrite(r)
		for _, app := range c.Apps {
			if rapid.Bool().Draw(r, app.Name+" OutOfSync") {
				app.Status.Sync.Status = "OutOfSync"
			}
		}
		config := scenario.Pinning()
		known := scenario.Watched{Cluster: c}
		preview := previewOf(config, c, known, nil)
		set, _ := known.Set(types.NamespacedName{Namespace: "argocd", Name: "guestbook"})
		waiting := preview.Outlook(set).ToCome()
		for _, app := range c.Apps {
			d, waits := waiting[app.Name]
			g.Expect(waits).To(Equal(app.Status.Sync.Status == "OutOfSync"), app.Name)
			if !waits {
				continue
			}
			answer, err := preview.Write(t.Context(), scenario.SyncOf(c, app.Name).Request())
			g.Expect(err).NotTo(HaveOccurred())
			if answer.Outcome == policy.NotGated {
				g.Expect(d.Outcome).To(Equal(policy.NotGated))
				continue
			}
			g.Expect(d.Outcome).To(Equal(answer.Outcome), "%s: %s, and alone %s", app.Name, d.Reason, answer.Reason)
			g.Expect(d.Blockers).To(HaveLen(len(answer.Blockers)))
		}
	})
}
