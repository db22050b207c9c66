// SPDX-License-Identifier: Apache-2.0

package rollouts_test

import (
	"fmt"
	"testing"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/test/scenario"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/judge"
	"github.com/stepgate/stepgate/webhook/ledger"
	"github.com/stepgate/stepgate/webhook/rollouts"
	"github.com/stepgate/stepgate/webhook/settings"
)

// clock stands still.
type clock struct{ at time.Time }

func (c *clock) Now() time.Time                  { return c.at }
func (c *clock) Since(t time.Time) time.Duration { return c.at.Sub(t) }

// heard is rollouts.Told.
type heard struct{ all []string }

func (h *heard) Ended(result ledger.Result) { h.all = append(h.all, "ended "+string(result)) }
func (h *heard) Completed(step int, took time.Duration) {
	h.all = append(h.all, fmt.Sprint("completed ", step, " ", took))
}
func (h *heard) Failed(step int) { h.all = append(h.all, fmt.Sprint("failed ", step)) }
func (h *heard) Repaired(step int, took time.Duration) {
	h.all = append(h.all, fmt.Sprint("repaired ", step, " ", took))
}

// seen is what the watches have seen, with the completions of each Application.
type seen struct {
	*scenario.Watch
	completions map[string][]policy.Completion
}

// History is judge.Histories.
func (s seen) History(set *policy.ApplicationSet, changed, compared uint64) policy.History {
	h := s.Watch.History(set, changed, compared)
	of := h.Of
	h.Of = func(name string) policy.Past {
		past := of(name)
		past.Completions = s.completions[name]
		return past
	}
	return h
}

// completes has an Application seen to complete a commit with its last operation.
func (w *world) completes(name, letter string) {
	c := policy.Completion{Sources: []policy.Source{w.source(letter)}}
	if state := w.app(name).Status.OperationState; state != nil {
		c.OperatedAt, c.Since = state.StartedAt.Time, state.FinishedAt.Time
	}
	w.seen.completions[name] = append(w.seen.completions[name], c)
}

// world is a cluster at which a Chronicler looks from time to time.
type world struct {
	*scenario.Cluster
	WithT
	clock   *clock
	seen    seen
	told    *heard
	c       *rollouts.Chronicler
	stored  []byte
	history []ledger.Rollout
}

func newWorld(t *testing.T, apps string) *world {
	t.Helper()
	w := &world{
		Cluster: scenario.Of(apps), WithT: *NewWithT(t), clock: &clock{scenario.Noon}, told: &heard{},
		seen: seen{&scenario.Watch{}, map[string][]policy.Completion{}},
	}
	for _, app := range w.Apps {
		w.completes(app.Name, "a")
	}
	j := judge.New(scenario.Config(), judge.Dependencies{Histories: w.seen, Clock: w.clock})
	w.c = rollouts.NewChronicler(j, scenario.Watched{Cluster: w.Cluster}, w.told)
	w.look(0)
	return w
}

func (w *world) source(letter string) policy.Source {
	return policy.Source{Key: argocd.SourceKey(*w.Apps[0].Spec.Source), Revision: scenario.Commit(letter)}
}

func (w *world) app(name string) *argo.Application {
	for _, app := range w.Apps {
		if app.Name == name {
			return app
		}
	}
	panic(name)
}

// look looks some time later, and returns the rollouts.
func (w *world) look(later time.Duration) []ledger.Rollout {
	w.clock.at = w.clock.at.Add(later)
	after, tell, err := w.c.Next(argocd.NewApplicationSet(w.Sets[0]), w.stored)
	w.Expect(err).NotTo(HaveOccurred())
	tell()
	w.stored = after
	log, err := ledger.DecodeLog(after, "guestbook-uid")
	w.Expect(err).NotTo(HaveOccurred())
	w.history = log.Rollouts
	return w.history
}

// compares has Applications found OutOfSync with a commit.
func (w *world) compares(letter string, names ...string) {
	for _, name := range names {
		s := &w.app(name).Status
		s.Sync.Status, s.Sync.Revision = "OutOfSync", scenario.Commit(letter)
		s.ReconciledAt = ptr.To(metav1.NewTime(w.clock.at))
	}
}

// syncs has an Application sync a commit, which takes 5 s, and be complete if it is Healthy after that.
func (w *world) syncs(name, letter, phase, health string) {
	app, end := w.app(name), metav1.NewTime(w.clock.at.Add(5*time.Second))
	app.Status.Sync.Status, app.Status.Sync.Revision = "Synced", scenario.Commit(letter)
	app.Status.Health.Status, app.Status.Health.LastTransitionTime = "Healthy", &end
	if health != "" {
		app.Status.Health.Status = "Degraded"
	}
	app.Status.OperationState = &argo.OperationState{
		Phase: "Succeeded", StartedAt: metav1.NewTime(w.clock.at), FinishedAt: &end,
		Operation:  argo.Operation{Sync: &argo.SyncOperation{Revision: scenario.Commit(letter)}},
		SyncResult: &argo.SyncOperationResult{Revision: scenario.Commit(letter), Source: *app.Spec.Source},
	}
	if phase != "" {
		app.Status.OperationState.Phase, app.Status.Sync.Status = "Failed", "OutOfSync"
		return
	}
	app.Status.History = append(app.Status.History, argo.RevisionHistory{
		ID: int64(len(app.Status.History)), Revision: scenario.Commit(letter), Source: *app.Spec.Source, DeployedAt: end,
		DeployStartedAt: ptr.To(metav1.NewTime(w.clock.at)),
	})
	if health == "" {
		w.completes(name, letter)
	}
}

// TestARollout is one from the first comparison to the end, with what happens on the way.
func TestARollout(t *testing.T) {
	w := newWorld(t, "1:dev=Healthy 2:qa=Healthy 3:prod-a=Healthy 3:prod-b=Healthy")
	w.Expect(w.history).To(BeEmpty(), "what was before is not in it")
	w.clock.at = w.clock.at.Add(time.Minute)
	w.compares("b", "dev", "qa", "prod-a", "prod-b")
	first := w.look(0)
	w.Expect(first).To(HaveLen(1), "one commit")
	w.Expect(first[0].Revision).To(Equal(scenario.Commit("b")))
	w.Expect(first[0].ComparedAt).To(BeTemporally("==", w.clock.at))
	w.Expect(first[0].StartedAt).To(BeZero())
	w.Expect(first[0].Steps[1].Waits).To(HaveLen(1))
	w.Expect(first[0].Steps[1].Waits[0].For).To(ContainSubstring("dev"))

	w.clock.at = w.clock.at.Add(10 * time.Second)
	w.syncs("dev", "b", "", "Degraded")
	failed := w.look(10 * time.Second)[0].Steps[0]
	w.Expect(failed.Failures).To(ConsistOf(And(
		HaveField("Application", "dev"), HaveField("What", "it is Degraded"), HaveField("RepairedAt", BeZero()),
	)))
	w.Expect(failed.CompletedAt).To(BeZero())
	w.Expect(w.look(0)[0].Steps[0].Failures).To(HaveLen(1), "once")

	until := w.clock.at.Add(time.Hour).UTC().Format(time.RFC3339)
	w.Sets[0].Annotations = map[string]string{settings.BypassAnnotation: until + " incident 7"}
	w.look(0)
	w.Sets[0].Annotations = nil
	w.app("dev").Status.Health.Status = "Healthy"
	w.completes("dev", "b")
	repaired := w.look(30 * time.Second)[0]
	w.Expect(repaired.Steps[0].Failures[0].RepairedAt).To(BeTemporally("==", w.clock.at))
	w.Expect(repaired.Steps[0].CompletedAt).NotTo(BeZero())
	w.Expect(repaired.Bypasses).To(ConsistOf(HaveField("Why", ContainSubstring("incident 7"))))
	for _, name := range []string{"qa", "prod-a", "prod-b"} {
		w.clock.at = w.clock.at.Add(time.Minute)
		w.syncs(name, "b", "", "")
	}
	end := w.look(time.Minute)[0]
	w.Expect(end.Result).To(Equal(ledger.Complete))
	w.Expect(end.Steps).To(HaveLen(3))
	w.Expect(end.Steps[2].Applications).To(Equal(2))
	w.Expect(end.Steps[2].StartedAt).To(BeTemporally("==", w.app("prod-a").Status.OperationState.StartedAt.Time))
	for _, s := range end.Steps {
		for _, wait := range s.Waits {
			w.Expect(wait.Until).NotTo(BeZero())
		}
	}
	w.Expect(w.told.all).To(ConsistOf("failed 1", HavePrefix("repaired 1 "), HavePrefix("completed 1 "),
		HavePrefix("completed 2 "), HavePrefix("completed 3 "), "ended complete"))
	before := w.stored
	w.look(time.Hour)
	w.Expect(w.stored).To(Equal(before), "nothing has changed: no write")
}

// TestOneGoesBack: what was deployed before is a rollout again, and a repetition is none.
func TestOneGoesBack(t *testing.T) {
	w := newWorld(t, "1:dev=Healthy 2:qa=Healthy")
	for i, letter := range []string{"b", "c", "b", "b"} {
		for _, name := range []string{"dev", "qa"} {
			w.clock.at = w.clock.at.Add(time.Minute)
			w.compares(letter, name)
			w.look(time.Second)
			w.syncs(name, letter, "", "")
			w.look(10 * time.Second)
		}
		w.Expect(w.history).To(HaveLen(min(i+1, 3)))
	}
	w.Expect(w.history[2]).To(And(
		HaveField("Back", true), HaveField("Revision", scenario.Commit("b")), HaveField("Result", ledger.Complete),
	))
	w.Expect(w.history[0].Back).To(BeFalse())
}

// TestOneIsSuperseded: a step that goes on to something newer has skipped it.
func TestOneIsSuperseded(t *testing.T) {
	w := newWorld(t, "1:dev=Healthy 2:qa=Healthy")
	for _, letter := range []string{"b", "c"} {
		w.clock.at = w.clock.at.Add(time.Minute)
		w.compares(letter, "dev", "qa")
		w.syncs("dev", letter, "", "")
		w.look(10 * time.Second)
	}
	w.syncs("qa", "c", "", "")
	w.look(10 * time.Second)
	w.Expect(w.history[0]).To(HaveField("Result", ledger.Superseded))
	w.Expect(w.history[0].Steps[1].Skipped).To(BeTrue())
	w.Expect(w.history[1]).To(HaveField("Result", ledger.Complete))
}

// TestWhatIsStoredBadly begins anew, but for another version, which is left as it is.
func TestWhatIsStoredBadly(t *testing.T) {
	w := newWorld(t, "1:dev=Healthy 2:qa=Healthy")
	good := w.stored
	w.stored = good[:20]
	w.Expect(w.look(time.Minute)).To(BeEmpty())
	newer, err := ledger.EncodeLog(&ledger.Log{Version: ledger.Version + 1, UID: "guestbook-uid"})
	w.Expect(err).NotTo(HaveOccurred())
	after, _, err := w.c.Next(argocd.NewApplicationSet(w.Sets[0]), newer)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(after).To(Equal(newer))
}
