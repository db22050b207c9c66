// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"testing"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stepgate/stepgate/test/scenario"
	"github.com/stepgate/stepgate/webhook/argocd"
)

// TestTheWatchDecides has dev and prod of different repositories: only a comparison of dev that is known to be newer
// than the change to prod shows that dev has seen its own.
func TestTheWatchDecides(t *testing.T) {
	answered := map[string]uint64{"dev": 5}
	for name, tc := range map[string]struct {
		watch       *scenario.Watch
		edit        func(*scenario.Attempt)
		wantAllowed bool
	}{
		"dev was never refreshed":                {watch: &scenario.Watch{ChangedAt: 3, At: 9}},
		"dev was refreshed since":                {watch: &scenario.Watch{ChangedAt: 3, At: 9, Fresh: answered}, wantAllowed: true},
		"dev was refreshed before":               {watch: &scenario.Watch{ChangedAt: 7, At: 9, Fresh: answered}},
		"another Application was refreshed":      {watch: &scenario.Watch{ChangedAt: 3, At: 9, Fresh: map[string]uint64{"qa": 5}}},
		"the operation names another revision":   {watch: &scenario.Watch{ChangedAt: 3, At: 9, Fresh: answered}, edit: func(a *scenario.Attempt) { a.After.Operation.Sync.Revision = scenario.Commit("c") }},
		"the spec changes in the same write":     {watch: &scenario.Watch{ChangedAt: 3, At: 9, Fresh: answered}, edit: func(a *scenario.Attempt) { a.After.Spec.Source.Path = "elsewhere" }},
		"another revision, and dev is refreshed": {watch: &scenario.Watch{ChangedAt: 3, At: 4, Fresh: answered}, edit: func(a *scenario.Attempt) { a.After.Operation.Sync.Revision = scenario.Commit("c") }, wantAllowed: true},
	} {
		t.Run(name, func(t *testing.T) {
			c := scenario.Of("1:dev=Healthy@a 3:prod=Healthy@b")
			own := "https://git.example.com/prod.git"
			c.Apps[1].Spec.Source.RepoURL, c.Apps[1].Status.Sync.ComparedTo.Source.RepoURL = own, own
			write := scenario.SyncOf(c, "prod")
			if tc.edit != nil {
				tc.edit(write)
			}
			trial := newTrial(scenario.Config(), c)
			trial.judge.Histories = tc.watch
			NewWithT(t).Expect(trial.handle(write.Request()).Allowed).To(Equal(tc.wantAllowed))
		})
	}
}

// TestAWishThatWasNotComparedIsRemembered names a commit that prod was not compared with. The first request tells since
// when dev has to be compared: the second one, after the refresh that the first has asked for, is allowed.
func TestAWishThatWasNotComparedIsRemembered(t *testing.T) {
	g := NewWithT(t)
	c := scenario.Of("1:dev=Healthy@a 3:prod=Healthy@b")
	own := "https://git.example.com/prod.git"
	c.Apps[1].Spec.Source.RepoURL, c.Apps[1].Status.Sync.ComparedTo.Source.RepoURL = own, own
	write := scenario.SyncOf(c, "prod")
	write.After.Operation.Sync.Revision = scenario.Commit("c")
	config := scenario.Config()
	config.Release = true
	trial := newTrial(config, c)
	watch := &scenario.Watch{At: 9, Fresh: map[string]uint64{"dev": 5}}
	trial.judge.Histories = watch

	g.Expect(trial.handle(write.Request()).Allowed).To(BeFalse())
	g.Expect(trial.refreshes.Take()).To(HaveLen(1))
	watch.At, watch.Fresh["dev"] = 12, 11
	g.Expect(trial.handle(write.Request()).Allowed).To(BeTrue())

	write.After.Operation.Sync.Revision = scenario.Commit("d")
	g.Expect(trial.handle(write.Request()).Allowed).To(BeFalse(), "another wish")
	write.DryRun = true
	write.After.Operation.Sync.Revision = scenario.Commit("e")
	g.Expect(trial.handle(write.Request()).Allowed).To(BeFalse())
	watch.At, watch.Fresh["dev"] = 14, 13
	g.Expect(trial.handle(write.Request()).Allowed).To(BeFalse(), "a server dry-run leaves nothing behind")
}

// TestSelfHealOfWhatWasNeverSynced has prod Synced with a commit that does not touch it, and then somebody changes the
// cluster. dev is still rolling that commit out.
func TestSelfHealOfWhatWasNeverSynced(t *testing.T) {
	for name, tc := range map[string]struct {
		seen        bool
		edit        func(*scenario.Attempt)
		wantAllowed bool
	}{
		"it was seen Synced":             {seen: true, wantAllowed: true},
		"it was not":                     {},
		"an operation was not seen":      {seen: true, edit: func(a *scenario.Attempt) { a.Before.Status.OperationState.StartedAt = metav1.NewTime(scenario.Noon) }},
		"another revision":               {seen: true, edit: func(a *scenario.Attempt) { a.After.Operation.Sync.Revision = scenario.Commit("c") }},
		"another source":                 {seen: true, edit: func(a *scenario.Attempt) { a.After.Operation.Sync.Source.Path = "elsewhere" }},
		"no source: the newest spec":     {seen: true, edit: func(a *scenario.Attempt) { a.After.Operation.Sync.Source = nil }},
		"the spec changes in that write": {seen: true, edit: func(a *scenario.Attempt) { a.After.Spec.Destination.Namespace = "elsewhere" }},
		"no revision: the newest in git": {seen: true, edit: func(a *scenario.Attempt) { a.After.Operation.Sync.Revision = "" }},
	} {
		t.Run(name, func(t *testing.T) {
			c := scenario.Of("1:dev=Progressing@b 3:prod=Healthy@b")
			write := scenario.SyncOf(c, "prod")
			write.After.Operation.Sync.Revision, write.After.Operation.Sync.Source = scenario.Commit("b"),
				write.Before.Spec.Source.DeepCopy()
			operated := metav1.NewTime(scenario.Noon.Add(-time.Hour))
			write.Before.Status.OperationState = &argo.OperationState{
				Phase: "Succeeded", StartedAt: operated, FinishedAt: &operated,
			}
			trial := newTrial(scenario.Config(), c)
			watch := &scenario.Watch{OperatedAt: operated.Time}
			if tc.seen {
				watch.Synced = argocd.NewProjection(write.Before).Content
			}
			if tc.edit != nil {
				tc.edit(write)
			}
			trial.judge.Histories = watch
			NewWithT(t).Expect(trial.asWritten(write.Request()).Allowed).To(Equal(tc.wantAllowed))
		})
	}
}
