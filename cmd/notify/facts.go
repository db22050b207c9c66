// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/stepgate/stepgate/cmd/rollout"
	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
)

const (
	// mostNamed is how many Applications a text names.
	mostNamed = 5
	// mostText bounds what a text says of one Application.
	mostText = 300
)

// facts are what triggers and templates are told of a rollout.
type facts struct {
	set *argocd.ApplicationSet
	r   *rollout.Rollout
	// enforced says that the gate holds syncs of this ApplicationSet up. Otherwise nothing waits.
	enforced bool
	// noGate says that no gate answers, and problem what is wrong with it.
	noGate  bool
	problem string
	// failures are the phases of the last operations, by the names of Applications, that failed to deploy what was
	// compared. Argo CD does not try these again.
	failures map[string]string
	// contents stand for what the Applications deploy by their specs.
	contents []string
	// since is since when an Application waits where the ApplicationSet controller has not recorded it.
	since func(app string) time.Time
	now   time.Time
}

// moment is a time as text; empty if it is not known.
func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// seconds is how long ago a time was; 0 if it is not known.
func seconds(since, now time.Time) int {
	if since.IsZero() || since.After(now) {
		return 0
	}
	return int(now.Sub(since).Seconds())
}

// plain is a text on one line without anything that a mail or a chat takes for markup.
func plain(text string) string {
	return strings.NewReplacer("<", "(", ">", ")").Replace(policy.Printable(text, mostText))
}

// vars are the facts, under the names of docs/notifications.md.
func (f *facts) vars(context map[string]string) map[string]any {
	annotations := map[string]string{}
	for _, some := range []argocd.Annotations{f.set.Annotations, f.set.Subscriptions} {
		maps.Copy(annotations, some.Texts())
	}
	labels := map[string]string{}
	for key, value := range f.set.Labels {
		labels[key] = value
	}
	return map[string]any{
		"appset": map[string]any{
			"name": f.set.Name, "namespace": f.set.Namespace, "labels": labels, "annotations": annotations,
		},
		"rollout": map[string]any{
			"phase": string(f.r.Phase), "step": f.r.Step, "stepName": f.stepName(f.r.Step), "done": f.r.Done,
			"total": f.r.Total, "enforced": f.enforced, "revision": shortAll(f.revisions(all)),
			"steps": f.steps(), "waiting": f.waiting(), "command": f.command("get", f.set.Name),
			"waits": f.told(f.waits()), "approval": f.told(f.approval()), "stopped": f.told(f.stopped()),
			"verification": f.told(f.verification()), "complete": f.told(f.complete()),
		},
		"context": context,
	}
}

// stepName is what people call a step by its number among those of the rollout; empty for none.
func (f *facts) stepName(number int) string {
	if number == 0 {
		return ""
	}
	return f.r.Steps[number-1].Name()
}

// command is what somebody types.
func (f *facts) command(verb, name string) string {
	return "stepgate " + verb + " " + name + " -n " + f.set.Namespace
}

// each are the Applications of all steps.
func (f *facts) each(do func(step *rollout.Step, app *rollout.Application)) {
	for i := range f.r.Steps {
		for k := range f.r.Steps[i].Applications {
			do(&f.r.Steps[i], &f.r.Steps[i].Applications[k])
		}
	}
}

func (f *facts) steps() []any {
	every := []any{}
	for i := range f.r.Steps {
		step := &f.r.Steps[i]
		conditions := []any{}
		for _, c := range step.Conditions {
			conditions = append(conditions, map[string]any{"reason": c.Reason, "met": c.Met, "text": plain(c.Text)})
		}
		every = append(every, map[string]any{
			"number": step.Number, "name": step.Name(), "state": stateOf(step), "done": step.Done,
			"total": len(step.Applications), "conditions": conditions,
		})
	}
	return every
}

// stateOf is the kind of a step's Applications that people want to know of first.
func stateOf(step *rollout.Step) string {
	for _, kind := range []rollout.Kind{rollout.KindFailed, rollout.KindRunning, rollout.KindHeld, rollout.KindWaits} {
		if slices.ContainsFunc(step.Applications, func(a rollout.Application) bool { return a.Kind() == kind }) {
			return string(kind)
		}
	}
	return string(rollout.KindDone)
}

// reasonOf is why an Application waits with its sync; empty if it does not.
func reasonOf(a *rollout.Application) string {
	switch {
	case a.NotCounted != "" || a.Held == string(policy.AlreadySynced):
		return ""
	case a.Held != "":
		return a.Held
	case len(a.WaitsFor) > 0:
		return waitsForOthers
	case a.MayStart:
		return mayStart
	}
	return ""
}

// waitsSince is since when an Application waits.
func (f *facts) waitsSince(a *rollout.Application) time.Time {
	if b := a.Believed; b != nil && b.Since != nil && (b.Status == "Waiting" || b.Status == "Pending") {
		return b.Since.Time
	}
	return f.since(a.Name)
}

func (f *facts) waiting() []any {
	every := []any{}
	f.each(func(step *rollout.Step, a *rollout.Application) {
		reason := reasonOf(a)
		if reason == "" || !f.enforced {
			return
		}
		since := f.waitsSince(a)
		every = append(every, map[string]any{
			"name": a.Name, "step": step.Number, "stepName": step.Name(), "reason": reason,
			"sentence": plain(a.Sentence()), "since": moment(since), "seconds": seconds(since, f.now),
		})
	})
	return every
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func all(*rollout.Application) bool { return true }

func in(names []string) func(*rollout.Application) bool {
	return func(a *rollout.Application) bool { return slices.Contains(names, a.Name) }
}

// revisions are what some Applications were last compared with, each once. Those that were compared with an older one
// than others count only if no other does.
func (f *facts) revisions(which func(*rollout.Application) bool) []string {
	var newest, every []string
	f.each(func(_ *rollout.Step, a *rollout.Application) {
		if !which(a) {
			return
		}
		every = append(every, a.Revisions...)
		if !a.Behind() {
			newest = append(newest, a.Revisions...)
		}
	})
	if len(newest) == 0 {
		newest = every
	}
	slices.Sort(newest)
	return slices.Compact(newest)
}

// shortAll is a text of revisions.
func shortAll(revisions []string) string {
	var all []string
	for _, r := range revisions[:min(len(revisions), mostNamed)] {
		all = append(all, policy.Short(r))
	}
	if len(revisions) > mostNamed {
		all = append(all, "...")
	}
	return strings.Join(all, ", ")
}
