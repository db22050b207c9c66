// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"fmt"
	"testing"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/test/scenario"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/cluster"
	"github.com/stepgate/stepgate/webhook/settings"
)

// watchedWorld is dev in step 1 and prod in step 3, which deploy the same revision, and what the watch sees of them.
type watchedWorld struct {
	*scenario.Cluster
	dev, prod *argo.Application
	seen      *cluster.Histories
	clock     *clocktesting.FakePassiveClock
}

// newWatchedWorld begins two hours before noon: both have deployed revision a, and are Healthy.
func newWatchedWorld() *watchedWorld {
	w := &watchedWorld{
		Cluster: scenario.Of("1:dev=Healthy@a 3:prod=Healthy@a"), clock: clocktesting.NewFakePassiveClock(scenario.Noon.Add(-2 * time.Hour)),
	}
	w.dev, w.prod = w.Apps[0], w.Apps[1]
	for _, app := range w.Apps {
		app.Spec.Source.Helm = imageTag("v1")
		app.Status.Sync.ComparedTo.Source = *app.Spec.Source.DeepCopy()
		deployed(app)
	}
	w.list()
	return w
}

// list lets the watch begin, which knows nothing.
func (w *watchedWorld) list() {
	w.seen = cluster.NewHistories(w.clock)
	for _, app := range w.Apps {
		w.seen.Listed(argocd.NewProjection(app))
	}
}

// at is a write of an Application, so long before noon.
func (w *watchedWorld) at(before time.Duration, app *argo.Application, edit func(*argo.Application)) {
	w.clock.SetTime(scenario.Noon.Add(-before))
	edit(app)
	w.seen.Observe(argocd.NewProjection(app))
}

// syncsProd is the answer to an automated sync of prod, at noon.
func (w *watchedWorld) syncsProd() (allowed bool, reason string) {
	w.clock.SetTime(scenario.Noon)
	config := scenario.Config()
	config.Pin = settings.PinCompared
	trial := newTrial(config, w.Cluster)
	trial.judge.Histories = w.seen
	source := w.prod.Spec.GetSource()
	a := &scenario.Attempt{Before: w.prod, After: w.prod.DeepCopy(), User: scenario.ApplicationController}
	a.After.Operation = &argo.Operation{
		Sync: &argo.SyncOperation{Revision: w.prod.Status.Sync.Revision, Source: &source}, InitiatedBy: argo.OperationInitiator{Automated: true},
	}
	answer := trial.handle(a.Request())
	return answer.Allowed, answer.AuditAnnotations["reason"]
}

func imageTag(tag string) *argo.ApplicationSourceHelm {
	return &argo.ApplicationSourceHelm{Parameters: []argo.HelmParameter{{Name: "image.tag", Value: tag}}}
}

// deployed lets an Application run what it is compared with, since ten minutes before noon.
func deployed(app *argo.Application) {
	at, sync := metav1.NewTime(scenario.Noon.Add(-10*time.Minute)), &app.Status.Sync
	app.Status.History = argo.RevisionHistories{
		{Revision: sync.Revision, Source: sync.ComparedTo.Source, DeployedAt: at, InitiatedBy: argo.OperationInitiator{Automated: true}},
	}
	app.Status.OperationState = &argo.OperationState{
		Phase: "Succeeded", StartedAt: at, FinishedAt: &at, Operation: argo.Operation{Sync: &argo.SyncOperation{}, InitiatedBy: argo.OperationInitiator{Automated: true}},
		SyncResult: &argo.SyncOperationResult{Revision: sync.Revision, Source: sync.ComparedTo.Source},
	}
}

// compared lets Argo CD compare an Application with its spec, and find it OutOfSync.
func compared(app *argo.Application) {
	app.Status.Sync.ComparedTo = argo.ComparedTo{
		Source: app.Spec.GetSource(), Destination: app.Spec.Destination, IgnoreDifferences: app.Spec.IgnoreDifferences,
	}
	app.Status.Sync.Status, app.Status.ReconciledAt = "OutOfSync", ptr.To(metav1.NewTime(scenario.Noon.Add(-time.Second)))
}

func tagged(tag string) func(*argo.Application) {
	return func(app *argo.Application) { app.Spec.Source.Helm = imageTag(tag) }
}

// committed lets Argo CD compare an Application with a commit that changes prod alone.
func committed(app *argo.Application) {
	app.Status.Sync.Revision = scenario.Commit("b")
	if app.Name == "prod" {
		compared(app)
	}
}

// specWrittenAt is what the API server keeps of a write of a spec, and of one of the status at noon.
func specWrittenAt(at time.Time) []metav1.ManagedFieldsEntry {
	return []metav1.ManagedFieldsEntry{
		{Manager: "argocd-applicationset-controller", Time: ptr.To(metav1.NewTime(at)), FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:source":{}}}`)},
		{Manager: "argocd-application-controller", Time: ptr.To(metav1.NewTime(scenario.Noon)), FieldsV1: metav1.NewFieldsV1(`{"f:status":{}}`)},
	}
}

func degraded(app *argo.Application) { app.Status.Health.Status = "Degraded" }

func specced(edit func(*argo.ApplicationSpec)) func(*argo.Application) {
	return func(app *argo.Application) { edit(&app.Spec) }
}

// A change of the spec goes to prod only after dev has it: the ApplicationSet controller writes prod's first.
func TestAChangeOfTheSpecGoesThroughTheSteps(t *testing.T) {
	ignore := specced(func(s *argo.ApplicationSpec) {
		s.IgnoreDifferences = argo.IgnoreDifferences{{Kind: "Deployment", JSONPointers: []string{"/spec/replicas"}}}
	})
	namespace := specced(func(s *argo.ApplicationSpec) {
		s.SyncPolicy = &argo.SyncPolicy{
			ManagedNamespaceMetadata: &argo.ManagedNamespaceMetadata{Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}},
		}
	})
	options := specced(func(s *argo.ApplicationSpec) {
		s.SyncPolicy = &argo.SyncPolicy{SyncOptions: argo.SyncOptions{"Replace=true"}}
	})
	destination := specced(func(s *argo.ApplicationSpec) { s.Destination.Namespace = "another" })
	failing := func(w *watchedWorld, problem string) {
		w.Sets[0].Status.Conditions = []argo.ApplicationSetCondition{
			{Type: argo.ApplicationSetConditionErrorOccurred, Status: argo.ApplicationSetConditionStatusTrue, Message: problem},
		}
	}
	deniedStep := func(step int) string {
		return fmt.Sprintf(
			`admission webhook "operation.stepgate.io" denied the request: step %d of ApplicationSet argocd/guestbook may not sync yet`, step,
		)
	}
	for name, row := range map[string]struct {
		play       func(w *watchedWorld)
		want       bool
		wantReason policy.Reason
	}{
		"a parameter, and dev's is not written yet": {func(w *watchedWorld) {
			w.at(3*time.Second, w.prod, tagged("v2"))
			w.at(time.Second, w.prod, compared)
		}, false, policy.NotGenerated},
		"a parameter, and dev's was written last": {func(w *watchedWorld) {
			w.at(30*time.Second, w.prod, tagged("v2"))
			w.at(time.Second, w.prod, compared)
			w.at(500*time.Millisecond, w.dev, tagged("v2"))
		}, false, policy.NotCompleted},
		"a parameter of prod alone": {func(w *watchedWorld) {
			w.at(30*time.Second, w.prod, tagged("v2"))
			w.at(time.Second, w.prod, compared)
		}, true, policy.EarlierStepsDone},
		"a parameter, and dev's cannot be written": {func(w *watchedWorld) {
			w.at(30*time.Second, w.prod, tagged("v2"))
			w.at(time.Second, w.prod, compared)
			failing(w, "no such project")
		}, false, policy.NotGenerated},
		"a parameter, and stepgate has denied the write of prod": {func(w *watchedWorld) {
			w.at(30*time.Second, w.prod, tagged("v2"))
			w.at(time.Second, w.prod, compared)
			failing(w, deniedStep(3))
		}, true, policy.EarlierStepsDone},
		"a parameter, and stepgate has denied the write of one in step 2": {func(w *watchedWorld) {
			w.at(30*time.Second, w.prod, tagged("v2"))
			w.at(time.Second, w.prod, compared)
			failing(w, deniedStep(2))
		}, false, policy.NotGenerated},
		"a commit, and another Application cannot be written": {func(w *watchedWorld) {
			for _, app := range w.Apps {
				w.at(time.Second, app, committed)
			}
			failing(w, "no such project")
		}, true, policy.EarlierStepsDone},
		"a parameter, and two writers never agree on dev's": {func(w *watchedWorld) {
			w.at(30*time.Second, w.prod, tagged("v2"))
			w.at(25*time.Second, w.prod, compared)
			for i, tag := range []string{"v3", "v1", "v3", "v1"} {
				w.at(time.Duration(20-5*i)*time.Second, w.dev, tagged(tag))
			}
		}, true, policy.EarlierStepsDone},
		"a parameter that the watch has not seen yet": {func(w *watchedWorld) {
			tagged("v2")(w.prod)
			compared(w.prod)
		}, false, policy.NotGenerated},
		"ignoreDifferences, and dev is not compared with them": {func(w *watchedWorld) {
			w.at(40*time.Second, w.dev, ignore)
			w.at(30*time.Second, w.prod, ignore)
			w.at(time.Second, w.prod, compared)
		}, false, policy.NotCompleted},
		"managedNamespaceMetadata, and dev is Degraded with them": {func(w *watchedWorld) {
			w.at(30*time.Second, w.prod, namespace)
			w.at(time.Second, w.prod, compared)
			w.at(time.Second, w.dev, degraded)
		}, false, policy.NotHealthy},
		"syncOptions, and dev is Degraded": {func(w *watchedWorld) {
			w.at(30*time.Second, w.prod, compared)
			w.at(30*time.Second, w.prod, options)
			w.at(time.Second, w.dev, degraded)
		}, false, policy.NotHealthy},
		"a destination, and dev is Degraded": {func(w *watchedWorld) {
			w.at(30*time.Second, w.prod, destination)
			w.at(time.Second, w.prod, compared)
			w.at(time.Second, w.dev, degraded)
		}, false, policy.NotHealthy},
		"nothing but drift, and dev is Degraded": {func(w *watchedWorld) {
			w.at(30*time.Second, w.prod, compared)
			w.at(time.Second, w.dev, degraded)
		}, true, policy.SelfHeal},
		"drift after a restart, of a sync that says what it deployed": {func(w *watchedWorld) {
			scenario.Stamp(w.prod)
			w.at(30*time.Second, w.prod, compared)
			w.at(time.Second, w.dev, degraded)
			w.list()
		}, true, policy.SelfHeal},
		"a destination after a restart, of a sync that says what it deployed": {func(w *watchedWorld) {
			scenario.Stamp(w.prod)
			w.at(30*time.Second, w.prod, destination)
			w.at(time.Second, w.prod, compared)
			w.at(time.Second, w.dev, degraded)
			w.list()
		}, false, policy.NotHealthy},
		"drift or a change, nobody knows after a restart, and dev is Degraded": {func(w *watchedWorld) {
			w.at(30*time.Second, w.prod, compared)
			w.at(time.Second, w.dev, degraded)
			w.list()
		}, false, policy.NotHealthy},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWatchedWorld()
			row.play(w)
			allowed, reason := w.syncsProd()
			NewWithT(t).Expect(reason).To(Equal(string(row.wantReason)))
			NewWithT(t).Expect(allowed).To(Equal(row.want))
		})
	}
}

// TestADrySourceGoesThroughTheSteps has the path of the dry source change, and dev's hydrator not begin.
func TestADrySourceGoesThroughTheSteps(t *testing.T) {
	w := newWatchedWorld()
	for _, app := range w.Apps {
		hydrator := &argo.SourceHydrator{
			DrySource:  argo.DrySource{RepoURL: "https://git.example.com/deploy.git", TargetRevision: "main", Path: "v1"},
			SyncSource: argo.SyncSource{TargetBranch: "env/" + app.Name, Path: app.Name},
		}
		app.Spec.Source, app.Spec.SourceHydrator = nil, hydrator
		compared(app)
		hydratedBy(app, "d", 20*time.Minute)
		deployed(app)
		app.Status.Sync.Status = "Synced"
	}
	w.list()
	for _, app := range []*argo.Application{w.prod, w.dev} {
		w.at(30*time.Second, app, func(a *argo.Application) { a.Spec.SourceHydrator.DrySource.Path = "v2" })
	}
	w.at(time.Second, w.prod, func(a *argo.Application) {
		a.Status.Sync.Revision = scenario.Commit("e")
		compared(a)
		hydratedBy(a, "d", 10*time.Second)
	})
	g := NewWithT(t)
	allowed, reason := w.syncsProd()
	g.Expect(reason).To(Equal(string(policy.NotCompleted)))
	g.Expect(allowed).To(BeFalse())
}

// hydratedBy lets the hydrator be done with the dry source of the spec at a commit.
func hydratedBy(app *argo.Application, dry string, before time.Duration) {
	at := metav1.NewTime(scenario.Noon.Add(-before))
	app.Status.SourceHydrator = argo.SourceHydratorStatus{
		LastComparedDryRevision: scenario.Commit(dry),
		CurrentOperation: &argo.HydrateOperation{
			Phase: argo.HydrateOperationPhaseHydrated, StartedAt: at, FinishedAt: &at, DrySHA: scenario.Commit(dry), HydratedSHA: app.Status.Sync.Revision, SourceHydrator: *app.Spec.SourceHydrator.DeepCopy(),
		},
	}
}

// prod comes before dev by name, and dev is not there yet, or does not belong to the ApplicationSet yet, or not to its
// steps.
func TestWhoComesLaterIsWaitedFor(t *testing.T) {
	other := func(app *argo.Application) { app.OwnerReferences[0].UID = "before-it-was-created-again" }
	for name, play := range map[string]func(*watchedWorld){
		"dev is not created yet": func(w *watchedWorld) {
			w.clock.SetTime(scenario.Noon.Add(-time.Second))
			w.seen = cluster.NewHistories(w.clock)
			w.Apps = w.Apps[1:]
			w.prod.Status.History, w.prod.Status.OperationState = nil, nil
			w.at(time.Second, w.prod, compared)
		},
		"dev is Degraded, and not adopted yet": func(w *watchedWorld) {
			other(w.prod)
			other(w.dev)
			degraded(w.dev)
			w.list()
			w.at(time.Second, w.prod, func(app *argo.Application) { app.OwnerReferences[0].UID = "guestbook-uid" })
			for _, app := range w.Apps {
				w.at(time.Second, app, committed)
			}
		},
		"dev is Degraded, and has lost its label": func(w *watchedWorld) {
			w.seen.KeepSteps(&argocd.NewApplicationSet(w.Sets[0]).ApplicationSet)
			w.at(time.Minute, w.dev, degraded)
			w.at(2*time.Second, w.prod, committed)
			w.at(time.Second, w.dev, func(app *argo.Application) { app.Labels = nil })
		},
		"dev was in no step until now": func(w *watchedWorld) {
			w.Sets[0].Status.ApplicationStatus = []argo.ApplicationSetApplicationStatus{
				{Application: "dev", Step: "-1"}, {Application: "prod", Step: "1", Status: "Pending"},
			}
			before := w.Sets[0].DeepCopy()
			before.Spec.Strategy.RollingSync.Steps = before.Spec.Strategy.RollingSync.Steps[2:]
			w.seen.KeepSteps(&argocd.NewApplicationSet(before).ApplicationSet)
			w.at(time.Second, w.dev, degraded)
			w.at(time.Second, w.prod, committed)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWatchedWorld()
			play(w)
			allowed, reason := w.syncsProd()
			NewWithT(t).Expect(reason).To(Equal(string(policy.NotGenerated)))
			NewWithT(t).Expect(allowed).To(BeFalse())
		})
	}
}

// An approval is for the spec that prod had when it was given.
func TestAnApprovalIsForASpec(t *testing.T) {
	for name, row := range map[string]struct {
		approved   time.Duration
		restart    bool
		managed    bool
		want       bool
		wantReason policy.Reason
	}{
		"before the spec changed":                                      {approved: 5 * time.Minute, wantReason: policy.NotApproved},
		"after that":                                                   {approved: 20 * time.Second, want: true, wantReason: policy.EarlierStepsDone},
		"before, and stepgate was started again":                       {approved: 5 * time.Minute, restart: true, managed: true, wantReason: policy.NotApproved},
		"after, and stepgate was started again":                        {approved: 20 * time.Second, restart: true, managed: true, want: true, wantReason: policy.EarlierStepsDone},
		"after, and started again where nothing tells when it changed": {approved: 20 * time.Second, restart: true, wantReason: policy.NotApproved},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWatchedWorld()
			for _, app := range []*argo.Application{w.dev, w.prod} {
				w.at(time.Minute, app, tagged("v2"))
				if row.managed {
					app.ManagedFields = specWrittenAt(w.clock.Now())
				}
			}
			w.at(50*time.Second, w.dev, func(app *argo.Application) {
				compared(app)
				deployed(app)
				app.Status.Sync.Status = "Synced"
			})
			w.at(40*time.Second, w.prod, compared)
			text := "3@" + scenario.Commit("a")
			w.Sets[0].Annotations = map[string]string{
				settings.ApproveAnnotation: "3", settings.ApprovedAnnotation: text,
				settings.ApprovedByAnnotation: `[{"step":3,"of":"` + scenario.Commit("a") + `","by":"alice","at":"` +
					scenario.Noon.Add(-row.approved).Format(time.RFC3339) + `"}]`,
			}
			if row.restart {
				w.clock.SetTime(scenario.Noon.Add(-15 * time.Second))
				w.list()
			}
			allowed, reason := w.syncsProd()
			NewWithT(t).Expect(reason).To(Equal(string(row.wantReason)))
			NewWithT(t).Expect(allowed).To(Equal(row.want))
		})
	}
}

// TestALabelThatWasWrittenBeforeIsNoWayRoundTheGate lets a user give prod the label of another step, and then sync it:
// the ApplicationSet's status does not say which one it has, as while progressive syncs are switched off in Argo CD.
// dev is not Healthy.
func TestALabelThatWasWrittenBeforeIsNoWayRoundTheGate(t *testing.T) {
	inStep := func(step string) func(*argo.Application) {
		return func(app *argo.Application) { app.Labels = map[string]string{"step": step} }
	}
	for name, tc := range map[string]struct {
		edit       func(w *watchedWorld)
		want       bool
		wantReason policy.Reason
	}{
		"a second ago":              {edit: func(w *watchedWorld) { w.at(time.Second, w.prod, inStep("1")) }, wantReason: policy.NotHealthy},
		"no label":                  {edit: func(w *watchedWorld) { w.at(time.Second, w.prod, inStep("")) }, wantReason: policy.NotHealthy},
		"the watch has not seen it": {edit: func(w *watchedWorld) { inStep("1")(w.prod) }, wantReason: policy.NotHealthy},
		"step by step": {edit: func(w *watchedWorld) {
			w.at(12*time.Second, w.prod, inStep("2"))
			w.at(9*time.Second, w.prod, inStep("1"))
		}, wantReason: policy.NotHealthy},
		"and back": {edit: func(w *watchedWorld) {
			w.at(2*time.Second, w.prod, inStep("1"))
			w.at(time.Second, w.prod, inStep("3"))
		}, wantReason: policy.NotHealthy},
		"the ApplicationSet controller has let it be": {edit: func(w *watchedWorld) { w.at(11*time.Second, w.prod, inStep("1")) }, want: true, wantReason: policy.FirstStep},
		"the ApplicationSet has moved it": {edit: func(w *watchedWorld) {
			w.Sets[0].Status.ApplicationStatus = []argo.ApplicationSetApplicationStatus{{Application: "prod", Step: "1"}}
			w.at(time.Second, w.prod, inStep("1"))
		}, want: true, wantReason: policy.FirstStep},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := newWatchedWorld()
			w.seen.KeepSteps(&argocd.NewApplicationSet(w.Sets[0]).ApplicationSet)
			w.at(time.Minute, w.dev, degraded)
			for _, app := range w.Apps {
				w.at(30*time.Second, app, committed)
			}
			tc.edit(w)
			allowed, reason := w.syncsProd()
			g.Expect(policy.Reason(reason)).To(Equal(tc.wantReason))
			g.Expect(allowed).To(Equal(tc.want))
		})
	}
}

// TestBothWebhooksGoByTheSameStep lets the ApplicationSet controller sync prod a second after a user gave it the label
// of step 1. The Mutator pins the operation, or the Gate would say that nobody has.
func TestBothWebhooksGoByTheSameStep(t *testing.T) {
	for name, tc := range map[string]struct {
		dev        func(*argo.Application)
		wantReason string
		wantPinned bool
	}{
		"dev is not done": {dev: degraded, wantReason: string(policy.NotHealthy)},
		"dev is done":     {dev: func(*argo.Application) {}, wantPinned: true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := newWatchedWorld()
			w.seen.KeepSteps(&argocd.NewApplicationSet(w.Sets[0]).ApplicationSet)
			w.at(time.Minute, w.dev, tc.dev)
			for _, app := range w.Apps {
				w.at(30*time.Second, app, committed)
			}
			w.at(time.Second, w.prod, func(app *argo.Application) { app.Labels = map[string]string{"step": "1"} })
			w.clock.SetTime(scenario.Noon)
			config := scenario.Pinning()
			config.Settling = -1 // or prod waits for the ApplicationSet controller
			trial := newTrial(config, w.Cluster)
			trial.judge.Histories = w.seen
			resp, app := mutatedBy(t, trial, w.Cluster, scenario.SyncOf(w.Cluster, "prod"))
			g.Expect(resp.AuditAnnotations["reason"]).To(Equal(tc.wantReason))
			g.Expect(app.Operation != nil && app.Operation.Sync.Revision != "").To(Equal(tc.wantPinned))
		})
	}
}
