// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"encoding/json"
	"testing"

	synccommon "github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	"github.com/stepgate/stepgate/policy"
)

// asked is a write that sets an operation of an Application, as an admission request has it.
func asked(g *WithT, app *argo.Application, op argo.Operation) (after, before *Application) {
	decoded := func(app *argo.Application) *Application {
		text, err := json.Marshal(app)
		g.Expect(err).NotTo(HaveOccurred())
		a, err := Decode(text)
		g.Expect(err).NotTo(HaveOccurred())
		return a
	}
	next := app.DeepCopy()
	next.Operation = &op
	return decoded(next), decoded(app)
}

// operate lets Argo CD run an operation, which the mutating webhook has stamped.
func operate(g *WithT, app *argo.Application, op argo.Operation, phase synccommon.OperationPhase, second int) {
	after, before := asked(g, app, op)
	stamped, _ := Stamped(after, before)
	app.Status.OperationState = &argo.OperationState{
		Operation: stamped.Operation.Operation, Phase: phase, StartedAt: *at(second), FinishedAt: at(second + 1),
		SyncResult: &argo.SyncOperationResult{Revision: newCommit, Source: source()},
	}
}

// notSyncs are operations that are no sync of what stands in git.
func notSyncs() map[string]argo.SyncOperation {
	return map[string]argo.SyncOperation{
		"a dry run":              {DryRun: true, Revision: newCommit},
		"a sync of one resource": {Resources: []argo.SyncOperationResource{{Kind: "ConfigMap", Name: "x"}}, Revision: newCommit},
		"a sync of local files":  {Manifests: []string{"{}"}, Revision: newCommit},
	}
}

// TestAPartOfTheSame patches nothing.
func TestAPartOfTheSame(t *testing.T) {
	one := []argo.SyncOperationResource{{Kind: "ConfigMap", Name: "x"}}
	elsewhere := application().Spec.Source.DeepCopy()
	elsewhere.Path = "elsewhere"
	for name, tc := range map[string]struct {
		sync    argo.SyncOperation
		change  func(app *argo.Application)
		patched bool
	}{
		"of what it has deployed":   {argo.SyncOperation{Resources: one, Revision: newCommit}, nil, false},
		"at another revision":       {argo.SyncOperation{Resources: one, Revision: oldCommit}, nil, true},
		"at an unresolved one":      {argo.SyncOperation{Resources: one}, nil, true},
		"of nobody knows what":      {argo.SyncOperation{Resources: one}, ofSeveral, true},
		"of another source":         {argo.SyncOperation{Resources: one, Revision: newCommit, Source: elsewhere}, nil, true},
		"of local files":            {argo.SyncOperation{Resources: one, Revision: newCommit, Manifests: []string{"{}"}}, nil, true},
		"to another destination":    {argo.SyncOperation{Resources: one, Revision: newCommit}, func(app *argo.Application) { app.Spec.Destination.Namespace = "b" }, true},
		"of a sync that has failed": {argo.SyncOperation{Resources: one, Revision: newCommit}, func(app *argo.Application) { app.Status.OperationState.Phase = "Failed" }, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			app := application()
			operate(g, app, argo.Operation{Sync: &argo.SyncOperation{Revision: newCommit}}, "Succeeded", 40)
			if tc.change != nil {
				tc.change(app)
			}
			operate(g, app, argo.Operation{Sync: &tc.sync}, "Succeeded", 50)
			g.Expect(Sibling(app).LastFull.Patched).To(Equal(tc.patched))
		})
	}
}

// ofSeveral gives an Application several sources, of which nobody has written down what was deployed.
func ofSeveral(app *argo.Application) {
	app.Spec.Sources, app.Spec.Source = argo.ApplicationSources{*app.Spec.Source}, nil
	app.Status.OperationState.SyncResult = &argo.SyncOperationResult{Sources: app.Spec.Sources}
}

// TestAFailureIsNotForgotten lets a PostSync hook fail, and then an operation come that repairs nothing.
func TestAFailureIsNotForgotten(t *testing.T) {
	for name, op := range notSyncs() {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			app := application()
			app.Status.History = app.Status.History[:1]
			operate(g, app, argo.Operation{Sync: &argo.SyncOperation{Revision: newCommit}}, "Failed", 40)
			app.Status.OperationState.SyncResult.Resources = argo.ResourceResults{{SyncPhase: "PostSync", Name: "smoke"}}
			failed := Sibling(app)
			g.Expect(failed.LastFull).To(Equal(policy.FullSync{
				Phase: "Failed", StartedAt: at(40).Time, FinishedAt: at(41).Time, AtCompared: true, SameSources: true, Applied: true,
			}))
			for second := 60; second < 63; second++ { // however often
				operate(g, app, argo.Operation{Sync: &op}, "Succeeded", second)
				now := Sibling(app)
				g.Expect(now.LastFull.Patched).To(Equal(!op.DryRun))
				failed.LastFull.Patched = now.LastFull.Patched
				g.Expect(now.LastFull).To(Equal(failed.LastFull))
				g.Expect(now.LastSync).To(Equal(failed.LastSync))
				g.Expect(HasRun(app, []string{newCommit})).To(BeTrue(), "nobody starts it again")
				g.Expect(now.LastOperation.StartedAt).To(Equal(at(second).Time))
			}
			operate(g, app, argo.Operation{Sync: &argo.SyncOperation{Revision: newCommit}}, "Running", 70)
			g.Expect(Sibling(app).LastFull).To(Equal(failed.LastFull), "while it is tried again")
			operate(g, app, argo.Operation{Sync: &argo.SyncOperation{Revision: newCommit}}, "Succeeded", 71)
			repaired := Sibling(app).LastFull
			g.Expect(repaired.Phase).To(Equal("Succeeded"))
			g.Expect(repaired.Patched).To(BeFalse())
		})
	}
}

// TestAFailureInTheHooksIsNotForgotten: everything was applied then. A sync that fails before it comes so far changes nothing about
// that, whatever it was of.
func TestAFailureInTheHooksIsNotForgotten(t *testing.T) {
	g := NewWithT(t)
	app := application()
	operate(g, app, argo.Operation{Sync: &argo.SyncOperation{Revision: newCommit}}, "Failed", 60)
	app.Status.OperationState.SyncResult.Resources = argo.ResourceResults{{SyncPhase: "PostSync"}}
	failed := Sibling(app).LastFull
	g.Expect(failed.Applied).To(BeTrue())
	for second := 61; second < 64; second++ {
		operate(g, app, argo.Operation{Sync: &argo.SyncOperation{Revision: oldCommit}}, "Failed", second)
		g.Expect(Sibling(app).LastFull).To(Equal(failed))
	}
	operate(g, app, argo.Operation{Sync: &argo.SyncOperation{Revision: oldCommit}}, "Succeeded", 64)
	g.Expect(Sibling(app).LastFull.Phase).To(Equal("Succeeded"))
}

// TestWhatAnEarlierOperationHasLeftInTheStatus keeps fields of the operation before, as argo-cd v3.2 does: the stamp tells
// that the last one was a full sync.
func TestWhatAnEarlierOperationHasLeftInTheStatus(t *testing.T) {
	for name, before := range notSyncs() {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			app := application()
			operate(g, app, argo.Operation{Sync: &argo.SyncOperation{Revision: newCommit}}, "Succeeded", 40)
			want := Sibling(app)
			g.Expect(want.LastFull.AtCompared).To(BeTrue())
			kept := app.Status.OperationState.Operation.Sync
			kept.DryRun, kept.Resources, kept.Manifests = before.DryRun, before.Resources, before.Manifests
			g.Expect(Sibling(app)).To(Equal(want))
		})
	}
}

// TestLocalFilesAreNoRevision: Argo CD writes the revision of the spec into its result, and into the history.
func TestLocalFilesAreNoRevision(t *testing.T) {
	g := NewWithT(t)
	app := application()
	app.Status.History[1].DeployStartedAt = at(60)
	app.Status.OperationState.Operation.Sync = &argo.SyncOperation{Manifests: []string{"{}"}, Revision: newCommit}
	app.Status.OperationState.StartedAt = *at(60)
	app.Status.Sync.Status = argo.SyncStatusCodeOutOfSync
	p := Sibling(app)
	g.Expect(p.LastSync.AtCompared).To(BeFalse())
	g.Expect(p.Ran).To(Equal([]policy.Source{{Key: repoKey, Revision: oldCommit}}))
	_, blocks := policy.NotDone(policy.Input{ApplicationSet: &policy.ApplicationSet{RollingSync: true}}, &p)
	g.Expect(blocks).To(BeTrue(), "it runs what somebody has on their machine")
}

// TestAStampTellsContentsApart changes one thing at a time.
func TestAStampTellsContentsApart(t *testing.T) {
	g := NewWithT(t)
	op := argo.Operation{Sync: &argo.SyncOperation{Revision: newCommit}}
	of := func(app *argo.Application, op argo.Operation) Content {
		after, before := asked(g, app, op)
		return StampOf(after, before).Content
	}
	base := of(application(), op)
	g.Expect(of(application(), op)).To(Equal(base))
	for name, change := range map[string]func(*argo.ApplicationSpec){
		"the destination": func(s *argo.ApplicationSpec) { s.Destination.Namespace = "other" },
		"prune": func(s *argo.ApplicationSpec) {
			s.SyncPolicy = &argo.SyncPolicy{Automated: &argo.SyncPolicyAutomated{Prune: ptr.To(true)}}
		},
		"allowEmpty": func(s *argo.ApplicationSpec) {
			s.SyncPolicy = &argo.SyncPolicy{Automated: &argo.SyncPolicyAutomated{AllowEmpty: ptr.To(true)}}
		},
		"sync options": func(s *argo.ApplicationSpec) {
			s.SyncPolicy = &argo.SyncPolicy{SyncOptions: argo.SyncOptions{"Replace=true"}}
		},
		"ignored": func(s *argo.ApplicationSpec) { s.IgnoreDifferences = argo.IgnoreDifferences{{Kind: "Secret"}} },
		"the namespace's labels": func(s *argo.ApplicationSpec) {
			s.SyncPolicy = &argo.SyncPolicy{
				ManagedNamespaceMetadata: &argo.ManagedNamespaceMetadata{Labels: map[string]string{"a": "b"}},
			}
		},
	} {
		app := application()
		change(&app.Spec)
		changed := of(app, op)
		g.Expect(changed.Around).NotTo(Equal(base.Around), name)
		g.Expect(changed.Revised).NotTo(Equal(base.Revised), name)
		g.Expect(changed.Parameters).To(Equal(base.Parameters), name)
	}
	app := application()
	app.Spec.Source.Helm.Parameters[0].Value = "v2"
	g.Expect(of(app, op).Around).To(Equal(base.Around))
	g.Expect(of(app, op).Parameters).NotTo(Equal(base.Parameters))
	older := argo.Operation{Sync: &argo.SyncOperation{Revision: oldCommit}}
	g.Expect(of(application(), older).Revised).NotTo(Equal(base.Revised))
	g.Expect(of(application(), older).Parameters).To(Equal(base.Parameters))
	for name, one := range notSyncs() {
		g.Expect(of(application(), argo.Operation{Sync: &one})).To(BeZero(), name)
	}
}

// TestAStampIsStepgates: the webhook writes it over whatever is there, once, and what is not its own is forged.
func TestAStampIsStepgates(t *testing.T) {
	g := NewWithT(t)
	for name, infos := range map[string][]*argo.Info{
		"nothing":            nil,
		"a reason":           {{Name: "Reason", Value: "x"}, nil},
		"a forgery":          {{Name: StampInfo, Value: `{"v":1,"content":"x"}`}, {Name: "Reason", Value: "x"}},
		"of another version": {{Name: StampInfo, Value: `{"v":2,"content":"x"}`}},
		"two of them":        {{Name: StampInfo, Value: "x"}, {Name: StampInfo, Value: "x"}},
		"a long one":         {{Name: StampInfo, Value: string(make([]byte, mostStamp+1))}},
	} {
		after, before := asked(g, application(), argo.Operation{Sync: &argo.SyncOperation{}, Info: infos})
		g.Expect(Forged(after, before)).To(Equal(name == "a forgery"), name)
		stamped, patches := Stamped(after, before)
		g.Expect(patches).NotTo(BeEmpty(), name)
		g.Expect(Forged(stamped, before)).To(BeFalse(), name)
		g.Expect(stampIn(&stamped.Operation.Operation)).To(Equal(StampOf(after, before)), name)
		_, again := Stamped(stamped, before)
		g.Expect(again).To(BeEmpty(), name)
	}
}
