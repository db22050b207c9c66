// SPDX-License-Identifier: Apache-2.0

package release

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/argoproj/argo-cd/v3/common"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/test/scenario"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/settings"
)

// starterFake remembers what it was asked to start.
type starterFake struct {
	follows bool
	started []string
}

func (s *starterFake) Leads() bool { return !s.follows }

func (s *starterFake) Start(start Start) {
	text := fmt.Sprint(start.App, " ", policy.StepName(start.Step))
	if start.Altered {
		text += " altered"
	}
	if start.Terminates {
		text += " ends: " + start.Why
	}
	if start.Revisions != nil {
		text += " at " + policy.Short(start.Revisions[0])
	}
	s.started = append(s.started, text)
}

func (s *starterFake) take() []string {
	all := s.started
	s.started = nil
	return all
}

// undone has an Application OutOfSync with what it was compared with, which it has not deployed.
func undone(app *argo.Application) { app.Status.Sync.Status = "OutOfSync" }

// recorded has the ApplicationSet record every other Application as Healthy, as its controller does after a rollout.
func recorded(c *scenario.Cluster) {
	set := c.Sets[0]
	for _, app := range c.Apps {
		if !slices.ContainsFunc(set.Status.ApplicationStatus, func(s argo.ApplicationSetApplicationStatus) bool {
			return s.Application == app.Name
		}) {
			set.Status.ApplicationStatus = append(set.Status.ApplicationStatus, argo.ApplicationSetApplicationStatus{
				Application: app.Name, Step: app.Labels["step"], Status: "Healthy",
			})
		}
	}
}

// drifts has an Application OutOfSync although it has deployed b.
func drifts(app *argo.Application) {
	undone(app)
	app.Status.OperationState = &argo.OperationState{
		Phase: "Succeeded", Operation: argo.Operation{Sync: &argo.SyncOperation{}},
		FinishedAt: ptr.To(metav1.NewTime(scenario.Noon.Add(-time.Hour))),
		SyncResult: &argo.SyncOperationResult{Revision: scenario.Commit("b"), Source: app.Spec.GetSource()},
	}
}

// specWritten has the spec of an Application written.
func specWritten(app *argo.Application, at time.Time) {
	app.ManagedFields = []metav1.ManagedFieldsEntry{{
		Manager: "argocd", Time: ptr.To(metav1.NewTime(at)), FieldsV1: metav1.NewFieldsV1(`{"f:spec":{}}`),
	}}
}

// TestWhatIsDueIsStarted looks once, and once more when the time has come.
func TestWhatIsDueIsStarted(t *testing.T) {
	const open = "1:dev=Healthy@b 2:qa=Healthy@b 3:prod=Healthy@b"
	prod := func(c *scenario.Cluster) *argo.Application { return c.Apps[2] }
	failed := func(c *scenario.Cluster) *argo.OperationState {
		undone(prod(c))
		return &argo.OperationState{
			Phase: "Failed", Operation: argo.Operation{Sync: &argo.SyncOperation{}},
			SyncResult: &argo.SyncOperationResult{Revision: scenario.Commit("b"), Source: prod(c).Spec.GetSource()},
		}
	}
	for name, tc := range map[string]struct {
		scenario string
		follows  bool
		mode     settings.Mode
		// unrecorded says that the ApplicationSet records no other Application.
		unrecorded bool
		edit       func(*scenario.Cluster)
		// around is what was around the sources when prod was deployed.
		around string
		want   []string
		// after is when it is started.
		after time.Duration
	}{
		"the ApplicationSet controller asks for it": {edit: func(c *scenario.Cluster) { scenario.Pending(c, "prod") }, want: []string{"argocd/prod step 3"}},
		"it has asked in this second": {edit: func(c *scenario.Cluster) {
			scenario.Pending(c, "prod")
			c.Sets[0].Status.ApplicationStatus[0].LastTransitionTime = ptr.To(metav1.NewTime(scenario.Noon))
		}, want: []string{"argocd/prod step 3"}, after: time.Second},
		"it does not ask": {edit: func(c *scenario.Cluster) { undone(prod(c)) }, want: []string{"argocd/prod step 3"}, after: startGrace},
		"it was synced at this revision, with other sources": {edit: func(c *scenario.Cluster) {
			prod(c).Status.OperationState = failed(c)
			prod(c).Status.OperationState.SyncResult.Source.Path = "elsewhere"
		}, want: []string{"argocd/prod step 3"}, after: startGrace},
		"a sync of another revision has failed": {edit: func(c *scenario.Cluster) {
			prod(c).Status.OperationState = failed(c)
			prod(c).Status.OperationState.SyncResult.Revision = scenario.Commit("a")
		}, want: []string{"argocd/prod step 3"}, after: startGrace},

		"its destination has changed since": {around: "elsewhere", edit: func(c *scenario.Cluster) {
			prod(c).Status.OperationState = failed(c)
			prod(c).Status.OperationState.Phase = "Succeeded"
			specWritten(prod(c), scenario.Noon)
		}, want: []string{"argocd/prod step 3 altered"}, after: startGrace},

		"its destination had changed before its last sync": {around: "elsewhere", edit: func(c *scenario.Cluster) {
			prod(c).Status.OperationState = failed(c)
			prod(c).Status.OperationState.Phase = "Succeeded"
			prod(c).Status.OperationState.StartedAt = metav1.NewTime(scenario.Noon)
			specWritten(prod(c), scenario.Noon.Add(-time.Second))
		}},
		"its destination has changed, and its last sync has failed": {around: "elsewhere", edit: func(c *scenario.Cluster) {
			prod(c).Status.OperationState = failed(c)
			specWritten(prod(c), scenario.Noon)
		}},
		"its last sync has failed at that": {edit: func(c *scenario.Cluster) { prod(c).Status.OperationState = failed(c) }},
		"it is drift": {edit: func(c *scenario.Cluster) {
			prod(c).Status.OperationState = failed(c)
			prod(c).Status.OperationState.Phase = "Succeeded"
		}},
		"it is Synced": {},
		"somebody has rolled it back": {edit: func(c *scenario.Cluster) {
			app := prod(c)
			app.Status.OperationState = failed(c)
			app.Status.OperationState.Phase = "Succeeded"
			app.Status.OperationState.SyncResult.Revision = scenario.Commit("a")
			for _, r := range []string{"b", "a"} {
				app.Status.History = append(app.Status.History, argo.RevisionHistory{
					Revision: scenario.Commit(r), Source: app.Spec.GetSource(),
				})
			}
		}},
		"nobody in Argo CD starts it: progressive syncs are off, and somebody has switched automated sync off": {
			unrecorded: true, edit: func(c *scenario.Cluster) {
				undone(prod(c))
				prod(c).Spec.SyncPolicy = &argo.SyncPolicy{Automated: &argo.SyncPolicyAutomated{Enabled: ptr.To(false)}}
			},
		},
		"auto-sync starts it": {unrecorded: true, edit: autoSynced, want: []string{"argocd/prod step 3"}, after: startGrace},
		"the controller only creates": {edit: func(c *scenario.Cluster) {
			scenario.Pending(c, "prod")
			applicationsSync(c, argo.ApplicationsSyncPolicyCreateOnly)
		}},
		"the controller only creates and deletes": {edit: func(c *scenario.Cluster) {
			scenario.Pending(c, "prod")
			applicationsSync(c, argo.ApplicationsSyncPolicyCreateDelete)
		}},
		"the controller only creates, and auto-sync starts it": {edit: func(c *scenario.Cluster) {
			autoSynced(c)
			applicationsSync(c, argo.ApplicationsSyncPolicyCreateOnly)
		}, want: []string{"argocd/prod step 3"}, after: startGrace},
		"the controller creates and updates": {edit: func(c *scenario.Cluster) {
			scenario.Pending(c, "prod")
			applicationsSync(c, argo.ApplicationsSyncPolicyCreateUpdate)
		}, want: []string{"argocd/prod step 3"}},
		"no application controller runs it": {edit: func(c *scenario.Cluster) {
			scenario.Pending(c, "prod")
			prod(c).Annotations = map[string]string{common.AnnotationKeyAppSkipReconcile: "true"}
		}},
		"an application controller runs it": {edit: func(c *scenario.Cluster) {
			scenario.Pending(c, "prod")
			prod(c).Annotations = map[string]string{common.AnnotationKeyAppSkipReconcile: "false"}
		}, want: []string{"argocd/prod step 3"}},
		"everything is bypassed": {edit: func(c *scenario.Cluster) {
			undone(prod(c))
			bypass(c)
		}, want: []string{"argocd/prod step 3"}, after: startGrace},
		"everything is bypassed, and an earlier step is not done": {
			scenario: "1:dev=Degraded@b 2:qa=Healthy@b 3:prod=Healthy@b", edit: func(c *scenario.Cluster) {
				undone(prod(c))
				bypass(c)
			},
		},
		"another replica starts":      {follows: true, edit: func(c *scenario.Cluster) { undone(prod(c)) }},
		"in audit mode":               {mode: settings.Audit, edit: func(c *scenario.Cluster) { undone(prod(c)) }},
		"it syncs":                    {edit: func(c *scenario.Cluster) { undone(prod(c)); prod(c).Operation = &argo.Operation{} }},
		"an earlier step is not done": {scenario: "1:dev=Degraded@b 2:qa=Healthy@b 3:prod=Healthy@b", edit: func(c *scenario.Cluster) { undone(prod(c)) }},
		"maxUpdate is 0":              {edit: func(c *scenario.Cluster) { undone(prod(c)); atMost(c, intstr.FromInt32(0)) }},
		"the strategy is another one": {edit: func(c *scenario.Cluster) { undone(prod(c)); c.Sets[0].Spec.Strategy.Type = "AllAtOnce" }},
		"the ApplicationSet goes away": {edit: func(c *scenario.Cluster) {
			undone(prod(c))
			c.Sets[0].DeletionTimestamp = &metav1.Time{Time: scenario.Noon}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			if tc.scenario == "" {
				tc.scenario = open
			}
			c := scenario.Of(tc.scenario)
			if tc.edit != nil {
				tc.edit(c)
			}
			if !tc.unrecorded {
				recorded(c)
			}
			config := scenario.Releasing()
			config.Mode = tc.mode
			r, starter := newReleasing(config, c), &starterFake{follows: tc.follows}
			r.StartWith(starter)
			r.watch.Synced.Around = tc.around
			for _, at := range []time.Duration{0, time.Second, startGrace, 2 * time.Second} {
				r.clock.SetTime(scenario.Noon.Add(at))
				r.Reconcile(guestbook)
				if at >= tc.after && tc.want != nil {
					g.Expect(starter.take()).To(Equal(tc.want))
					break
				}
				g.Expect(starter.take()).To(BeEmpty(), at.String())
			}
			g.Expect(r.refreshes.Take()).To(BeEmpty(), "nobody is woken up for it")
		})
	}
}

// TestNothingGoesForwardAfterSomebodyWentBack: prod was synced to a by hand, two minutes ago, and was compared with b then.
// The history may have only the last entries.
func TestNothingGoesForwardAfterSomebodyWentBack(t *testing.T) {
	const before, after = -3 * time.Minute, -time.Minute
	admin := argo.OperationInitiator{Username: "admin"}
	operation := func(app *argo.Application) *argo.Operation { return &app.Status.OperationState.Operation }
	for name, tc := range map[string]struct {
		// since is when the ApplicationSet controller recorded prod with the status; Waiting if it is empty.
		since   time.Duration
		status  argo.ProgressiveSyncStatusCode
		edit    func(*argo.Application)
		starts  bool
		history string // overrides those that are tried
	}{
		"by kubectl":                    {since: before},
		"through argocd-server":         {since: before, edit: func(app *argo.Application) { operation(app).InitiatedBy = admin }},
		"b has come since":              {since: after, starts: true},
		"the spec has changed since":    {since: after, status: "Healthy", starts: true},
		"b was being synced, and ended": {since: after, status: "Progressing"},
		"in the same second":            {since: -2 * time.Minute},
		"it failed":                     {since: before, edit: func(app *argo.Application) { app.Status.OperationState.Phase = "Failed" }},
		"Argo CD was about to":          {since: before, status: "Pending", starts: true},
		"a controller has synced it":    {since: before, edit: func(app *argo.Application) { operation(app).InitiatedBy.Automated = true }, starts: true, history: "a"},
		"Argo CD syncs it by itself": {since: before, edit: func(app *argo.Application) {
			app.Spec.SyncPolicy = &argo.SyncPolicy{Automated: &argo.SyncPolicyAutomated{}}
		}, starts: true, history: "a"},
		"a dry run since": {since: before, edit: func(app *argo.Application) { operation(app).Sync.DryRun = true }},
		"a dry run since, of what ran b": {since: before, edit: func(app *argo.Application) {
			operation(app).Sync.DryRun = true
			app.Status.History[0].InitiatedBy.Automated = true
		}, starts: true, history: "c"},
	} {
		for _, history := range []string{"ba", "a", ""} {
			t.Run(name+" "+history, func(t *testing.T) {
				if tc.history != "" {
					history = tc.history
				}
				c := scenario.Of("1:dev=Healthy@b 3:prod=Healthy@b")
				prod := c.Apps[1]
				undone(prod)
				prod.Status.OperationState = &argo.OperationState{
					Phase: "Succeeded", Operation: argo.Operation{Sync: &argo.SyncOperation{}},
					StartedAt:  metav1.NewTime(scenario.Noon.Add(-2 * time.Minute)),
					FinishedAt: ptr.To(metav1.NewTime(scenario.Noon.Add(-110 * time.Second))),
					SyncResult: &argo.SyncOperationResult{Revision: scenario.Commit("a"), Source: prod.Spec.GetSource()},
				}
				for _, revision := range history {
					prod.Status.History = append(prod.Status.History, argo.RevisionHistory{
						Revision: scenario.Commit(string(revision)), Source: prod.Spec.GetSource(),
						DeployedAt: metav1.NewTime(scenario.Noon.Add(-110 * time.Second)),
					})
				}
				if tc.edit != nil {
					tc.edit(prod)
				}
				c.Sets[0].Status.ApplicationStatus = []argo.ApplicationSetApplicationStatus{{
					Application: "prod", Step: "3", Status: cmp.Or(tc.status, "Waiting"),
					LastTransitionTime: ptr.To(metav1.NewTime(scenario.Noon.Add(tc.since))),
				}}
				starts := tc.starts && (history != "ba" || tc.status == "Pending") // what it has run before has not come since
				NewWithT(t).Expect(startsIn(newReleasing(scenario.Releasing(), c), time.Minute)).To(Equal(starts))
			})
		}
	}
}

// TestATrainGoesOnAfterASyncByHand, but not to what was there before that: dev has completed b, prod ran a when somebody
// synced it by hand, and both were compared with c since.
func TestATrainGoesOnAfterASyncByHand(t *testing.T) {
	for name, tc := range map[string]struct {
		automated bool
		completed time.Duration
		want      bool
	}{
		"dev was synced to b since":               {completed: -time.Minute, want: true},
		"somebody may have gone back":             {completed: -time.Hour},
		"stepgate has started it, and b is older": {automated: true, completed: -time.Hour, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			c := scenario.Of("1:dev=Progressing@c 3:prod=Healthy@c")
			dev, prod := c.Apps[0], c.Apps[1]
			undone(prod)
			config, source := scenario.Releasing(), prod.Spec.GetSource()
			config.Pin, config.Start = settings.PinCandidate, true
			ran := func(revision string, at time.Duration) argo.RevisionHistory {
				return argo.RevisionHistory{
					Revision: scenario.Commit(revision), Source: source, DeployedAt: metav1.NewTime(scenario.Noon.Add(at)),
					InitiatedBy: argo.OperationInitiator{Username: argocd.Starter, Automated: tc.automated},
				}
			}
			dev.Status.History = argo.RevisionHistories{ran("a", -2*time.Hour), ran("b", tc.completed)}
			prod.Status.History = argo.RevisionHistories{ran("a", -2*time.Minute)}
			recorded(c)
			c.Sets[0].Status.ApplicationStatus[1].LastTransitionTime = ptr.To(metav1.NewTime(scenario.Noon.Add(-time.Minute)))
			r := newReleasing(config, c)
			r.watch.OperatedAt = scenario.Noon.Add(tc.completed)
			r.watch.Completed = map[string][]policy.Source{
				"dev": {{Key: argocd.SourceKey(source), Revision: scenario.Commit("b")}},
			}
			NewWithT(t).Expect(startsIn(r, time.Minute)).To(Equal(tc.want))
		})
	}
}

// startsIn reports whether a Releaser has anything started within a time.
func startsIn(r *releasing, within time.Duration) bool {
	starter := &starterFake{}
	r.StartWith(starter)
	for end := r.clock.Now().Add(within); r.clock.Now().Before(end) && len(starter.started) == 0; {
		r.Reconcile(guestbook)
		r.clock.Step(startGrace)
	}
	return len(starter.started) > 0
}

// autoSynced has Argo CD sync prod by itself, which has something to deploy.
func autoSynced(c *scenario.Cluster) {
	undone(c.Apps[2])
	c.Apps[2].Spec.SyncPolicy = &argo.SyncPolicy{Automated: &argo.SyncPolicyAutomated{}}
}

// applicationsSync says what the ApplicationSet controller does with Applications.
func applicationsSync(c *scenario.Cluster, policy argo.ApplicationsSyncPolicy) {
	c.Sets[0].Spec.SyncPolicy = &argo.ApplicationSetSyncPolicy{ApplicationsSync: &policy}
}

// bypass lets everything through for an hour.
func bypass(c *scenario.Cluster) {
	c.Sets[0].Annotations = map[string]string{
		settings.BypassAnnotation: scenario.Noon.Add(time.Hour).Format(time.RFC3339) + " INC-1",
	}
}

// atMost limits the last step.
func atMost(c *scenario.Cluster, limit intstr.IntOrString) {
	c.Sets[0].Spec.Strategy.RollingSync.Steps[2].MaxUpdate = &limit
}

// TestNoMoreAreStartedThanMaxUpdateSays with five Applications in the last step.
func TestNoMoreAreStartedThanMaxUpdateSays(t *testing.T) {
	for name, tc := range map[string]struct {
		limit *intstr.IntOrString
		edit  func(*scenario.Cluster)
		want  string
	}{
		"no limit":   {want: "a b c d e"},
		"two":        {limit: ptr.To(intstr.FromInt32(2)), want: "a b"},
		"half":       {limit: ptr.To(intstr.FromString("50%")), want: "a b"},
		"one of ten": {limit: ptr.To(intstr.FromString("10%")), want: "a"},
		"one syncs": {limit: ptr.To(intstr.FromInt32(2)), edit: func(c *scenario.Cluster) {
			c.Apps[5].Operation = &argo.Operation{}
		}, want: "a"},
		"one is Progressing since": {limit: ptr.To(intstr.FromInt32(2)), edit: func(c *scenario.Cluster) {
			c.Apps[5].Status.Health.Status, c.Apps[5].Status.Sync.Status = "Progressing", "Synced"
			c.Apps[5].Status.OperationState = &argo.OperationState{
				Phase:     "Succeeded",
				Operation: argo.Operation{InitiatedBy: argo.OperationInitiator{Username: argocd.Starter}},
			}
		}, want: "a"},
		"one that is being deleted is Progressing since": {limit: ptr.To(intstr.FromInt32(2)), edit: func(c *scenario.Cluster) {
			c.Apps[5].Status.Health.Status, c.Apps[5].DeletionTimestamp = "Progressing", ptr.To(metav1.NewTime(scenario.Noon))
			c.Apps[5].Status.OperationState = &argo.OperationState{
				Phase:     "Succeeded",
				Operation: argo.Operation{InitiatedBy: argo.OperationInitiator{Username: argocd.Starter}},
			}
		}, want: "a b"},
		"nobody knows why one is Progressing": {limit: ptr.To(intstr.FromInt32(2)), edit: func(c *scenario.Cluster) {
			c.Apps[5].Status.Health.Status, c.Apps[5].Status.Sync.Status = "Progressing", "Synced"
		}, want: "a b"},
		"one that is not generated any more is Progressing since": {limit: ptr.To(intstr.FromInt32(2)), edit: func(c *scenario.Cluster) {
			c.Apps[5].Status.Health.Status, c.Apps[5].Status.Sync.Status = "Progressing", "Synced"
			c.Sets[0].Status.ApplicationStatus = []argo.ApplicationSetApplicationStatus{
				{Application: "e", Step: "-1", Status: "Progressing"},
			}
		}, want: "a b"},
		"the controller is about to sync one": {limit: ptr.To(intstr.FromInt32(2)), edit: func(c *scenario.Cluster) {
			scenario.Pending(c, "e")
			c.Apps[5].Status.Sync.Status = "OutOfSync"
		}, want: "e a"},
		"it gives the slots away": {limit: ptr.To(intstr.FromInt32(2)), edit: func(c *scenario.Cluster) {
			c.Sets[0].Status.ApplicationStatus = []argo.ApplicationSetApplicationStatus{
				{Application: "dev", Step: "1", Status: "Healthy"}, {Application: "a", Step: "3", Status: "Waiting"},
				{Application: "b", Step: "3", Status: "Healthy"},
			}
		}, want: "b c"},
		"it opens the step soon": {limit: ptr.To(intstr.FromInt32(2)), edit: func(c *scenario.Cluster) {
			c.Sets[0].Status.ApplicationStatus = []argo.ApplicationSetApplicationStatus{
				{Application: "dev", Step: "1", Status: "Progressing"}, {Application: "a", Step: "3", Status: "Waiting"},
			}
		}, want: "b c"},
		"it never opens the step": {limit: ptr.To(intstr.FromInt32(2)), edit: func(c *scenario.Cluster) {
			drifts(c.Apps[0])
			c.Sets[0].Status.ApplicationStatus = []argo.ApplicationSetApplicationStatus{
				{Application: "dev", Step: "1", Status: "Progressing"}, {Application: "a", Step: "3", Status: "Waiting"},
			}
		}, want: "a b"},
		"it is about to sync three": {limit: ptr.To(intstr.FromInt32(2)), edit: func(c *scenario.Cluster) {
			scenario.Pending(c, "e")
			scenario.Pending(c, "c")
			scenario.Pending(c, "b")
		}, want: "b c"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c := scenario.Of("1:dev=Healthy@b 3:a=Healthy@b 3:b=Healthy@b 3:c=Healthy@b 3:d=Healthy@b 3:e=Healthy@b")
			for _, app := range c.Apps[1:] {
				undone(app)
			}
			c.Sets[0].Spec.Strategy.RollingSync.Steps[2].MaxUpdate = tc.limit
			if tc.edit != nil {
				tc.edit(c)
			}
			recorded(c)
			r, starter := newReleasing(scenario.Releasing(), c), &starterFake{}
			r.StartWith(starter)
			r.Reconcile(guestbook)
			r.clock.Step(startGrace)
			r.Reconcile(guestbook)
			var names []string
			for _, text := range starter.take() {
				name := strings.TrimSuffix(strings.TrimPrefix(text, "argocd/"), " step 3")
				if !slices.Contains(names, name) { // it is tried again
					names = append(names, name)
				}
			}
			g.Expect(strings.Join(names, " ")).To(Equal(tc.want))
			r.Reconcile(guestbook)
			g.Expect(starter.take()).To(BeEmpty(), "what is under way is not asked for again")
		})
	}
}

// TestNoSlotIsTakenWhileTheControllerGivesThemAway: it has given one away 25 s after a sync of another Application was
// due.
func TestNoSlotIsTakenWhileTheControllerGivesThemAway(t *testing.T) {
	for name, tc := range map[string]struct {
		status argo.ProgressiveSyncStatusCode
		ours   bool
		want   time.Duration
	}{
		"it has found one Healthy":                      {status: "Healthy", want: 55 * time.Second},
		"it has given a slot to one":                    {status: "Progressing", want: 55 * time.Second},
		"it has found one Healthy that stepgate synced": {status: "Healthy", ours: true, want: 30 * time.Second},
		"it lets one wait for a newer commit":           {status: "Waiting", want: 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c := scenario.Of("1:dev=Healthy@b 3:a=Healthy@b 3:b=Healthy@b")
			undone(c.Apps[1])
			atMost(c, intstr.FromInt32(1))
			if tc.ours {
				c.Apps[2].Status.OperationState = &argo.OperationState{
					Phase: "Succeeded", Operation: argo.Operation{InitiatedBy: argo.OperationInitiator{Username: argocd.Starter}},
				}
			}
			c.Sets[0].Status.ApplicationStatus = []argo.ApplicationSetApplicationStatus{
				{Application: "dev", Step: "1", Status: "Healthy"}, {Application: "a", Step: "3", Status: "Waiting"},
				{
					Application: "b", Step: "3", Status: tc.status,
					LastTransitionTime: ptr.To(metav1.NewTime(scenario.Noon.Add(25 * time.Second))),
				},
			}
			r, starter := newReleasing(scenario.Releasing(), c), &starterFake{}
			r.StartWith(starter)
			for range 100 {
				again := r.Reconcile(guestbook)
				if len(starter.take()) > 0 {
					break
				}
				r.clock.Step(min(again, time.Second))
			}
			g.Expect(r.clock.Now().Sub(scenario.Noon)).To(Equal(tc.want))
		})
	}
}

// TestASlotOfTheControllerForAMoment is not waited for any longer: it was about to open the step, and is not now.
func TestASlotOfTheControllerForAMoment(t *testing.T) {
	g := NewWithT(t)
	c := scenario.Of("1:dev=Healthy@b 3:a=Healthy@b")
	undone(c.Apps[1])
	atMost(c, intstr.FromInt32(1))
	c.Sets[0].Status.ApplicationStatus = []argo.ApplicationSetApplicationStatus{
		{Application: "dev", Step: "1", Status: "Progressing"}, {Application: "a", Step: "3", Status: "Waiting"},
	}
	r, starter := newReleasing(scenario.Releasing(), c), &starterFake{}
	r.StartWith(starter)
	g.Expect(r.Reconcile(guestbook)).To(BeNumerically(">", startGrace))
	r.clock.Step(startGrace)
	drifts(c.Apps[0])
	r.Reconcile(guestbook)
	g.Expect(starter.take()).To(Equal([]string{"argocd/a step 3"}))
}

// TestNewerCommitsDoNotPutTheFirstStepOff: Argo CD compares its Application every 4 s, and starts nothing.
func TestNewerCommitsDoNotPutTheFirstStepOff(t *testing.T) {
	g := NewWithT(t)
	c := scenario.Of("1:dev=Healthy@b")
	undone(c.Apps[0])
	c.Apps[0].Status.ReconciledAt = ptr.To(metav1.NewTime(scenario.Noon))
	recorded(c)
	r, starter := newReleasing(scenario.Releasing(), c), &starterFake{}
	r.StartWith(starter)
	for range 20 {
		r.Reconcile(guestbook)
		if len(starter.take()) > 0 {
			break
		}
		r.clock.Step(time.Second)
		if now := r.clock.Now(); now.Second()%4 == 0 {
			c.Apps[0].Status.ReconciledAt = ptr.To(metav1.NewTime(now))
			c.Apps[0].Status.Sync.Revision = scenario.Commit(string(rune('b' + now.Second()/4)))
		}
	}
	g.Expect(r.clock.Now().Sub(scenario.Noon)).To(Equal(overdueAfter + startGrace))
}

// TestNewerCommitsDoNotPutASlotOff: the ApplicationSet controller has 30 s to give one away. A commit lands every 12 s,
// and is compared with prod before it is with dev.
func TestNewerCommitsDoNotPutASlotOff(t *testing.T) {
	for name, tc := range map[string]struct {
		behind int // seconds
		want   time.Duration
	}{
		"dev is compared soon": {behind: 3, want: allotsWithin},
		"it takes long":        {behind: 11, want: 0},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c := scenario.Of("1:dev=Healthy@b 3:a=Healthy@b")
			undone(c.Apps[1])
			atMost(c, intstr.FromInt32(1))
			c.Sets[0].Status.ApplicationStatus = []argo.ApplicationSetApplicationStatus{
				{Application: "dev", Step: "1", Status: "Healthy"}, {Application: "a", Step: "3", Status: "Waiting"},
			}
			r, starter := newReleasing(scenario.Releasing(), c), &starterFake{}
			r.StartWith(starter)
			started := time.Duration(0)
			for s := 0; s < 60 && started == 0; s++ {
				revision := scenario.Commit(string(rune('b' + s/12)))
				c.Apps[1].Status.Sync.Revision = revision
				if s < 12 || s%12 >= tc.behind {
					c.Apps[0].Status.Sync.Revision = revision
				}
				r.Reconcile(guestbook)
				if len(starter.take()) > 0 {
					started = r.clock.Now().Sub(scenario.Noon)
				}
				r.clock.Step(time.Second)
			}
			g.Expect(started).To(Equal(tc.want))
		})
	}
}

// TestAStartThatDoesNotHelpIsTriedAgain more and more seldom, and Argo CD is woken up.
func TestAStartThatDoesNotHelpIsTriedAgain(t *testing.T) {
	g := NewWithT(t)
	c, r := prodMayStart()
	starter := &starterFake{}
	r.StartWith(starter)
	var at []time.Duration
	for end := scenario.Noon.Add(20 * time.Second); r.clock.Now().Before(end); {
		again := r.Reconcile(guestbook)
		if len(starter.take()) > 0 {
			at = append(at, r.clock.Now().Sub(scenario.Noon))
		}
		r.clock.Step(again)
	}
	g.Expect(at).To(Equal([]time.Duration{0, time.Second, 3 * time.Second, 7 * time.Second, 15 * time.Second}))
	g.Expect(r.refreshes.Take()).To(Equal([]string{prodReleased}))
	g.Expect(c.Apps).To(HaveLen(3))
}
