// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/stepgate/stepgate/cmd/rollout"
	"github.com/stepgate/stepgate/test/golden"
	"github.com/stepgate/stepgate/test/guestbook"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/record"
)

// explained is what explain says about an Application of a scene.
func explained(
	t *testing.T, text, name string, by rollout.Writer, change func(*argo.Application),
) *rollout.Explanation {
	t.Helper()
	return explainedOf(t, name, by, change)(scene(text))
}

// explainedOf is what explain says about an Application of an ApplicationSet.
func explainedOf(
	t *testing.T, name string, by rollout.Writer, change func(*argo.Application),
) func(set *argo.ApplicationSet, apps []*argo.Application) *rollout.Explanation {
	t.Helper()
	return func(set *argo.ApplicationSet, apps []*argo.Application) *rollout.Explanation {
		g := NewWithT(t)
		known := rollout.NewSnapshot()
		var target *argo.Application
		for _, app := range apps {
			if app.Name == name {
				target = app
				if change != nil {
					change(app)
				}
			}
		}
		g.Expect(target).NotTo(BeNil())
		known.Add(set, apps...)
		object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(target)
		g.Expect(err).NotTo(HaveOccurred())
		q := rollout.Question{
			Live: &unstructured.Unstructured{Object: object}, App: target, Config: config,
			By: "the settings of Deployment stepgate/stepgate",
		}
		if by == rollout.User {
			q.Operation = rollout.NextOperation(target, by)
		}
		x, err := rollout.Explain(t.Context(), preview(known), known, q)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(x.By).To(Equal(by))
		return x
	}
}

func TestExplain(t *testing.T) {
	for name, tc := range map[string]struct {
		scene, app string
		by         rollout.Writer
		change     func(*argo.Application)
		want       rollout.Outcome
	}{
		"held":    {scene: scenes["degraded"] + " 2:qa-asia=Progressing/Synced@new:Progressing@new+op", app: "guestbook-prod-1", by: rollout.ApplicationSetController, want: rollout.Held},
		"refused": {scene: scenes["degraded"], app: "guestbook-prod-1", by: rollout.User, want: rollout.Refused},
		"allowed": {
			scene: "1:dev=Healthy/Synced@new:Healthy@new 2:qa-eu=Healthy/OutOfSync@new:Pending@new", app: "guestbook-qa-eu",
			by: rollout.ApplicationSetController, want: rollout.Allowed,
		},
		"auto-sync": {
			scene: "1:dev=Progressing/Synced@new 2:qa-eu=Healthy/OutOfSync@new", app: "guestbook-qa-eu",
			by: rollout.AutoSync, want: rollout.Held, change: func(app *argo.Application) {
				app.Spec.SyncPolicy = &argo.SyncPolicy{Automated: &argo.SyncPolicyAutomated{}}
			},
		},
		"not-compared": {
			scene: "1:dev=Healthy/Synced@new:Healthy@new 2:qa-eu=Healthy/OutOfSync@new:Pending@new", app: "guestbook-qa-eu",
			by: rollout.ApplicationSetController, change: func(app *argo.Application) { app.Spec.Source.TargetRevision = "v2" }, want: rollout.Held,
		},
		"idle": {scene: scenes["complete"], app: "guestbook-prod-1", by: rollout.ApplicationSetController, want: rollout.Idle},
		"terminated": {
			scene: "1:dev=Healthy/Synced@new:Healthy@new 2:qa-eu=Healthy/OutOfSync@new:Pending@new", app: "guestbook-qa-eu",
			by: rollout.ApplicationSetController, change: terminated, want: rollout.Held,
		},
		"in-no-step": {scene: "0:sandbox=Healthy/OutOfSync@new", app: "guestbook-sandbox", by: rollout.User, want: rollout.NotGated},
	} {
		x := explained(t, tc.scene, tc.app, tc.by, tc.change)
		if name == "held" {
			x.Events = rollout.EventsOf(events())
		}
		NewWithT(t).Expect(x.Outcome).To(Equal(tc.want), name)
		for kind, s := range screens {
			t.Run(name+" "+kind, func(t *testing.T) {
				lines := x.Lines(s, now)
				expectFits(t, s, lines)
				golden.Expect(t, "explain-"+name+"-"+kind+".golden", strings.Join(lines, "\n")+"\n")
			})
		}
		golden.Expect(t, "explain-"+name+".json", printed(t, "json", x))
	}
}

// TestAnOperationThatSaysThatItIsAutomatedIsHeld although a person sends it, and explain does not say that it starts by
// itself.
func TestAnOperationThatSaysThatItIsAutomatedIsHeld(t *testing.T) {
	g := NewWithT(t)
	set, apps := scene("1:dev=Progressing/Synced@new 2:qa-eu=Healthy/OutOfSync@new")
	known := rollout.NewSnapshot()
	known.Add(set, apps...)
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(apps[1])
	g.Expect(err).NotTo(HaveOccurred())
	x, err := rollout.Explain(t.Context(), preview(known), known, rollout.Question{
		Live: &unstructured.Unstructured{Object: object}, App: apps[1],
		Operation: rollout.NextOperation(apps[1], rollout.ApplicationSetController),
	})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(x.By).To(Equal(rollout.User))
	g.Expect(x.Verdict()).To(Equal(
		"This operation is held now: it is left out of the write, and has to be asked for again in its turn."))
}

// terminated has somebody terminate the sync of an Application to what it is compared with.
func terminated(app *argo.Application) {
	asked := app.DeepCopy()
	asked.Operation = &argo.Operation{
		Sync: &argo.SyncOperation{Revision: app.Status.Sync.Revision, Source: app.Spec.Source},
	}
	text, err := json.Marshal(asked)
	if err != nil {
		panic(err)
	}
	written, err := argocd.Decode(text)
	if err != nil {
		panic(err)
	}
	stamped, _ := argocd.Stamped(written, nil)
	app.Status.OperationState = &argo.OperationState{
		Phase: "Failed", Message: "Operation terminated", Operation: stamped.Operation.Operation,
		StartedAt: metav1.Time{Time: now.Add(-time.Minute)}, FinishedAt: &metav1.Time{Time: now.Add(-time.Second)},
	}
}

// TestGetTellsWhatIsTerminated, and how to go on.
func TestGetTellsWhatIsTerminated(t *testing.T) {
	g := NewWithT(t)
	set, apps := scene("1:dev=Healthy/Synced@new:Healthy@new 2:qa-eu=Healthy/OutOfSync@new:Progressing@new")
	terminated(apps[1])
	shown, _ := judged(set, apps).Shown("guestbook-qa-eu")
	g.Expect(shown.Sentence()).To(Equal("waits: somebody has terminated its sync: argocd app sync guestbook-qa-eu"))
	g.Expect(shown.MayStart).To(BeFalse())
}

// events are two of the gate, and one of somebody else.
func events() []eventsv1.Event {
	at := func(ago time.Duration) metav1.MicroTime { return metav1.NewMicroTime(now.Add(-ago)) }
	return []eventsv1.Event{
		{EventTime: at(4 * time.Minute), Reason: "SyncHeld", ReportingController: record.ReportingController, Note: "step 3 of ApplicationSet argocd/guestbook may not sync yet"},
		{EventTime: at(time.Minute), Reason: "OperationStarted", ReportingController: "argocd-application-controller", Note: "not shown"},
		{EventTime: at(time.Hour), Reason: "SyncReleased", ReportingController: record.ReportingController, Note: "step 3 of ApplicationSet argocd/guestbook may sync now: it has waited for 1m2s"},
	}
}

// What explain says is the rule's own answer: the text that the writer reads has the blockers that are listed.
func TestExplainAgreesWithTheRollout(t *testing.T) {
	g := NewWithT(t)
	for name, text := range scenes {
		r := judged(scene(text))
		for _, step := range r.Steps[1:] {
			for _, a := range step.Applications {
				if len(step.Applications) > 10 || a.Syncing || a.Sync == "Synced" {
					continue
				}
				x := explained(t, text, a.Name, rollout.ApplicationSetController, nil)
				g.Expect(x.Outcome == rollout.Allowed).To(Equal(a.MayStart), "%s in %s", a.Name, name)
				var blockers []string
				for _, b := range x.Blockers {
					blockers = append(blockers, b.Application)
				}
				g.Expect(blockers).To(ConsistOf(a.WaitsFor), "%s in %s", a.Name, name)
			}
		}
	}
}

// The operation of auto-sync names its revision and sources, as Argo CD's does.
func TestNextOperation(t *testing.T) {
	g := NewWithT(t)
	_, apps := scene("1:dev=Healthy/OutOfSync@new")
	guestbook.Compare(apps[0], now, guestbook.NewCommit, argo.SyncStatusCodeOutOfSync, health.HealthStatusHealthy)
	g.Expect(rollout.WriterOf(apps[0])).To(Equal(rollout.ApplicationSetController))
	apps[0].Spec.SyncPolicy = &argo.SyncPolicy{Automated: &argo.SyncPolicyAutomated{}}
	g.Expect(rollout.WriterOf(apps[0])).To(Equal(rollout.AutoSync))
	g.Expect(rollout.NextOperation(apps[0], rollout.AutoSync).Sync.Revision).To(Equal(guestbook.NewCommit))
	g.Expect(rollout.NextOperation(apps[0], rollout.ApplicationSetController).Sync.Revision).To(BeEmpty())
}
