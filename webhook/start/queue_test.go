// SPDX-License-Identifier: Apache-2.0

package start

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	synccommon "github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/test/guestbook"
	"github.com/stepgate/stepgate/webhook"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/release"
)

// fake is an API server and the metrics.
type fake struct {
	mu      sync.Mutex
	err     error
	written int
	results []string
	// terminated are the calls of Terminated.
	terminated []string
}

func (f *fake) Write(context.Context, release.Start) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.written++
	return f.err
}

func (f *fake) StartDone(result string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.results = append(f.results, result)
}

func (f *fake) Terminated(app types.NamespacedName, uid types.UID, why string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.terminated = append(f.terminated, fmt.Sprintf("%s (%s): %s", app, uid, why))
}

var prod = release.Start{
	App: types.NamespacedName{Namespace: "argocd", Name: "prod"}, UID: "prod-uid", Set: "guestbook", Step: 2, ResourceVersion: "7",
}

func TestResults(t *testing.T) {
	applications := schema.GroupResource{Group: "argoproj.io", Resource: "applications"}
	for name, tc := range map[string]struct {
		err     error
		ends    bool
		follows bool
		waited  time.Duration
		want    string
		written int
	}{
		"it is written":                   {want: Started, written: 1},
		"another one is terminated":       {ends: true, want: Terminated, written: 1},
		"another replica leads by then":   {follows: true, want: Outdated},
		"another one has its slot":        {waited: 5 * time.Second, want: Dropped},
		"it has changed before the read":  {err: ErrOutdated, want: Outdated, written: 1},
		"it has changed before the write": {err: apierrors.NewConflict(applications, "prod", errors.New("version")), want: Outdated, written: 1},
		"it is gone":                      {err: apierrors.NewNotFound(applications, "prod"), want: Outdated, written: 1},
		"it has run the same":             {err: ErrNeedless, want: Needless, written: 1},
		"nobody would judge it":           {err: ErrUnjudged, want: Unjudged, written: 1},
		"the gate denies it":              {err: apierrors.NewForbidden(applications, "prod", errors.New("step 3 may not sync")), want: Denied, written: 1},
		"the API server does not answer":  {err: context.DeadlineExceeded, want: Failed, written: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, f := NewWithT(t), &fake{err: tc.err}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				q := NewQueue(f, f)
				q.Lead(!tc.follows)
				s := prod
				s.Until, s.Terminates, s.Why = time.Now().Add(5*time.Second), tc.ends, "it has been overtaken"
				q.Start(s)
				<-time.After(tc.waited)
				go q.Run(ctx)
				synctest.Wait()
				g.Expect(f.results).To(Equal([]string{tc.want}))
				g.Expect(f.written).To(Equal(tc.written))
				if tc.want == Terminated {
					g.Expect(f.terminated).To(Equal([]string{"argocd/prod (prod-uid): it has been overtaken"}))
				} else {
					g.Expect(f.terminated).To(BeEmpty())
				}
			})
		})
	}
}

func TestAFullQueueDrops(t *testing.T) {
	g, f := NewWithT(t), &fake{}
	q := NewQueue(f, f)
	for range mostWaiting + 1 {
		q.Start(prod)
	}
	g.Expect(f.results).To(Equal([]string{Dropped}))
}

// TestTheOperationIsTheOneThatTheApplicationSetControllerWouldWrite but that it names what was judged.
func TestTheOperationIsTheOneThatTheApplicationSetControllerWouldWrite(t *testing.T) {
	for name, tc := range map[string]struct {
		edit  func(app *argo.Application, set *argo.ApplicationSet)
		start func(s *release.Start)
		want  string
		err   error
	}{
		"to what it was compared with": {want: `{"prune":false,"revision":"` + guestbook.NewCommit + `"}`},
		"to a candidate": {
			start: func(s *release.Start) { s.Revisions = []string{guestbook.OldCommit} }, want: `{"prune":false,"revision":"` + guestbook.OldCommit + `"}`,
		},
		"several sources": {edit: func(app *argo.Application, _ *argo.ApplicationSet) {
			app.Spec.Sources = argo.ApplicationSources{*app.Spec.Source, *app.Spec.Source}
			app.Spec.Source = nil
			app.Status.Sync.ComparedTo = argo.ComparedTo{Sources: app.Spec.Sources, Destination: app.Spec.Destination}
			app.Status.Sync.Revision, app.Status.Sync.Revisions = "", []string{guestbook.NewCommit, guestbook.OldCommit}
		}, want: `{"prune":false,"revisions":["` + guestbook.NewCommit + `","` + guestbook.OldCommit + `"]}`},
		"its own policy": {edit: func(app *argo.Application, set *argo.ApplicationSet) {
			app.Spec.SyncPolicy = &argo.SyncPolicy{
				SyncOptions: argo.SyncOptions{"Validate=false"}, Retry: &argo.RetryStrategy{Limit: 2},
				Automated: &argo.SyncPolicyAutomated{Enabled: ptr.To(false), Prune: ptr.To(true)},
			}
			set.Spec.Template.Spec.SyncPolicy = &argo.SyncPolicy{Automated: &argo.SyncPolicyAutomated{Prune: ptr.To(true)}}
		}, want: `{"options":["Validate=false"],"prune":true,"retry":2,"revision":"` + guestbook.NewCommit + `"}`},
		"Argo CD syncs it by itself": {edit: func(app *argo.Application, _ *argo.ApplicationSet) {
			app.Spec.SyncPolicy = &argo.SyncPolicy{Automated: &argo.SyncPolicyAutomated{Prune: ptr.To(true)}}
		}, want: `{"prune":true,"revision":"` + guestbook.NewCommit + `"}`},
		"it has changed":           {edit: func(app *argo.Application, _ *argo.ApplicationSet) { app.ResourceVersion = "8" }, err: ErrOutdated},
		"it has an operation":      {edit: func(app *argo.Application, _ *argo.ApplicationSet) { app.Operation = &argo.Operation{} }, err: ErrOutdated},
		"its spec is not compared": {edit: func(app *argo.Application, _ *argo.ApplicationSet) { app.Spec.Source.Path = "elsewhere" }, err: ErrOutdated},
		"somebody has gone back from it": {edit: func(app *argo.Application, _ *argo.ApplicationSet) {
			ran("Succeeded", guestbook.OldCommit)(app, nil)
			app.Status.History = argo.RevisionHistories{
				{Revision: guestbook.NewCommit, Source: *app.Spec.Source}, {Revision: guestbook.OldCommit, Source: *app.Spec.Source},
			}
		}, err: ErrNeedless},
		"the same, and the ApplicationSet controller asks for it": {edit: func(app *argo.Application, _ *argo.ApplicationSet) {
			app.Status.History = argo.RevisionHistories{{Revision: guestbook.NewCommit, Source: *app.Spec.Source}}
		}, start: func(s *release.Start) { s.Asked = true }, want: `{"prune":false,"revision":"` + guestbook.NewCommit + `"}`},
		"it has deployed this with other parameters": {edit: func(app *argo.Application, _ *argo.ApplicationSet) {
			before := *app.Spec.Source
			before.Path = "elsewhere"
			app.Status.History = argo.RevisionHistories{{Revision: guestbook.NewCommit, Source: before}}
		}, want: `{"prune":false,"revision":"` + guestbook.NewCommit + `"}`},
		"its last sync was this, and its destination has changed since": {
			edit:  ran("Succeeded", guestbook.NewCommit),
			start: func(s *release.Start) { s.Altered = true }, want: `{"prune":false,"revision":"` + guestbook.NewCommit + `"}`,
		},
		"its last sync was this":   {edit: ran("Succeeded", guestbook.NewCommit), err: ErrNeedless},
		"it has failed at this":    {edit: ran("Failed", guestbook.NewCommit), err: ErrNeedless},
		"it has failed at another": {edit: ran("Failed", guestbook.OldCommit), want: `{"prune":false,"revision":"` + guestbook.NewCommit + `"}`},
		"it has failed before that": {edit: func(app *argo.Application, _ *argo.ApplicationSet) {
			ran("Error", guestbook.NewCommit)(app, nil)
			app.Status.OperationState.SyncResult = nil
			sync := app.Status.OperationState.Operation.Sync
			sync.Revision, sync.Source = guestbook.NewCommit, app.Spec.Source
		}, err: ErrNeedless},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			set := guestbook.Set("argocd")
			app := guestbook.Application(set, "prod")
			app.ResourceVersion = "7"
			app.Status.Sync = argo.SyncStatus{
				Status: argo.SyncStatusCodeOutOfSync, Revision: guestbook.NewCommit,
				ComparedTo: argo.ComparedTo{Source: *app.Spec.Source, Destination: app.Spec.Destination},
			}
			if tc.edit != nil {
				tc.edit(app, set)
			}
			s := prod
			if tc.start != nil {
				tc.start(&s)
			}
			patch, err := Patch(app, set, s)
			if tc.err != nil {
				g.Expect(err).To(MatchError(tc.err))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			var written argo.Application
			g.Expect(json.Unmarshal(patch, &written)).To(Succeed())
			g.Expect(written.ResourceVersion).To(Equal("7"))
			op := written.Operation
			g.Expect(op.InitiatedBy).To(Equal(argo.OperationInitiator{Username: "stepgate", Automated: true}))
			g.Expect(op.Info).To(Equal([]*argo.Info{{
				Name: "Reason", Value: "step 3 of ApplicationSet argocd/guestbook may sync, and Argo CD has not started it",
			}}))
			brief := map[string]any{"prune": op.Sync.Prune}
			if op.Sync.Revision != "" {
				brief["revision"] = op.Sync.Revision
			}
			if op.Sync.Revisions != nil {
				brief["revisions"] = op.Sync.Revisions
			}
			if op.Sync.SyncOptions != nil {
				brief["options"] = op.Sync.SyncOptions
			}
			if op.Retry.Limit != 5 {
				brief["retry"] = op.Retry.Limit
			}
			text, err := json.Marshal(brief)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(string(text)).To(Equal(tc.want))
		})
	}
}

// reader has an Application, and fails the test where something else is read.
type reader struct {
	client.Client
	t       *testing.T
	app     *argo.Application
	written *argo.Application
}

func (r *reader) Get(_ context.Context, name client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	app, is := into.(*argo.Application)
	if !is || name.Name != r.app.Name {
		r.t.Errorf("%T %s is read", into, name)
		return errors.New("it does not exist")
	}
	r.app.DeepCopyInto(app)
	return nil
}

func (r *reader) Patch(
	ctx context.Context, _ client.Object, patch client.Patch, options ...client.PatchOption,
) error {
	if slices.Contains(options, client.PatchOption(client.DryRunAll)) {
		Warnings{}.HandleWarningHeaderWithContext(ctx, 299, "", webhook.SelfTestWarning)
		return nil
	}
	text, err := patch.Data(nil)
	if err != nil {
		return err
	}
	r.written = &argo.Application{}
	return json.Unmarshal(text, r.written)
}

// TestTheChildOfAParentIsStarted by its own sync policy: no ApplicationSet generates it.
func TestTheChildOfAParentIsStarted(t *testing.T) {
	for prune, name := range map[bool]string{true: "it prunes", false: "it does not prune"} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			app := guestbook.Application(guestbook.Set("argocd"), "dns")
			app.OwnerReferences, app.ResourceVersion = nil, "7"
			app.Spec.SyncPolicy = &argo.SyncPolicy{Automated: &argo.SyncPolicyAutomated{Prune: ptr.To(prune)}}
			app.Status.Sync = argo.SyncStatus{
				Status: argo.SyncStatusCodeOutOfSync, Revision: guestbook.NewCommit,
				ComparedTo: argo.ComparedTo{Source: *app.Spec.Source, Destination: app.Spec.Destination},
			}
			s := prod
			s.App.Name, s.Set, s.Step = app.Name, policy.NameOfParent("platform"), policy.WaveStep(10)
			r := &reader{t: t, app: app}
			g.Expect(NewOperations(r).Write(t.Context(), s)).To(Succeed())
			g.Expect(r.written.Operation.Sync).To(Equal(&argo.SyncOperation{Prune: prune, Revision: guestbook.NewCommit}))
			g.Expect(r.written.Operation.Info[0].Value).To(Equal(
				"wave 10 of Application argocd/platform may sync, and Argo CD has not started it"))
		})
	}
}

// TestOnlyRetriesAreTerminated of the version that was judged.
func TestOnlyRetriesAreTerminated(t *testing.T) {
	for name, tc := range map[string]struct {
		edit func(*argo.Application)
		want bool
	}{
		"it waits for another attempt": {want: true},
		"it has changed":               {edit: func(app *argo.Application) { app.ResourceVersion = "8" }},
		"an attempt is under way":      {edit: func(app *argo.Application) { app.Status.OperationState.FinishedAt = nil }},
		"it has ended":                 {edit: func(app *argo.Application) { app.Operation = nil }},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			app := guestbook.Application(guestbook.Set("argocd"), "prod")
			app.ResourceVersion = "7"
			app.Operation = &argo.Operation{
				InitiatedBy: argo.OperationInitiator{Automated: true},
				Sync:        &argo.SyncOperation{Revision: guestbook.OldCommit},
				Info:        []*argo.Info{{Name: argocd.StampInfo, Value: `{"v":1,"content":"x","parameters":"x","around":"x"}`}},
			}
			app.Status.OperationState = &argo.OperationState{
				Phase: "Running", RetryCount: 1, FinishedAt: ptr.To(metav1.Now()), Operation: *app.Operation.DeepCopy(),
			}
			if tc.edit != nil {
				tc.edit(app)
			}
			s := prod
			s.Terminates = true
			patch, err := TerminatePatch(app, s)
			if !tc.want {
				g.Expect(err).To(MatchError(ErrOutdated))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(string(patch)).To(Equal(
				`{"metadata":{"resourceVersion":"7"},"status":{"operationState":{"phase":"Terminating"}}}`))
		})
	}
}

// ran lets the last sync of an Application have ended in a phase at a revision.
func ran(phase synccommon.OperationPhase, revision string) func(*argo.Application, *argo.ApplicationSet) {
	return func(app *argo.Application, _ *argo.ApplicationSet) {
		app.Status.OperationState = &argo.OperationState{
			Phase: phase, Operation: argo.Operation{Sync: &argo.SyncOperation{}}, StartedAt: metav1.Now(),
			SyncResult: &argo.SyncOperationResult{Revision: revision, Source: *app.Spec.Source},
		}
	}
}
