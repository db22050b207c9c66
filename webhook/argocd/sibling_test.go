// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"slices"
	"testing"
	"time"

	synccommon "github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stepgate/stepgate/policy"
)

// projected is the projection of application().
func projected() policy.Application {
	return policy.Application{
		Name: "dev", Labels: map[string]string{"env": "dev"}, Health: "Healthy", SyncStatus: "Synced",
		SpecCompared: true, ReconciledAt: at(100).Time,
		Compared:      []policy.Source{{Key: repoKey, Revision: newCommit}},
		LastOperation: policy.LastOperation{Phase: "Succeeded", StartedAt: at(40).Time, FinishedAt: at(50).Time},
		LastFull:      policy.FullSync{Phase: "Succeeded", StartedAt: at(40).Time, FinishedAt: at(50).Time, AtCompared: true, SameSources: true},
		LastSync:      policy.LastSync{FinishedAt: at(50).Time, AtCompared: true, SameSources: true, Since: at(50).Time},
		Ran:           []policy.Source{{Key: repoKey, Revision: oldCommit}, {Key: repoKey, Revision: newCommit}},
	}
}

// TestSibling changes one thing of an Application and wants one change of its projection.
func TestSibling(t *testing.T) {
	fromHistory := policy.LastSync{FinishedAt: at(49).Time, AtCompared: true, SameSources: true}
	for name, row := range map[string]struct {
		edit func(*argo.Application)
		want func(*policy.Application)
	}{
		"nothing":                     {edit: func(*argo.Application) {}, want: func(*policy.Application) {}},
		"a normal refresh":            {edit: refresh("normal"), want: func(p *policy.Application) { p.RefreshRequested = true }},
		"a hard refresh":              {edit: refresh("hard"), want: func(p *policy.Application) { p.RefreshRequested = true }},
		"a refresh that says nothing": {edit: refresh(""), want: func(p *policy.Application) { p.RefreshRequested = true }},
		"an operation":                {edit: func(a *argo.Application) { a.Operation = &argo.Operation{} }, want: func(p *policy.Application) { p.OperationSet = true }},
		"an operation that has cleared the last result": {
			edit: func(a *argo.Application) { a.Operation, a.Status.OperationState = &argo.Operation{}, nil },
			want: func(p *policy.Application) {
				p.OperationSet, p.LastOperation, p.LastFull = true, policy.LastOperation{}, policy.FullSync{}
				p.LastSync = fromHistory
			},
		},
		"being deleted":    {edit: func(a *argo.Application) { a.DeletionTimestamp = at(7) }, want: func(p *policy.Application) { p.Deleting = true }},
		"never reconciled": {edit: func(a *argo.Application) { a.Status.ReconciledAt = nil }, want: func(p *policy.Application) { p.ReconciledAt = time.Time{} }},
		"no health":        {edit: func(a *argo.Application) { a.Status.Health.Status = "" }, want: func(p *policy.Application) { p.Health = "" }},
		"OutOfSync":        {edit: func(a *argo.Application) { a.Status.Sync.Status = "OutOfSync" }, want: func(p *policy.Application) { p.SyncStatus = "OutOfSync" }},
		"no labels":        {edit: func(a *argo.Application) { a.Labels = nil }, want: func(p *policy.Application) { p.Labels = nil }},
		"it runs": {edit: running, want: func(p *policy.Application) {
			p.LastOperation, p.LastFull = policy.LastOperation{Phase: "Running", StartedAt: at(40).Time}, policy.FullSync{}
			p.LastSync = fromHistory
		}},
		"never operated": {edit: func(a *argo.Application) { a.Status.OperationState = nil }, want: func(p *policy.Application) {
			p.LastOperation, p.LastFull = policy.LastOperation{}, policy.FullSync{}
			p.LastSync = fromHistory
		}},
		"an operation that is no sync": {edit: func(a *argo.Application) { a.Status.OperationState.Operation.Sync = nil }, want: func(p *policy.Application) { p.LastFull = policy.FullSync{}; p.LastSync = fromHistory }},
		"a dry run": {
			edit: func(a *argo.Application) { a.Status.OperationState.Operation.Sync.DryRun = true },
			want: func(p *policy.Application) { p.LastFull = policy.FullSync{}; p.LastSync = fromHistory },
		},
		"a partial sync": {
			edit: func(a *argo.Application) {
				a.Status.OperationState.Operation.Sync.Resources = []argo.SyncOperationResource{{Kind: "ConfigMap", Name: "one"}}
			},
			want: func(p *policy.Application) { p.LastFull = policy.FullSync{}; p.LastSync = fromHistory },
		},
		"a sync that failed": {
			edit: func(a *argo.Application) { a.Status.OperationState.Phase = "Failed" },
			want: func(p *policy.Application) {
				p.LastOperation.Phase, p.LastFull.Phase, p.LastSync = "Failed", "Failed", fromHistory
			},
		},
		"a sync that came to its PostSync hooks": {
			edit: func(a *argo.Application) {
				a.Status.OperationState.SyncResult.Resources = argo.ResourceResults{
					{Kind: "ConfigMap", SyncPhase: "Sync"}, nil, {Kind: "Job", SyncPhase: "PostSync"},
				}
			},
			want: func(p *policy.Application) { p.LastFull.Applied = true },
		},
		"a sync that came to its resources": {
			edit: func(a *argo.Application) {
				a.Status.OperationState.SyncResult.Resources = argo.ResourceResults{
					{Kind: "Job", SyncPhase: "PreSync"}, {Kind: "ConfigMap", SyncPhase: "Sync"}, {Kind: "Job", SyncPhase: "SyncFail"},
				}
			},
			want: func(*policy.Application) {},
		},
		"a sync without a result": {
			edit: func(a *argo.Application) { a.Status.OperationState.SyncResult = nil },
			want: func(p *policy.Application) {
				p.LastFull.AtCompared, p.LastFull.SameSources = false, false
				p.LastSync = fromHistory
			},
		},
		"a sync of another revision": {
			edit: func(a *argo.Application) { a.Status.OperationState.SyncResult.Revision = oldCommit },
			want: func(p *policy.Application) {
				p.LastFull.AtCompared, p.LastSync.AtCompared = false, false
				p.LastSync.Other = []policy.Source{{Key: p.Compared[0].Key, Revision: oldCommit}}
			},
		},
		"another revision has failed": {
			edit: func(a *argo.Application) {
				a.Status.OperationState.Phase, a.Status.OperationState.SyncResult.Revision = synccommon.OperationFailed, oldCommit
			},
			want: func(p *policy.Application) {
				p.LastOperation.Phase, p.LastFull.Phase, p.LastFull.AtCompared = "Failed", "Failed", false
				p.LastFull.Other = []policy.Source{{Key: p.Compared[0].Key, Revision: oldCommit}}
				p.LastSync = fromHistory
			},
		},
		"a sync of another path": {
			edit: func(a *argo.Application) { a.Status.OperationState.SyncResult.Source.Path = "charts/other" },
			want: func(p *policy.Application) {
				p.LastFull.SameSources, p.LastSync.AtCompared, p.LastSync.SameSources = false, false, false
			},
		},
		"compared anew since": {
			edit: func(a *argo.Application) { a.Status.Sync.Revision = oldCommit },
			want: func(p *policy.Application) {
				p.LastSync.Other = []policy.Source{p.Compared[0]}
				p.Compared = []policy.Source{{Key: p.Compared[0].Key, Revision: oldCommit}}
				p.LastFull.AtCompared, p.LastSync.AtCompared = false, false
			},
		},
		"compared with no revision": {
			edit: func(a *argo.Application) {
				a.Status.Sync.Revision, a.Status.OperationState.SyncResult.Revision = "", ""
			},
			want: func(p *policy.Application) {
				// That nothing is known on both sides is no equality.
				p.Compared[0].Revision = ""
				p.LastFull.AtCompared, p.LastSync.AtCompared = false, false
			},
		},
		"the history's newest is another revision": {
			edit: func(a *argo.Application) { a.Status.OperationState = nil; a.Status.History = a.Status.History[:1] },
			want: func(p *policy.Application) {
				p.LastOperation, p.LastFull = policy.LastOperation{}, policy.FullSync{}
				p.LastSync = policy.LastSync{FinishedAt: at(10).Time, SameSources: true}
				p.Ran = p.Ran[:1]
				p.LastSync.Other = p.Ran
			},
		},
		"the history's newest is of another source": {
			edit: func(a *argo.Application) { a.Status.OperationState = nil; a.Status.History[1].Source.Helm = nil },
			want: func(p *policy.Application) {
				p.LastOperation, p.LastFull = policy.LastOperation{}, policy.FullSync{}
				p.LastSync = policy.LastSync{FinishedAt: at(49).Time}
			},
		},
		"no history and no operation": {
			edit: func(a *argo.Application) { a.Status.OperationState, a.Status.History = nil, nil },
			want: func(p *policy.Application) {
				p.LastOperation, p.LastFull = policy.LastOperation{}, policy.FullSync{}
				p.LastSync, p.Ran = policy.LastSync{}, nil
			},
		},
		"a history that repeats itself": {
			edit: func(a *argo.Application) {
				a.Status.History = append(a.Status.History, a.Status.History...)
				a.Status.History[3].Source.RepoURL = "git@git.example:org/repo.git"
			},
			want: func(p *policy.Application) {
				p.Ran = append(p.Ran, p.Ran[0], policy.Source{Key: "git@git.example/org/repo  main", Revision: newCommit})
			},
		},
		"what runs has been deployed twice in a row": {
			edit: func(a *argo.Application) {
				again := a.Status.History[1]
				again.DeployedAt = *at(50)
				a.Status.History = append(a.Status.History, again)
			},
			want: func(p *policy.Application) { p.LastSync.Since = at(49).Time },
		},
		"what runs was deployed before, and something else in between": {
			edit: func(a *argo.Application) {
				a.Status.History = append(argo.RevisionHistories{a.Status.History[1]}, a.Status.History...)
				a.Status.History[0].DeployedAt = *at(5)
			},
			want: func(p *policy.Application) { p.Ran = []policy.Source{p.Ran[1], p.Ran[0], p.Ran[1]} },
		},
		"a person has synced it": {
			edit: func(a *argo.Application) {
				a.Status.OperationState.Operation.InitiatedBy = argo.OperationInitiator{Username: "alice"}
			},
			want: func(p *policy.Application) { p.LastSync.By = "alice" },
		},
		"Argo CD has synced it": {
			edit: func(a *argo.Application) {
				a.Status.OperationState.Operation.InitiatedBy = argo.OperationInitiator{Username: "alice", Automated: true}
			},
			want: func(*policy.Application) {},
		},
		"since when it has been Healthy": {
			edit: func(a *argo.Application) { a.Status.Health.LastTransitionTime = at(30) },
			want: func(p *policy.Application) { p.HealthSince = at(30).Time },
		},
		"a resource to be pruned, and others OutOfSync": {
			edit: func(a *argo.Application) {
				a.Status.Resources = []argo.ResourceStatus{
					{Group: "apps", Kind: "Deployment", Namespace: "new", Name: "web", Status: "Synced"},
					{Group: "apps", Kind: "Deployment", Namespace: "old", Name: "web", Status: "OutOfSync", RequiresPruning: true},
					{Group: "apps", Kind: "Deployment", Namespace: "old", Name: "other", Status: "OutOfSync"},
					{Kind: "Service", Namespace: "old", Name: "web", Status: "OutOfSync"},
				}
			},
			want: func(*policy.Application) {},
		},
		"a history entry without a revision": {
			edit: func(a *argo.Application) { a.Status.History[0].Revision = "" },
			want: func(p *policy.Application) { p.Ran = p.Ran[1:] },
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			app, want := application(), projected()
			row.edit(app)
			row.want(&want)
			if want.LastSync.Since.IsZero() {
				want.LastSync.Since = want.LastSync.FinishedAt // but where a row says otherwise
			}
			g.Expect(Sibling(app)).To(Equal(want))
		})
	}
}

func refresh(kind string) func(*argo.Application) {
	return func(a *argo.Application) { a.Annotations = map[string]string{"argocd.argoproj.io/refresh": kind} }
}

func running(a *argo.Application) {
	a.Status.OperationState.Phase, a.Status.OperationState.FinishedAt, a.Status.OperationState.SyncResult = "Running",
		nil, nil
}

func TestSiblingOfManySources(t *testing.T) {
	g := NewWithT(t)
	want := projected()
	want.Compared = []policy.Source{
		{Key: repoKey, Revision: newCommit}, {Key: "https://git.example/org/values  v7", Revision: oldCommit},
	}
	want.Ran = want.Compared
	g.Expect(Sibling(multiSource())).To(Equal(want))

	fewer := multiSource()
	fewer.Status.Sync.Revisions = []string{newCommit}
	got := Sibling(fewer)
	g.Expect(got.Compared).To(Equal([]policy.Source{
		{Key: repoKey, Revision: newCommit}, {Key: "https://git.example/org/values  v7"},
	}))
	g.Expect(got.LastFull.AtCompared).To(BeFalse())
}

func TestSiblingOfAHydratedApplication(t *testing.T) {
	want := projected()
	want.Ran = []policy.Source{{Key: "https://git.example/org/repo  env/dev", Revision: newCommit}}
	want.Compared = append(slices.Clone(want.Ran), policy.Source{
		Key: "dry https://git.example/org/repo  main", Revision: oldCommit,
	})
	want.Hydration = "Failed"
	app := hydrated()
	app.Status.SourceHydrator.LastComparedDryRevision = oldCommit
	app.Status.SourceHydrator.CurrentOperation = &argo.HydrateOperation{
		Phase: argo.HydrateOperationPhaseFailed, DrySHA: newCommit, SourceHydrator: *app.Spec.SourceHydrator,
	}
	NewWithT(t).Expect(Sibling(app)).To(Equal(want))

	app.Status.SourceHydrator.LastComparedDryRevision = ""
	NewWithT(t).Expect(Sibling(app).Compared[1].Revision).To(Equal(newCommit),
		"argo-cd before v3.3 has no lastComparedDryRevision")
}

// TestSiblingThatWasHydratedSince has the hydrator finish before, with and after the comparison.
func TestSiblingThatWasHydratedSince(t *testing.T) {
	for name, tc := range map[string]struct {
		after    time.Duration
		hydrated string
		want     string
	}{
		"before the comparison":                  {after: -time.Second, hydrated: oldCommit, want: "Hydrated"},
		"in the second of the comparison":        {hydrated: oldCommit, want: policy.Uncompared},
		"after the comparison":                   {after: time.Second, hydrated: oldCommit, want: policy.Uncompared},
		"after it, with what was compared again": {after: time.Second, hydrated: newCommit, want: "Hydrated"},
	} {
		t.Run(name, func(t *testing.T) {
			app := hydrated()
			at := metav1.NewTime(app.Status.ReconciledAt.Add(tc.after))
			app.Status.SourceHydrator.CurrentOperation = &argo.HydrateOperation{
				Phase: argo.HydrateOperationPhaseHydrated, FinishedAt: &at, DrySHA: newCommit, HydratedSHA: tc.hydrated, SourceHydrator: *app.Spec.SourceHydrator,
			}
			NewWithT(t).Expect(Sibling(app).Hydration).To(Equal(tc.want))
		})
	}
}

// TestSiblingThatIsNotHydratedByItsSpec lets the dry source change after the hydrator has begun.
func TestSiblingThatIsNotHydratedByItsSpec(t *testing.T) {
	app := hydrated()
	at := metav1.NewTime(app.Status.ReconciledAt.Add(-time.Second))
	app.Status.SourceHydrator.CurrentOperation = &argo.HydrateOperation{
		Phase: argo.HydrateOperationPhaseHydrated, FinishedAt: &at, HydratedSHA: newCommit, SourceHydrator: *app.Spec.SourceHydrator,
	}
	NewWithT(t).Expect(Sibling(app).Hydration).To(Equal("Hydrated"))
	app.Spec.SourceHydrator = app.Spec.SourceHydrator.DeepCopy()
	app.Spec.SourceHydrator.DrySource.Path = "v2"
	NewWithT(t).Expect(Sibling(app).Hydration).To(Equal(policy.Outdated))
}

// TestSiblingOfAnEmptyApplication is one that has just been created: nothing of it may look done.
func TestSiblingOfAnEmptyApplication(t *testing.T) {
	g := NewWithT(t)
	app := application()
	app.Status = argo.ApplicationStatus{}
	got := Sibling(app)
	g.Expect(got).To(Equal(policy.Application{
		Name: "dev", Labels: map[string]string{"env": "dev"}, Compared: []policy.Source{},
	}))
	g.Expect(Sibling(&argo.Application{}).ReconciledAt.IsZero()).To(BeTrue())
}

func TestNewApplicationSet(t *testing.T) {
	g := NewWithT(t)
	set := &argo.ApplicationSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "argocd", Name: "guestbook", UID: setUID, DeletionTimestamp: at(1)},
		Spec: argo.ApplicationSetSpec{Strategy: &argo.ApplicationSetStrategy{
			Type: "RollingSync", RollingSync: &argo.ApplicationSetRolloutStrategy{Steps: []argo.ApplicationSetRolloutStep{
				{MatchExpressions: []argo.ApplicationMatchExpression{{Key: "env", Operator: "In", Values: []string{"dev"}}}},
				{},
			}},
		}},
		Status: argo.ApplicationSetStatus{ApplicationStatus: []argo.ApplicationSetApplicationStatus{
			{Application: "dev", Step: "1", LastTransitionTime: at(5), Status: "Progressing"},
			{Application: "qa", Step: "2", Status: "Healthy", TargetRevisions: []string{oldCommit}},
			{Application: "prod", Step: "3", Status: "Pending"},
			{Application: "left", Step: "-1"},
			{Application: "odd", Step: "first"},
			{Application: "unset"},
			{Application: "huge", Step: "99999999999999999999"},
			{Application: "dev", Step: "2"},
		}},
	}
	g.Expect(NewApplicationSet(set).ApplicationSet).To(Equal(policy.ApplicationSet{
		Namespace: "argocd", Name: "guestbook", UID: string(setUID), Deleting: true, RollingSync: true,
		Steps: []policy.Step{{{Key: "env", Operator: "In", Values: []string{"dev"}}}, {}},
		Recorded: map[string]policy.Recorded{
			"dev": {Step: 1, TransitionedAt: at(5).Time, Started: true}, "qa": {Step: 2, Started: true, Healthy: true, Revisions: []string{oldCommit}}, "prod": {Step: 3, Pending: true}, "left": {Step: -1}, "odd": {}, "unset": {}, "huge": {},
		},
	}))
}

func TestTheStepOfADeniedWrite(t *testing.T) {
	const denied = `admission webhook "operation.stepgate.io" denied the request: `
	for name, row := range map[string]struct {
		error string
		want  int
	}{
		"no error":                      {"", 0},
		"another error":                 {"application qa references project team which does not exist", 0},
		"another webhook":               {`admission webhook "validate.kyverno.svc" denied the request: step 3 of ApplicationSet argocd/guestbook`, 0},
		"a denial":                      {denied + "step 3 of ApplicationSet argocd/guestbook may not sync yet: ...", 2},
		"a denial that names no step":   {denied + "the ApplicationSet argocd/guestbook cannot be read", 0},
		"a denial of the first step":    {denied + "step 1 of ApplicationSet argocd/guestbook is paused", 0},
		"no step that there can be":     {denied + "step 99999999999999999999 of ApplicationSet argocd/guestbook", 0},
		"a denial within another error": {"update of qa: " + denied + "step 3 of ApplicationSet argocd/guestbook", 2},
	} {
		t.Run(name, func(t *testing.T) {
			set := &argo.ApplicationSet{Status: argo.ApplicationSetStatus{Conditions: []argo.ApplicationSetCondition{{
				Type: argo.ApplicationSetConditionErrorOccurred, Status: argo.ApplicationSetConditionStatusTrue, Message: row.error,
			}}}}
			NewWithT(t).Expect(NewApplicationSet(set).FailingStep).To(Equal(row.want))
		})
	}
}

// TestKeeps tells where an Application may stay that is not generated any more.
func TestKeeps(t *testing.T) {
	policyOf := func(p argo.ApplicationsSyncPolicy) *argo.ApplicationSetSyncPolicy {
		return &argo.ApplicationSetSyncPolicy{ApplicationsSync: &p}
	}
	failed := func(reason string, status argo.ApplicationSetConditionStatus) []argo.ApplicationSetCondition {
		return []argo.ApplicationSetCondition{
			{Type: argo.ApplicationSetConditionErrorOccurred, Status: status, Reason: reason},
		}
	}
	for name, row := range map[string]struct {
		policy     *argo.ApplicationSetSyncPolicy
		conditions []argo.ApplicationSetCondition
		want       bool
	}{
		"no policy":             {},
		"sync":                  {policy: policyOf(argo.ApplicationsSyncPolicySync)},
		"create-delete":         {policy: policyOf(argo.ApplicationsSyncPolicyCreateDelete)},
		"create-update":         {policy: policyOf(argo.ApplicationsSyncPolicyCreateUpdate), want: true},
		"create-only":           {policy: policyOf(argo.ApplicationsSyncPolicyCreateOnly), want: true},
		"resources are kept":    {policy: &argo.ApplicationSetSyncPolicy{PreserveResourcesOnDeletion: true}},
		"a deletion is refused": {conditions: failed(argo.ApplicationSetReasonDeleteApplicationError, argo.ApplicationSetConditionStatusTrue), want: true},
		"a deletion was":        {conditions: failed(argo.ApplicationSetReasonDeleteApplicationError, argo.ApplicationSetConditionStatusFalse)},
		"an update is refused":  {conditions: failed(argo.ApplicationSetReasonUpdateApplicationError, argo.ApplicationSetConditionStatusTrue)},
	} {
		set := &argo.ApplicationSet{
			Spec: argo.ApplicationSetSpec{SyncPolicy: row.policy}, Status: argo.ApplicationSetStatus{Conditions: row.conditions},
		}
		NewWithT(t).Expect(NewApplicationSet(set).Keeps).To(Equal(row.want), name)
	}
}

// A history is most of what is kept of an Application.
func TestTheHistoryTakesNoMoreRoomThanItNeeds(t *testing.T) {
	g, app := NewWithT(t), application()
	app.Status.History = nil
	for i := range 9 {
		app.Status.History = append(app.Status.History, argo.RevisionHistory{
			ID: int64(i), Revision: string(rune('a' + i)), DeployedAt: *at(i), Source: app.Spec.GetSource(),
		})
	}
	p := Sibling(app)
	g.Expect(p.Ran).To(HaveLen(9))
	g.Expect(cap(p.Ran)).To(BeNumerically("<", 16), "append would have made room for 16")
}
