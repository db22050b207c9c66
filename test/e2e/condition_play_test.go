// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/stepgate/stepgate/test/script"
)

// conditionScenarios are all of them. The rollout of each is played with progressive syncs, and with automated sync.
func conditionScenarios() []condition {
	return []condition{
		{name: "paused, and resumed", scenario: scenario{key: "wait-pause", each: 1, quick: true}, play: pausedAndResumed},
		{name: "an approval of step 3", scenario: scenario{key: "wait-approve", each: 1, quick: true}, play: approvedByUsers},
		{name: "20 s of soak before step 2", scenario: scenario{key: "wait-soak", each: 2, quick: true}, play: soaked},
		{
			name: "a sync window that opens", scenario: scenario{key: "wait-window", each: 2, quick: true, layout: ownProject, template: inOwnProject},
			play: windowOpens,
		},
		{
			name: "2 failures in a step that may have 1", play: tooManyFailures,
			scenario: scenario{key: "wait-budget", each: 5, quick: true, noRetry: true, layout: onlyStep("qa"), set: threeAtATime},
		},
	}
}

// stands is for how long a scenario watches that nothing starts.
const stands = 6 * time.Second

// stand watches that nothing of a hold starts. Without the gate it waits until something does.
func (w *waiting) stand(h *hold) {
	w.until("a comparison with the newest change", func() bool {
		w.refreshOverlooked()
		return len(w.behind(h.members)) == 0
	})
	w.pause(stands)
	if w.mode == off {
		_ = w.wait(w.scenario.within(), func() bool {
			w.starts = w.judge()
			return len(w.early()) > 0
		})
	}
}

// pausedAndResumed pauses a step, then all, then the first one, each before a commit. The earlier steps go on.
func pausedAndResumed(w *waiting) {
	for i, p := range []struct {
		pause     string
		free, yet []string
	}{
		{"2", []string{"dev"}, []string{"qa", "prod"}},
		{"all", nil, environments[:]},
		{"1", nil, environments[:]},
	} {
		if i == 2 && !w.long {
			// Before the fourth rollout in a row, stepgate would leave Argo CD half a minute.
			return
		}
		w.annotateSet("pause", p.pause)
		w.rollOut(fmt.Sprint(i + 2))
		h := w.hold(w.in(p.yet...))
		w.untilAll(w.in(p.free...))
		w.stand(h)
		h.due = w.annotateSet("pause", "")
		w.end()
	}
}

// soakFor is the time of soak before the second step.
const soakFor = 20 * time.Second

// soaked has the first step soak, and one of its Applications become Degraded in the middle: the time begins again.
func soaked(w *waiting) {
	w.annotateSet("soak", "2="+soakFor.String())
	w.rollOut("2")
	h := w.hold(w.in("qa", "prod"))
	// The promise of the time without the degradation; the degradation makes it later.
	dev := w.one("dev")
	w.untilAll(w.in("dev"))
	w.pause(soakFor / 2)
	w.health(dev, "Degraded")
	w.pause(time.Second)
	repaired := time.Now()
	w.health(dev, "Healthy")
	if since := w.live(dev).Status.Health.LastTransitionTime; since != nil && since.After(repaired) {
		repaired = since.Time
	}
	h.due.at = repaired.Add(soakFor)
	w.stand(h)
	w.end()
}

// windowOpens rolls a commit out while a deny window keeps the second step shut for some seconds, and in the long form
// another one that an allow window lets in from the next minute on.
func windowOpens(w *waiting) {
	var names []string
	for _, m := range w.in("qa") {
		names = append(names, m.name)
	}
	w.throughWindow("2", func(opens time.Time) time.Time {
		opens = opens.Truncate(time.Second)
		script.Must(w.argo.DenyUntil(w.ctx, w.project(), opens, names...))
		return opens
	})
	if w.long {
		w.throughWindow("3", func(opens time.Time) time.Time {
			opens = opens.Truncate(time.Minute).Add(time.Minute)
			script.Must(w.argo.AllowFrom(w.ctx, w.project(), opens, names...))
			return opens
		})
	}
}

// throughWindow rolls a version out. The window is shut before that, for long; its end moves when the first step is
// done.
func (w *waiting) throughWindow(version string, shut func(opens time.Time) time.Time) {
	shut(time.Now().Add(10 * time.Minute))
	w.rollOut(version)
	h := w.hold(w.in("qa"))
	w.untilAll(w.in("dev"))
	if w.scenario.automated {
		// Argo CD itself starts no automated sync while the window is shut; it parks what others start.
		w.startsByHand(w.one("qa"))
	}
	w.stand(h)
	h.due.at = shut(time.Now().Add(stands))
	w.pause(time.Until(h.due.at))
	if w.mode == off {
		// Argo CD looks at the window again when it next looks at the Application.
		w.refreshAtOnce(w.in("qa")...)
	}
	w.end()
}

// onlyStep leaves one Application in every step but one.
func onlyStep(env string) func(*rollout) {
	return func(r *rollout) {
		var some []*member
		for _, m := range r.members {
			if m.env == env || m == r.one(m.env) {
				some = append(some, m)
			}
		}
		r.members = some
	}
}

// threeAtATime lets Argo CD itself go on after two failures.
func threeAtATime(set *argo.ApplicationSet) {
	three := intstr.FromInt32(3)
	set.Spec.Strategy.RollingSync.Steps[1].MaxUpdate = &three
}

// tooManyFailures commits what no Application of the second step can deploy. Two try; the others may not. The next
// commit is good.
func tooManyFailures(w *waiting) {
	w.annotateSet("max-failures", "1")
	qa := w.in("qa")
	bad, good := files{}, files{}
	for _, m := range w.members {
		m.version = "2"
		for path, text := range m.file("Healthy") {
			bad[path] = text
		}
	}
	for _, m := range qa {
		bad[m.path+"/broken.yaml"], good[m.path+"/broken.yaml"] = notAName, ""
	}
	w.commit(qa[0].repo, bad)
	h := w.hold(qa[2:])
	h.only = true
	w.refreshAtOnce(w.in("dev")...)
	w.untilAll(w.in("dev"))
	for _, m := range qa[:2] {
		w.refreshAtOnce(m)
		w.until("the failed sync of "+m.name, func() bool {
			w.refreshOverlooked()
			return failedAt(w.live(m), m.revision)
		})
	}
	w.refreshAtOnce(append(qa[2:], w.in("prod")...)...)
	w.stand(h)
	w.commit(qa[0].repo, good)
	w.rollOut("3")
	w.end()
}

// notAName is a manifest that the API server refuses.
const notAName = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: Not_A_Name\n"

// failedAt says that the last operation of an Application has failed at a revision.
func failedAt(app *argo.Application, revision string) bool {
	last := app.Status.OperationState
	return last != nil && (last.Phase == "Failed" || last.Phase == "Error") && last.SyncResult != nil &&
		last.SyncResult.Revision == revision
}
