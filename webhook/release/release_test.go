// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	"github.com/argoproj/argo-cd/v3/common"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/test/scenario"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/judge"
	"github.com/stepgate/stepgate/webhook/record"
	"github.com/stepgate/stepgate/webhook/settings"
)

var guestbook = types.NamespacedName{Namespace: "argocd", Name: "guestbook"}

// releasing is a Releaser over a cluster, with a clock that stands still until it is moved.
type releasing struct {
	*Releaser
	clock     *clocktesting.FakeClock
	watch     *scenario.Watch
	blocked   *record.Waiting
	refreshes *scenario.Refreshes
}

func newReleasing(config settings.Config, c *scenario.Cluster) *releasing {
	r := &releasing{
		clock: clocktesting.NewFakeClock(scenario.Noon), watch: &scenario.Watch{At: 5}, refreshes: &scenario.Refreshes{},
	}
	r.blocked = record.NewWaiting(scenario.Watched{Cluster: c}, r.clock)
	j := judge.New(config, judge.Dependencies{Live: c, Histories: r.watch, Clock: r.clock})
	watched := scenario.Watched{Cluster: c}
	r.Releaser = New(j, watched, r.blocked, NewRequests(r.refreshes, watched, r.clock), func(time.Duration) time.Duration {
		return jitter
	})
	return r
}

// jitter is the random moment that a releasing waits for.
const jitter = 100 * time.Millisecond

// prodMayStart is a cluster in which prod waits, and nothing holds it up.
func prodMayStart() (*scenario.Cluster, *releasing) {
	c := scenario.Of("1:dev=Healthy@b 2:qa=Healthy@b 3:prod=Healthy@b")
	scenario.Pending(c, "prod")
	return c, newReleasing(scenario.Releasing(), c)
}

// until lets time pass from one reconciliation to the next, and returns what was asked for and when.
func (r *releasing) until(end time.Duration) (at []time.Duration) {
	for again := r.Reconcile(guestbook); again > 0; again = r.Reconcile(guestbook) {
		if len(r.refreshes.Take()) > 0 {
			at = append(at, r.clock.Now().Sub(scenario.Noon))
		}
		if r.clock.Step(again); r.clock.Now().After(scenario.Noon.Add(end)) {
			break
		}
	}
	return at
}

// TestReconcile looks once, and once more when what it wants is due.
func TestReconcile(t *testing.T) {
	const open = "1:dev=Healthy@b 2:qa=Healthy@b 3:prod=Healthy@b"
	prod := func(c *scenario.Cluster) *argo.Application { return c.Apps[2] }
	autoSynced := func(c *scenario.Cluster) {
		c.Sets[0].Status.ApplicationStatus = nil
		prod(c).Spec.SyncPolicy = &argo.SyncPolicy{Automated: &argo.SyncPolicyAutomated{SelfHeal: ptr.To(true)}}
		prod(c).Status.Sync.Status = "OutOfSync"
	}
	behind := func(c *scenario.Cluster) {
		c.Sets[0].Status.ApplicationStatus = []argo.ApplicationSetApplicationStatus{
			{Application: "prod", Step: "3", Status: "Healthy", TargetRevisions: []string{scenario.Commit("a")}},
		}
		prod(c).Status.Sync.Status = "OutOfSync"
		prod(c).Status.OperationState = &argo.OperationState{
			Phase: "Succeeded", Operation: argo.Operation{Sync: &argo.SyncOperation{}}, StartedAt: metav1.NewTime(scenario.Noon.Add(-time.Hour)),
		}
	}
	repeatable := func(c *scenario.Cluster) {
		c.Sets[0].Status.ApplicationStatus[0].LastTransitionTime = &metav1.Time{Time: scenario.Noon.Add(-time.Minute)}
		prod(c).Status.OperationState = &argo.OperationState{
			Phase: "Succeeded", Operation: argo.Operation{Sync: &argo.SyncOperation{}}, StartedAt: metav1.NewTime(scenario.Noon),
		}
	}
	reported := func(c *scenario.Cluster) {
		for _, app := range c.Apps {
			app.Annotations = map[string]string{common.AnnotationKeyAppSkipReconcile: "true"}
		}
	}
	for name, tc := range map[string]struct {
		scenario string
		config   func(*settings.Config)
		edit     func(*scenario.Cluster)
		want     []string
	}{
		"an agent reports all, and it may start":                          {edit: reported, want: []string{prodReleased}},
		"an agent reports all, and of a sibling another revision":         {scenario: "1:dev=Healthy@a 2:qa=Healthy@b 3:prod=Healthy@b", edit: reported},
		"an agent reports all, and nothing of the Application's new spec": {edit: func(c *scenario.Cluster) { reported(c); prod(c).Spec.Source.Path = "elsewhere" }},
		"it may start": {want: []string{prodReleased}},
		"a sibling is not healthy, and nobody can help": {edit: func(c *scenario.Cluster) { c.Apps[0].Status.Health.Status = health.HealthStatusDegraded }},
		"a sibling was compared too early":              {scenario: "1:dev=Healthy@a 2:qa=Healthy@b 3:prod=Healthy@b", want: []string{"argocd/dev NotCompleted compared to aaaaaaa, not bbbbbbb at 11:59:00"}},
		"a refresh of a sibling was overlooked": {scenario: "1:dev=Healthy@a 2:qa=Healthy@b 3:prod=Healthy@b", edit: func(c *scenario.Cluster) {
			c.Apps[0].Annotations = map[string]string{argo.AnnotationKeyRefresh: "normal"}
		}, want: []string{"argocd/dev again"}},
		"a refresh of a sibling that is done": {edit: func(c *scenario.Cluster) {
			c.Apps[0].Annotations = map[string]string{argo.AnnotationKeyRefresh: "normal"}
		}, want: []string{prodReleased}},
		"its own refresh was overlooked": {edit: func(c *scenario.Cluster) {
			prod(c).Annotations = map[string]string{argo.AnnotationKeyRefresh: "normal"}
		}, want: []string{"argocd/prod again"}},
		"a sibling's operation was overlooked": {edit: func(c *scenario.Cluster) { c.Apps[0].Operation = &argo.Operation{} }, want: []string{"argocd/dev its operation has not started at 11:59:00"}},
		"a sibling's operation runs": {edit: func(c *scenario.Cluster) {
			c.Apps[0].Operation, c.Apps[0].Status.OperationState = &argo.Operation{}, &argo.OperationState{Phase: "Running"}
		}},
		"it was not compared with its spec":         {edit: func(c *scenario.Cluster) { prod(c).Spec.Source.Path = "elsewhere" }, want: []string{"argocd/prod ContentUnknown at 11:59:00"}},
		"the controller has slept through a commit": {edit: behind, want: []string{prodReleased}},
		"that, and its turn has not come":           {edit: func(c *scenario.Cluster) { behind(c); c.Apps[0].Status.Health.Status = health.HealthStatusDegraded }},
		"the controller knows the commit": {edit: func(c *scenario.Cluster) {
			behind(c)
			c.Sets[0].Status.ApplicationStatus[0].TargetRevisions = []string{scenario.Commit("b")}
		}},
		"it has an operation": {edit: func(c *scenario.Cluster) { prod(c).Operation = &argo.Operation{} }},
		"its operation runs":  {edit: func(c *scenario.Cluster) { prod(c).Status.OperationState = &argo.OperationState{Phase: "Running"} }},
		"it is being deleted": {edit: func(c *scenario.Cluster) { prod(c).DeletionTimestamp = &metav1.Time{Time: scenario.Noon} }},
		"it is Waiting: Argo CD does not want it yet": {edit: func(c *scenario.Cluster) {
			c.Sets[0].Status.ApplicationStatus[0].Status, prod(c).Status.Sync.Status = "Waiting", "OutOfSync"
		}},
		"it is in the first step, and has waited for 5 s": {edit: func(c *scenario.Cluster) { prod(c).Labels["step"] = "1" }, want: []string{prodReleased}},
		"it has been synced, and nobody has noticed":      {edit: repeatable, want: []string{"argocd/prod AlreadySynced: it started at 12:00:00 at 11:59:00"}},
		"the same in the first step":                      {edit: func(c *scenario.Cluster) { repeatable(c); prod(c).Labels["step"] = "1" }, want: []string{"argocd/prod AlreadySynced: it started at 12:00:00 at 11:59:00"}},
		"audit mode":                                      {config: func(c *settings.Config) { c.Mode = settings.Audit }},
		"switched off":                                    {edit: func(c *scenario.Cluster) { c.Sets[0].Annotations = map[string]string{settings.ModeAnnotation: "off"} }},
		"the ApplicationSet is gone":                      {edit: func(c *scenario.Cluster) { c.Sets = nil }},
		"auto-sync has not deployed what it compared":     {edit: autoSynced, want: []string{prodReleased}},
		"auto-sync, and a sibling is not done":            {edit: func(c *scenario.Cluster) { autoSynced(c); c.Apps[0].Status.Health.Status = "Degraded" }},
		"auto-sync has deployed it: somebody changed it":  {edit: func(c *scenario.Cluster) { autoSynced(c); deployed(prod(c)) }},
		"bypassed": {
			edit: func(c *scenario.Cluster) {
				c.Apps[0].Status.Health.Status = health.HealthStatusDegraded
				c.Sets[0].Annotations = map[string]string{
					settings.BypassAnnotation: scenario.Noon.Add(time.Hour).Format(time.RFC3339) + " INC-1",
				}
			},
			want: []string{prodReleased},
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			line, config := open, scenario.Releasing()
			if tc.scenario != "" {
				line = tc.scenario
			}
			c := scenario.Of(line)
			scenario.Pending(c, "prod")
			if tc.config != nil {
				tc.config(&config)
			}
			if tc.edit != nil {
				tc.edit(c)
			}
			r := newReleasing(config, c)
			again := r.Reconcile(guestbook)
			g.Expect(r.refreshes.Take()).To(BeEmpty(), "nothing is asked for at once")
			if tc.want != nil {
				g.Expect(again).To(BeNumerically("<", reconcileEvery))
			}
			r.clock.Step(again)
			r.Reconcile(guestbook)
			g.Expect(r.refreshes.Take()).To(Equal(tc.want))
		})
	}
}

// deployed says that what it was compared with is deployed.
func deployed(app *argo.Application) {
	app.Status.History = argo.RevisionHistories{{Revision: app.Status.Sync.Revision, Source: *app.Spec.Source}}
}

// TestWhatTheControllerHasNotRecorded lets the ApplicationSet controller go by an old state of qa: it never starts
// prod.
func TestWhatTheControllerHasNotRecorded(t *testing.T) {
	const again = "argocd/qa the ApplicationSet controller has not recorded that it is done at 11:59:00"
	for name, tc := range map[string]struct {
		status argo.ProgressiveSyncStatusCode
		config func(*settings.Config)
		edit   func(c *scenario.Cluster, qa *argo.Application)
		want   []string
	}{
		"it is recorded as Progressing": {status: "Progressing", want: []string{again}},
		"it is recorded as Waiting":     {status: "Waiting", want: []string{again}},
		"it is recorded as Healthy":     {status: "Healthy"},
		"it is not Healthy":             {status: "Progressing", edit: func(_ *scenario.Cluster, qa *argo.Application) { qa.Status.Health.Status = "Progressing" }},
		"it is not Synced":              {status: "Progressing", edit: func(_ *scenario.Cluster, qa *argo.Application) { qa.Status.Sync.Status = "OutOfSync" }},
		"it has an operation":           {status: "Progressing", edit: func(_ *scenario.Cluster, qa *argo.Application) { qa.Operation = &argo.Operation{} }},
		"its operation runs": {status: "Progressing", edit: func(_ *scenario.Cluster, qa *argo.Application) {
			qa.Status.OperationState = &argo.OperationState{Phase: "Running"}
		}},
		"it is being deleted": {status: "Progressing", edit: func(_ *scenario.Cluster, qa *argo.Application) {
			qa.DeletionTimestamp = &metav1.Time{Time: scenario.Noon}
		}},
		"it is in no step": {status: "Progressing", edit: func(c *scenario.Cluster, _ *argo.Application) { c.Sets[0].Status.ApplicationStatus[0].Step = "-1" }},
		"audit mode":       {status: "Progressing", config: func(c *settings.Config) { c.Mode = settings.Audit }},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c := scenario.Of("1:dev=Healthy@b 2:qa=Healthy@b 3:prod=Healthy@b")
			c.Sets[0].Status.ApplicationStatus = []argo.ApplicationSetApplicationStatus{
				{Application: "qa", Step: "2", Status: tc.status},
			}
			config := scenario.Releasing()
			if tc.config != nil {
				tc.config(&config)
			}
			if tc.edit != nil {
				tc.edit(c, c.Apps[1])
			}
			r := newReleasing(config, c)
			if again := r.Reconcile(guestbook); tc.want == nil {
				g.Expect(again).To(BeZero(), "nothing waits")
			} else {
				g.Expect(again).To(Equal(unrecordedAfter + jitter))
			}
			g.Expect(r.refreshes.Take()).To(BeEmpty(), "it may be about to record it")
			r.clock.SetTime(scenario.Noon.Add(unrecordedAfter + jitter))
			r.Reconcile(guestbook)
			g.Expect(r.refreshes.Take()).To(Equal(tc.want))

			r.clock.Step(time.Second)
			r.Reconcile(guestbook)
			g.Expect(r.refreshes.Take()).To(BeEmpty(), "once")
		})
	}
}

// TestBackoff asks less and less often while that does not help, and at once when it opens again.
func TestBackoff(t *testing.T) {
	g := NewWithT(t)
	c, r := prodMayStart()
	var want []time.Duration
	next := jitter
	for _, wait := range []time.Duration{30, 60, 120, 240, 300, 300, 0} {
		want = append(want, next)
		next += wait*time.Second + jitter
	}
	g.Expect(r.until(18 * time.Minute)).To(Equal(want))

	c.Apps[0].Status.Health.Status = health.HealthStatusProgressing
	g.Expect(r.Reconcile(guestbook)).To(Equal(reconcileEvery), "it waits, and nothing is due")
	c.Apps[0].Status.Health.Status = health.HealthStatusHealthy
	g.Expect(r.Reconcile(guestbook)).To(Equal(jitter))
	c.Apps[2].Operation = &argo.Operation{}
	g.Expect(r.Reconcile(guestbook)).To(BeZero(), "it has started")
	g.Expect(r.sets).To(BeEmpty(), "nothing is remembered")
}

// TestItsTurnHasComeAgain lets the sync that was asked for be stopped, and its turn come again before the next
// reconciliation.
func TestItsTurnHasComeAgain(t *testing.T) {
	g := NewWithT(t)
	c, r := prodMayStart()
	prod := c.Apps[2]
	g.Expect(r.until(time.Second)).To(Equal([]time.Duration{jitter}))
	metrics := record.NewMetrics(prometheus.NewRegistry())
	recorder := record.NewRecorder(metrics, record.NewEvents(nil, metrics, logr.Discard(), "replica-1", r.judge.Clock),
		r.blocked)
	r.blocked.Wait(prod.UID, c.Sets[0].UID, policy.Decision{})
	r.clock.SetTime(scenario.Noon.Add(time.Second))
	g.Expect(r.Reconcile(guestbook)).To(BeNumerically(">", 20*time.Second), "a reconciliation alone is no new opening")
	for _, wait := range []time.Duration{2, 4, 8} {
		name := types.NamespacedName{Namespace: "argocd", Name: "prod"}
		asked := r.sets[guestbook].requests[needKey{app: name, why: turnHasCome, what: scenario.Commit("b")}].askedAt
		r.clock.SetTime(asked.Add(time.Second))
		recorder.Record(logr.Discard(), &judge.Write{
			UID: prod.UID, Owners: []argocd.Owner{{UID: c.Sets[0].UID}},
		}, judge.Verdict{}, true)
		g.Expect(r.Reconcile(guestbook)).To(Equal((wait - 1) * time.Second))
		r.clock.SetTime(asked.Add(wait * time.Second))
		r.Reconcile(guestbook)
		g.Expect(r.refreshes.Take()).To(HaveLen(1))
	}
}

// TestItsOperationHasJustEnded lets Argo CD compare dev in the second in which its operation ended, which does not
// count. A Queue makes a request with the same reason once per comparison.
func TestItsOperationHasJustEnded(t *testing.T) {
	g := NewWithT(t)
	c, r := prodMayStart()
	c.Apps[0].Status.ReconciledAt = &metav1.Time{Time: scenario.Noon}
	c.Apps[0].Status.OperationState = &argo.OperationState{
		Phase: "Failed", Operation: argo.Operation{Sync: &argo.SyncOperation{Revision: scenario.Commit("a")}}, FinishedAt: &metav1.Time{Time: scenario.Noon},
	}
	reasons := map[string]time.Duration{}
	for again := r.Reconcile(guestbook); r.clock.Now().Before(
		scenario.Noon.Add(8 * time.Second),
	); again = r.Reconcile(guestbook) {
		for _, reason := range r.refreshes.Take() {
			reasons[reason] = r.clock.Now().Sub(scenario.Noon)
		}
		r.clock.Step(again)
	}
	const reason = "argocd/dev NotCompleted compared in the second in which its last operation ended"
	g.Expect(reasons).To(Equal(map[string]time.Duration{
		reason + " at 12:00:00":            jitter,
		reason + ", request 2 at 12:00:00": jitter + time.Second + jitter,
		reason + ", request 3 at 12:00:00": jitter + 3*time.Second + 2*jitter,
		reason + ", request 4 at 12:00:00": jitter + 7*time.Second + 3*jitter,
	}))
}

// TestTheAnswerShowsThatItIsOne has dev compared again, at a time that tells the answer from the comparison before.
func TestTheAnswerShowsThatItIsOne(t *testing.T) {
	for name, tc := range map[string]struct {
		compared time.Duration // after noon
		want     time.Duration
	}{
		"it was compared in the second before": {-time.Second, jitter},
		"it was compared in this second":       {0, time.Second + jitter},
		"another clock is ahead":               {time.Hour, jitter},
	} {
		t.Run(name, func(t *testing.T) {
			_, r := devIsStale(tc.compared)
			NewWithT(t).Expect(r.until(10 * time.Second)).To(Equal([]time.Duration{tc.want}))
		})
	}
}

// devIsStale is a cluster in which prod waits for another comparison of dev, which was compared at a time after noon.
func devIsStale(compared time.Duration) (*scenario.Cluster, *releasing) {
	c := scenario.Of("1:dev=Healthy@a 2:qa=Healthy@b 3:prod=Healthy@b")
	scenario.Pending(c, "prod")
	c.Apps[0].Status.ReconciledAt = &metav1.Time{Time: scenario.Noon.Add(compared)}
	return c, newReleasing(scenario.Releasing(), c)
}

// TestARequestIsTakenAway makes it again soon, until dev was compared.
func TestARequestIsTakenAway(t *testing.T) {
	g := NewWithT(t)
	c, r := devIsStale(-time.Second)
	g.Expect(r.until(time.Second)).To(Equal([]time.Duration{jitter}))
	r.watch.Requested = r.watch.At + 1
	r.clock.SetTime(scenario.Noon.Add(jitter))
	for _, wait := range []time.Duration{1, 2, 4} {
		again := r.Reconcile(guestbook) // the watch has seen it go
		g.Expect(again).To(Equal(wait * time.Second))
		r.clock.Step(again)
		r.Reconcile(guestbook)
		g.Expect(r.refreshes.Take()).To(HaveLen(1))
	}
	c.Apps[0].Status.ReconciledAt = &metav1.Time{Time: r.clock.Now()}
	r.clock.Step(time.Second)
	g.Expect(r.Reconcile(guestbook)).To(BeNumerically(">", 20*time.Second), "it was answered, and that does not help")
}

// TestAnAnswerOfAnAgentComesTooSoon asks again when one counts.
func TestAnAnswerOfAnAgentComesTooSoon(t *testing.T) {
	g := NewWithT(t)
	c, r := devIsStale(-time.Second)
	c.Apps[0].ManagedFields = []metav1.ManagedFieldsEntry{
		{Manager: "argocd-agent", FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:reconciledAt":{}}}`)},
	}
	g.Expect(r.until(time.Second)).To(Equal([]time.Duration{jitter}))
	r.clock.SetTime(scenario.Noon.Add(jitter + time.Second))
	for range 3 {
		c.Apps[0].Status.ReconciledAt = &metav1.Time{Time: r.clock.Now()}
		again := r.Reconcile(guestbook)
		g.Expect(again).To(BeNumerically("~", relayedAfter, 1100*time.Millisecond))
		r.clock.Step(again)
		r.Reconcile(guestbook)
		g.Expect(r.refreshes.Take()).To(HaveLen(1))
	}
}

// TestOutOfSyncAfterItsSync lets Argo CD find dev OutOfSync in the second after its sync: it may not have seen what that
// changed. A comparison of the next 5 s would not count either.
func TestOutOfSyncAfterItsSync(t *testing.T) {
	g := NewWithT(t)
	c, r := prodMayStart()
	dev := &c.Apps[0].Status
	dev.Sync.Status, dev.ReconciledAt = argo.SyncStatusCodeOutOfSync, &metav1.Time{Time: scenario.Noon.Add(time.Second)}
	dev.OperationState = &argo.OperationState{
		Phase: "Succeeded", FinishedAt: &metav1.Time{Time: scenario.Noon}, Operation: argo.Operation{Sync: &argo.SyncOperation{}},
	}
	dev.History = argo.RevisionHistories{{
		Revision: dev.Sync.Revision, Source: *c.Apps[0].Spec.Source, DeployedAt: metav1.Time{Time: scenario.Noon},
	}}
	at := r.until(7 * time.Second)
	g.Expect(at).To(Equal([]time.Duration{6*time.Second + jitter}))
}

// TestEachCommitHasItsTurn lets commits land one after another, each of which prod may sync at once. A Queue makes a
// request with the same reason only a few times in half a minute, and so each commit is a reason of its own.
func TestEachCommitHasItsTurn(t *testing.T) {
	g := NewWithT(t)
	c, r := prodMayStart()
	for _, letter := range []string{"b", "c", "d", "e"} {
		for _, app := range c.Apps {
			app.Status.Sync.Revision = scenario.Commit(letter)
		}
		r.clock.Step(r.Reconcile(guestbook))
		r.Reconcile(guestbook)
		g.Expect(r.refreshes.Take()).To(ConsistOf(ContainSubstring("its turn has come: " + scenario.Commit(letter))))
	}
	g.Expect(r.clock.Now().Sub(scenario.Noon)).To(BeNumerically("<", 5*time.Second), "none waits for the last one's time")
}

// TestNobodyPolls asks for a need of a sibling that is not Synced only after Argo CD itself has not made one for
// long.
func TestNobodyPolls(t *testing.T) {
	g := NewWithT(t)
	c, r := prodMayStart()
	c.Apps[0].Status.Sync.Status = argo.SyncStatusCodeOutOfSync
	g.Expect(r.until(6 * time.Minute)).To(Equal([]time.Duration{
		4*time.Minute + jitter, 4*time.Minute + 30*time.Second + 2*jitter, 5*time.Minute + 30*time.Second + 3*jitter,
	}))

	c.Apps[0].Status.ReconciledAt = &metav1.Time{Time: r.clock.Now()}
	compared := r.clock.Now().Sub(scenario.Noon)
	g.Expect(r.until(20 * time.Minute)[0]).To(Equal(compared + unpolledAfter + jitter))
}

// TestTheOtherReplicaWasFaster sees a request before its own is due.
func TestTheOtherReplicaWasFaster(t *testing.T) {
	g := NewWithT(t)
	c := scenario.Of("1:dev=Healthy@b 2:qa=Healthy@b 3:prod=Healthy@b")
	scenario.Pending(c, "prod")
	r := newReleasing(scenario.Releasing(), c)
	r.clock.Step(r.Reconcile(guestbook))
	r.watch.Requested = r.watch.At + 1
	r.watch.At++
	again := r.Reconcile(guestbook)
	g.Expect(r.refreshes.Take()).To(BeEmpty())
	r.clock.Step(again)
	r.Reconcile(guestbook)
	g.Expect(r.refreshes.Take()).To(HaveLen(1), "it did not help")
}

// TestAFollowerLeavesRequestsToTheLeader for a second longer, each time, and no longer.
func TestAFollowerLeavesRequestsToTheLeader(t *testing.T) {
	g := NewWithT(t)
	c := scenario.Of("1:dev=Healthy@b 2:qa=Healthy@b 3:prod=Healthy@b")
	scenario.Pending(c, "prod")
	r, leads := newReleasing(scenario.Releasing(), c), false
	r.FollowUnless(func() bool { return leads })
	g.Expect(r.Reconcile(guestbook)).To(Equal(followedAfter + jitter))
	r.clock.Step(followedAfter + jitter)
	r.watch.Requested = r.watch.At + 1
	r.watch.At++
	again := r.Reconcile(guestbook)
	g.Expect(r.refreshes.Take()).To(BeEmpty(), "the leader has asked")
	g.Expect(again).To(Equal(firstBackoff + followedAfter + jitter))
	r.clock.Step(again)
	again = r.Reconcile(guestbook)
	g.Expect(r.refreshes.Take()).To(HaveLen(1), "the leader is gone")
	leads = true
	r.watch.Requested = r.watch.At + 1 // this is its own
	r.watch.At++
	r.clock.Step(again)
	r.Reconcile(guestbook)
	g.Expect(r.refreshes.Take()).To(HaveLen(1), "its own request is nobody else's")
}

// TestArgoCDComparesByItself what it has just synced: a request before that would be one comparison more.
func TestArgoCDComparesByItself(t *testing.T) {
	g := NewWithT(t)
	c, r := prodMayStart()
	dev := &c.Apps[0].Status
	dev.ReconciledAt = &metav1.Time{Time: scenario.Noon.Add(-time.Minute)}
	dev.OperationState = &argo.OperationState{
		Phase: "Succeeded", FinishedAt: &metav1.Time{Time: scenario.Noon}, Operation: argo.Operation{Sync: &argo.SyncOperation{}},
		SyncResult: &argo.SyncOperationResult{Revision: dev.Sync.Revision, Source: c.Apps[0].Spec.GetSource()},
	}
	dev.History = argo.RevisionHistories{{
		Revision: dev.Sync.Revision, Source: *c.Apps[0].Spec.Source, DeployedAt: metav1.Time{Time: scenario.Noon},
	}}
	g.Expect(r.until(4 * time.Second)[0]).To(Equal(comparedAfter + jitter))
}

// TestAnAnsweredRequestIsNotMadeAgain lets Argo CD answer, and nothing else happen for a while.
func TestAnAnsweredRequestIsNotMadeAgain(t *testing.T) {
	g := NewWithT(t)
	c := scenario.Of("1:dev=Healthy@b 2:qa=Healthy@b 3:prod=Healthy@b")
	scenario.Pending(c, "prod")
	r := newReleasing(scenario.Releasing(), c)
	r.clock.Step(r.Reconcile(guestbook))
	r.Reconcile(guestbook)
	g.Expect(r.refreshes.Take()).To(HaveLen(1))
	c.Apps[2].Annotations = map[string]string{argo.AnnotationKeyRefresh: "normal"}
	r.clock.Step(time.Second)
	r.Reconcile(guestbook)
	c.Apps[2].Annotations = nil
	for range 10 {
		r.clock.Step(time.Second)
		r.Reconcile(guestbook)
	}
	g.Expect(r.refreshes.Take()).To(BeEmpty())
}

// TestNotBefore has a rule that denies until a time.
func TestNotBefore(t *testing.T) {
	g := NewWithT(t)
	c := scenario.Of("1:dev=Healthy@b 2:qa=Healthy@b 3:prod=Healthy@b")
	scenario.Pending(c, "prod")
	r := newReleasing(scenario.Releasing(), c)
	opens := scenario.Noon.Add(90 * time.Second)
	r.weigh = func(in policy.Input, open policy.Decision) policy.Decision {
		d := policy.Weigh(in, open)
		if r.clock.Now().Before(opens) {
			d.Outcome, d.NotBefore = policy.Deny, opens
		}
		return d
	}
	g.Expect(r.Reconcile(guestbook)).To(Equal(90 * time.Second))
	g.Expect(r.refreshes.Take()).To(BeEmpty())
	g.Expect(r.until(2 * time.Minute)).To(Equal([]time.Duration{90*time.Second + 100*time.Millisecond}))
}

// TestOnlyTheFirstBlockerIsLookedAt lets a hundred Applications wait for one that is broken.
func TestOnlyTheFirstBlockerIsLookedAt(t *testing.T) {
	g := NewWithT(t)
	c := scenario.Of("1:dev=Degraded 1:eu=Degraded 3:prod=Healthy@b")
	scenario.Pending(c, "prod")
	r := newReleasing(scenario.Releasing(), c)
	evaluated := 0
	r.weigh = func(in policy.Input, open policy.Decision) policy.Decision {
		evaluated++
		return policy.Weigh(in, open)
	}
	for range 3 {
		r.Reconcile(guestbook)
	}
	g.Expect(evaluated).To(Equal(1))
	c.Apps[0].Status.Health.Status = health.HealthStatusHealthy
	r.Reconcile(guestbook)
	g.Expect(evaluated).To(Equal(2), "dev is done, eu is not")
}

// TestWhatIsHeldIsReleasedWhenTheGateIsSwitchedOff is the way out at night.
func TestWhatIsHeldIsReleasedWhenTheGateIsSwitchedOff(t *testing.T) {
	for _, mode := range []string{"off", "audit"} {
		t.Run(mode, func(t *testing.T) {
			g := NewWithT(t)
			c := scenario.Of("1:dev=Degraded 3:prod=Healthy")
			scenario.Pending(c, "prod")
			r := newReleasing(scenario.Releasing(), c)
			r.Reconcile(guestbook)
			c.Sets[0].Annotations = map[string]string{settings.ModeAnnotation: mode}
			r.clock.Step(r.Reconcile(guestbook))
			r.Reconcile(guestbook)
			g.Expect(r.refreshes.Take()).To(HaveLen(1))
		})
	}
}

// TestTheEarliestTimeCounts lets one Application wait for a time, and a later one for a sibling.
func TestTheEarliestTimeCounts(t *testing.T) {
	g := NewWithT(t)
	c := scenario.Of("1:dev=Degraded@b 3:east=Healthy@b 3:prod=Healthy@b")
	scenario.Pending(c, "east", "prod")
	r := newReleasing(scenario.Releasing(), c)
	r.weigh = func(in policy.Input, open policy.Decision) policy.Decision {
		d := policy.Weigh(in, open)
		if in.Target.Name == "east" {
			d.Blockers, d.NotBefore = nil, scenario.Noon.Add(90*time.Second)
		}
		return d
	}
	g.Expect(r.Reconcile(guestbook)).To(Equal(90 * time.Second))
}

// TestTheTrainIsReleasedAtWhatQualifies lets dev go on to c while prod waits for b.
func TestTheTrainIsReleasedAtWhatQualifies(t *testing.T) {
	g := NewWithT(t)
	c := scenario.Of("1:dev=Progressing@c 3:prod=Healthy@c")
	scenario.Pending(c, "prod")
	config := scenario.Releasing()
	config.Pin, config.Start = settings.PinCandidate, true
	source := *c.Apps[1].Spec.Source
	for i, ran := range []string{"ab", "a"} {
		for _, revision := range ran {
			c.Apps[i].Status.History = append(c.Apps[i].Status.History, argo.RevisionHistory{
				Revision: scenario.Commit(string(revision)), Source: source, InitiatedBy: argo.OperationInitiator{Automated: true},
			})
		}
	}
	c.Apps[1].Status.Sync.Status = "OutOfSync"
	r := newReleasing(config, c)
	r.Reconcile(guestbook)
	g.Expect(r.sets[guestbook].blockedBy).To(Equal(map[string]string{"prod": "dev"}), "nobody has seen dev complete b")
	r.watch.Completed = map[string][]policy.Source{
		"dev": {{Key: argocd.SourceKey(source), Revision: scenario.Commit("b")}},
	}
	r.clock.Step(r.Reconcile(guestbook))
	r.Reconcile(guestbook)
	g.Expect(r.refreshes.Take()).To(Equal([]string{prodReleased}))
}

// TestController collects changes, and looks again by itself.
func TestController(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		c := scenario.Of("1:dev=Healthy@b 2:qa=Healthy@b 3:prod=Healthy@b")
		scenario.Pending(c, "prod")
		watched, refreshes := scenario.Watched{Cluster: c}, &scenario.Refreshes{}
		j := judge.New(scenario.Releasing(), judge.Dependencies{
			Live: c, Histories: &scenario.Watch{}, Clock: clock.RealClock{},
		})
		r := NewController(New(j, watched, record.NewWaiting(watched, clock.RealClock{}),
			NewRequests(refreshes, watched, clock.RealClock{}), rand.N[time.Duration]).Reconcile)
		done := make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		go func() { r.Run(ctx); close(done) }()
		for range 10 {
			r.Changed(guestbook)
		}
		<-time.After(settle + spread + time.Second)
		synctest.Wait()
		g.Expect(refreshes.Take()).To(HaveLen(1))
		<-time.After(40 * time.Second)
		synctest.Wait()
		g.Expect(refreshes.Take()).To(HaveLen(1))
		cancel()
		<-done
	})
}

// TestWhatWasHeldAfterASwitchToAudit is released, unless the watches show that it has got through. Nobody collects the
// metrics.
func TestWhatWasHeldAfterASwitchToAudit(t *testing.T) {
	for name, others := range map[string]int{
		"nobody else waits": 0, "as many wait already as are remembered": 10_000,
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c, r := prodMayStart()
			prod, b := c.Apps[2], r.blocked
			for i := range others {
				b.Wait(types.UID(fmt.Sprint("gone-", i)), "set", policy.Decision{})
			}
			b.Wait(prod.UID, c.Sets[0].UID, policy.Decision{})
			r.judge.Config.Mode = settings.Audit
			r.judge.Parser = settings.NewParser(r.judge.Config, r.judge.Clock)
			r.clock.Step(r.Reconcile(guestbook))
			r.Reconcile(guestbook)
			g.Expect(r.refreshes.Take()).To(Equal([]string{prodReleased}))

			prod.Operation = &argo.Operation{}
			r.Reconcile(guestbook)
			g.Expect(b.Waits(prod.UID)).To(BeFalse(), "it has got through")
		})
	}
}
