package rollout

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Goal is what somebody waits for: a rollout that is complete, or an Application that may start.
type Goal struct {
	// Application is empty where the whole rollout is waited for.
	Application string
	// Revision is the beginning of a revision; empty stands for any.
	Revision string
}

// Reached reports whether the goal is reached, and says in one line how things are. An error says that it cannot be
// reached.
func (g Goal) Reached(r *Rollout) (reached bool, state string, err error) {
	if r.Phase == Ungated {
		return false, "", fmt.Errorf("ApplicationSet %s/%s has no steps of RollingSync: there is nothing to wait for",
			r.Namespace, r.Name)
	}
	if g.Application == "" {
		missing := g.missing(r)
		state = r.Line()
		if r.Phase == Complete && missing != "" {
			state += ", but " + missing + " is not compared with " + g.Revision + " yet"
		}
		if r.Total == 0 {
			state = fmt.Sprintf("%s/%s has no Applications yet", r.Namespace, r.Name)
		}
		return r.Phase == Complete && r.Total > 0 && missing == "", state, nil
	}
	for _, step := range r.Steps {
		for i := range step.Applications {
			if a := &step.Applications[i]; a.Name == g.Application {
				state = fmt.Sprintf("%s (step %d of %d): %s", a.Name, step.Number, len(r.Steps), a.state())
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
	return false, "", fmt.Errorf("ApplicationSet %s/%s has no Application %q any more", r.Namespace, r.Name, g.Application)
}

// missing names an Application that is not compared with the wanted revision; empty if none is missing.
func (g Goal) missing(r *Rollout) string {
	for _, step := range r.Steps {
		for i := range step.Applications {
			if a := &step.Applications[i]; a.NotCounted == "" && !g.at(a) {
				return a.Name
			}
		}
	}
	return ""
}

// at reports whether an Application is compared with the wanted revision in one of its sources.
func (g Goal) at(a *Application) bool {
	return g.Revision == "" || slices.ContainsFunc(a.Revisions, func(r string) bool {
		return strings.HasPrefix(r, g.Revision)
	})
}

// Achieved says that the goal is reached, and after how long.
func (g Goal) Achieved(r *Rollout, took time.Duration) string {
	if g.Application != "" {
		_, state, _ := g.Reached(r)
		return state
	}
	text := fmt.Sprintf("%s/%s is complete: %d Applications in %d steps", r.Namespace, r.Name, r.Total, len(r.Steps))
	if g.Revision != "" {
		text += " at " + Short(g.Revision)
	}
	return text + ", after " + Age(took)
}
