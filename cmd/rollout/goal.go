// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stepgate/stepgate/policy"
)

// Goal is what somebody waits for: a rollout that is complete, or an Application that may start.
type Goal struct {
	// Application is empty where the whole rollout is waited for.
	Application string
	// Revision is the beginning of a revision; empty stands for any. The whole rollout has it when every Application has
	// deployed it, or a newer one.
	Revision string
}

// Reached reports whether the goal is reached, and says in one line how things are. An error says that it cannot be
// reached.
func (g Goal) Reached(r *Rollout) (reached bool, state string, err error) {
	if r.Phase == Ungated {
		return false, "", fmt.Errorf("%s has no steps of RollingSync: there is nothing to wait for", r.called())
	}
	if g.Application == "" {
		missing := g.missing(r)
		state = r.Line()
		if r.Total == 0 {
			return false, fmt.Sprintf("%s/%s has no Applications yet", r.Namespace, r.Name), nil
		}
		if g.Revision == "" {
			return r.Phase == Complete, state, nil
		}
		if missing != "" {
			state += ", and " + missing + " has not deployed " + g.Revision + " yet"
		}
		return missing == "", state, nil
	}
	for _, step := range r.Steps {
		for i := range step.Applications {
			if a := &step.Applications[i]; a.Name == g.Application {
				state = a.Name + step.aside(len(r.Steps)) + ": " + a.Sentence()
				if a.Need > 0 && len(a.WaitsFor) > 0 && a.Waits == "" {
					state += "; in the end it waits for this: " + r.Needs[a.Need-1].Text
				}
				if !g.at(a) {
					return false, state + ", not compared with " + g.Revision + " yet", nil
				}
				return a.Done || a.MayStart || a.Syncing, state, nil
			}
		}
	}
	if slices.Contains(r.Unselected, g.Application) {
		return true, g.Application + " is in no step, and is not gated", nil
	}
	return false, "", fmt.Errorf("%s has no Application %q any more", r.called(), g.Application)
}

// missing names an Application that has not deployed the wanted revision, nor a newer one, or is not done with that;
// empty if none is missing.
func (g Goal) missing(r *Rollout) string {
	order := g.order(r)
	for _, step := range r.Steps {
		for i := range step.Applications {
			a := &step.Applications[i]
			deployed := a.Health == "Healthy" && !a.Syncing && (slices.ContainsFunc(a.ran, g.is) ||
				slices.ContainsFunc(a.Runs, func(r string) bool { return slices.Contains(order, r) }))
			if a.NotCounted == "" && !deployed && (!a.Done || !g.at(a)) {
				return a.Name
			}
		}
	}
	return ""
}

// order are the revisions that are known to be newer than the wanted one: those that an Application has run after it.
func (g Goal) order(r *Rollout) (newer []string) {
	for _, step := range r.Steps {
		for _, a := range step.Applications {
			if i := slices.IndexFunc(a.ran, g.is); i >= 0 {
				newer = append(newer, a.ran[i+1:]...)
			}
		}
	}
	return newer
}

// is reports whether a revision is the wanted one.
func (g Goal) is(revision string) bool {
	return g.Revision != "" && strings.HasPrefix(revision, g.Revision)
}

// at reports whether an Application is compared with the wanted revision in one of its sources.
func (g Goal) at(a *Application) bool {
	return g.Revision == "" || slices.ContainsFunc(a.Revisions, g.is)
}

// Achieved says that the goal is reached, and after how long.
func (g Goal) Achieved(r *Rollout, took time.Duration) string {
	if g.Application != "" {
		_, state, _ := g.Reached(r)
		return state
	}
	text := fmt.Sprintf("%s/%s is complete: %d Applications in %s", r.Namespace, r.Name, r.Total, r.StepCount())
	if g.Revision != "" {
		text = fmt.Sprintf("%s/%s has %s or newer: %d Applications in %s", r.Namespace, r.Name,
			policy.Short(g.Revision), r.Total, r.StepCount())
	}
	return text + ", after " + Age(took)
}
