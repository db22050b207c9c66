// SPDX-License-Identifier: Apache-2.0

package release

import (
	"cmp"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	synccommon "github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/test/scenario"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/settings"
)

// retrying has an Application fail at a, since a minute ago, and wait for another attempt.
func retrying(t *testing.T, app *argo.Application) {
	t.Helper()
	undone(app)
	app.Operation = &argo.Operation{
		InitiatedBy: argo.OperationInitiator{Automated: true}, Retry: argo.RetryStrategy{Limit: 100},
		Sync: &argo.SyncOperation{Revision: scenario.Commit("a"), Source: app.Spec.Source},
	}
	app.Status.OperationState = &argo.OperationState{
		Phase: synccommon.OperationRunning, Operation: *app.Operation.DeepCopy(), RetryCount: 3,
		StartedAt:  metav1.NewTime(scenario.Noon.Add(-time.Minute)),
		FinishedAt: ptr.To(metav1.NewTime(scenario.Noon.Add(-time.Second))),
	}
	stampAs(t, app, "a")
}

// TestRetriesOfWhatHasBeenOvertakenEnd has prod retry a, and be compared with b.
func TestRetriesOfWhatHasBeenOvertakenEnd(t *testing.T) {
	prod := func(c *scenario.Cluster) *argo.Application { return c.Apps[2] }
	state := func(c *scenario.Cluster) *argo.OperationState { return prod(c).Status.OperationState }
	for name, tc := range map[string]struct {
		scenario string
		follows  bool
		mode     settings.Mode
		edit     func(*scenario.Cluster)
		want     bool
		deploys  string // b if it is empty
	}{
		"it is": {want: true},
		"the ApplicationSet controller has written another operation": {edit: func(c *scenario.Cluster) {
			prod(c).Operation = &argo.Operation{Sync: &argo.SyncOperation{Revision: scenario.Commit("b")}}
		}, want: true},
		"its sync options have changed, and not the revision": {
			edit: func(c *scenario.Cluster) {
				prod(c).Spec.SyncPolicy = &argo.SyncPolicy{SyncOptions: argo.SyncOptions{"ServerSideApply=true"}}
			},
			scenario: "1:dev=Healthy@a 2:qa=Healthy@a 3:prod=Healthy@a", want: true,
			deploys: policy.Short(scenario.Commit("a")) + ", with a spec that has changed",
		},
		"its destination has changed: the next attempt goes there": {
			edit: func(c *scenario.Cluster) {
				app := prod(c)
				app.Spec.Destination.Namespace = "elsewhere"
				app.Status.Sync.ComparedTo.Destination = app.Spec.Destination
			},
			scenario: "1:dev=Healthy@a 2:qa=Healthy@a 3:prod=Healthy@a",
		},
		"it is still what is due":            {scenario: "1:dev=Healthy@a 2:qa=Healthy@a 3:prod=Healthy@a"},
		"an earlier step is not done with b": {scenario: "1:dev=Degraded@b 2:qa=Healthy@b 3:prod=Healthy@b"},
		"its step is paused": {edit: func(c *scenario.Cluster) {
			c.Sets[0].Annotations = map[string]string{settings.PauseAnnotation: "3"}
		}},
		"its new spec is not compared":         {edit: func(c *scenario.Cluster) { prod(c).Spec.Source.Path = "elsewhere" }},
		"an attempt is under way":              {edit: func(c *scenario.Cluster) { state(c).FinishedAt = nil }},
		"it has not failed":                    {edit: func(c *scenario.Cluster) { state(c).RetryCount = 0 }},
		"it is being terminated":               {edit: func(c *scenario.Cluster) { state(c).Phase = synccommon.OperationTerminating }},
		"a person has started it":              {edit: func(c *scenario.Cluster) { state(c).Operation.InitiatedBy.Automated = false }},
		"it resolves its branch at each retry": {edit: func(c *scenario.Cluster) { state(c).Operation.Retry.Refresh = true }},
		"it names no revision":                 {edit: func(c *scenario.Cluster) { state(c).Operation.Sync.Revision = "" }},
		"nobody has pinned it":                 {edit: func(c *scenario.Cluster) { state(c).Operation.Info = nil }},
		"another replica leads":                {follows: true},
		"in audit mode":                        {mode: settings.Audit},
		"the strategy is another one":          {edit: func(c *scenario.Cluster) { c.Sets[0].Spec.Strategy.Type = "AllAtOnce" }},
		"nobody in Argo CD starts b":           {edit: func(c *scenario.Cluster) { applicationsSync(c, argo.ApplicationsSyncPolicyCreateOnly) }},
		"it is going away":                     {edit: func(c *scenario.Cluster) { prod(c).DeletionTimestamp = &metav1.Time{Time: scenario.Noon} }},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			if tc.scenario == "" {
				tc.scenario = "1:dev=Healthy@b 2:qa=Healthy@b 3:prod=Healthy@b"
			}
			c := scenario.Of(tc.scenario)
			retrying(t, prod(c))
			if tc.edit != nil {
				tc.edit(c)
			}
			recorded(c)
			config := scenario.Releasing()
			config.Mode = tc.mode
			r, starter := newReleasing(config, c), &starterFake{follows: tc.follows}
			r.StartWith(starter)
			r.Reconcile(guestbook)
			if !tc.want {
				g.Expect(starter.take()).To(BeEmpty())
				return
			}
			ends := []string{fmt.Sprintf("argocd/prod step 3 ends: it was about to try %s again, and step 3 of ApplicationSet "+
				"argocd/guestbook may deploy %s", policy.Short(scenario.Commit("a")), cmp.Or(tc.deploys, policy.Short(scenario.Commit("b"))))}
			g.Expect(starter.take()).To(Equal(ends))
			r.Reconcile(guestbook)
			g.Expect(starter.take()).To(BeEmpty(), "it was asked for")
			r.clock.Step(firstRestart)
			r.Reconcile(guestbook)
			g.Expect(starter.take()).To(Equal(ends), "and not seen")
		})
	}
}

// TestRetriesEndForACandidate has prod retry a on a train, and be compared with c, which dev does not have yet. What dev
// has completed since the first attempt takes its place.
func TestRetriesEndForACandidate(t *testing.T) {
	for name, tc := range map[string]struct {
		completed string
		at        time.Duration
		want      bool
	}{
		"dev has completed b since":                 {"b", -30 * time.Second, true},
		"dev had completed b before":                {"b", -time.Hour, false},
		"dev has been synced to a again, and is on": {"a", -30 * time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c := scenario.Of("1:dev=Progressing@c 3:prod=Healthy@c")
			prod := c.Apps[1]
			retrying(t, prod)
			recorded(c)
			config := scenario.Releasing()
			config.Pin, config.Start = settings.PinCandidate, true
			r, starter := newReleasing(config, c), &starterFake{}
			r.StartWith(starter)
			r.watch.OperatedAt = scenario.Noon.Add(tc.at)
			r.watch.Completed = map[string][]policy.Source{
				"dev": {{Key: argocd.SourceKey(prod.Spec.GetSource()), Revision: scenario.Commit(tc.completed)}},
			}
			r.Reconcile(guestbook)
			g.Expect(len(starter.take()) > 0).To(Equal(tc.want))
		})
	}
}

// TestRetriesWaitForAComparison has what holds b up compared again, as for a sync that waits.
func TestRetriesWaitForAComparison(t *testing.T) {
	g := NewWithT(t)
	c := scenario.Of("1:dev=Healthy@a 2:qa=Healthy@b 3:prod=Healthy@b")
	retrying(t, c.Apps[2])
	recorded(c)
	r := newReleasing(scenario.Releasing(), c)
	r.StartWith(&starterFake{})
	r.Reconcile(guestbook)
	r.clock.Step(time.Second)
	r.Reconcile(guestbook)
	g.Expect(r.refreshes.Take()).NotTo(BeEmpty())
}

// TestWhatSomebodyHasTerminatedIsNotAskedFor, and nobody is woken up for it. prod was to deploy a or b, and is compared
// with b.
func TestWhatSomebodyHasTerminatedIsNotAskedFor(t *testing.T) {
	for name, tc := range map[string]struct {
		revision, message string
		pending, want     bool
	}{
		"the same":                       {"b", "Operation terminated", false, false},
		"the same, and its turn is on":   {"b", "Operation terminated (retried 2 times).", true, false},
		"something else":                 {"a", "Operation terminated", true, true},
		"the same, after a long timeout": {"b", "Operation terminated, triggered by controller sync timeout", true, true},
		"the same, which has failed":     {"b", "one or more objects failed to apply", true, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c := scenario.Of("1:dev=Healthy@b 2:qa=Healthy@b 3:prod=Healthy@b")
			prod := c.Apps[2]
			retrying(t, prod)
			state := prod.Status.OperationState
			state.Operation.Sync.Revision = scenario.Commit(tc.revision)
			stampAs(t, prod, tc.revision)
			prod.Operation, state.Phase, state.Message = nil, synccommon.OperationFailed, tc.message
			if tc.pending {
				scenario.Pending(c, "prod")
			}
			recorded(c)
			r := newReleasing(scenario.Releasing(), c)
			g.Expect(len(r.until(time.Hour)) > 0).To(Equal(tc.want))
		})
	}
}

// stampAs gives the last operation of an Application the stamp of a revision.
func stampAs(t *testing.T, app *argo.Application, revision string) {
	t.Helper()
	other := app.DeepCopy()
	other.Operation = other.Status.OperationState.Operation.DeepCopy()
	other.Operation.Sync.Revision, other.Operation.Info = scenario.Commit(revision), nil
	text, err := json.Marshal(other)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	written, err := argocd.Decode(text)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	stamped, _ := argocd.Stamped(written, nil)
	app.Status.OperationState.Operation.Info = stamped.Operation.Info
}
