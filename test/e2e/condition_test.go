// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"

	"github.com/stepgate/stepgate/test/e2e/observer"
	"github.com/stepgate/stepgate/test/script"
)

// condition is a scenario in which members wait for more than the order of the steps.
type condition struct {
	scenario
	// name is its name in the table.
	name string
	play func(*waiting)
}

// waiting is a rollout in which conditions hold members. Its methods are steps of a script, as those of rollout are.
type waiting struct {
	*rollout
	holds []*hold
	// tries is the number of writes of users that the gate had to refuse, and refusals of those that it refused.
	tries, refusals int
	// long says that the scenario is played in its long form.
	long   bool
	starts []observer.Start
}

// hold is what a condition promises: none of the members starts a change before it is due.
type hold struct {
	members []*member
	// change is the first one that is held. With only, the changes after it are not.
	change int
	only   bool
	// due is zero if the members may never start.
	due moment
}

// moment is when something was stored in the cluster. version is zero for a mere time.
type moment struct {
	at      time.Time
	version uint64
}

// hold begins to hold members at the newest change.
func (w *waiting) hold(members []*member) *hold {
	h := &hold{members: members, change: len(w.changedAt) - 1}
	w.holds = append(w.holds, h)
	return h
}

// of reports whether a start is one of those that the hold is about.
func (h *hold) of(s observer.Start) bool {
	if s.Change < h.change || h.only && s.Change != h.change {
		return false
	}
	for _, m := range h.members {
		if m.name == s.Application {
			return true
		}
	}
	return false
}

// early reports whether a start breaks the promise. The order of two writes is exact; a time is compared with the
// receipt of the start.
func (h *hold) early(s observer.Start) bool {
	switch {
	case !h.of(s):
		return false
	case h.due.at.IsZero():
		return true
	case h.due.version > 0:
		return s.ResourceVersion < h.due.version
	}
	return s.At.Before(h.due.at)
}

// early are the starts that break a promise.
func (w *waiting) early() []observer.Start {
	var all []observer.Start
	for _, s := range w.starts {
		for _, h := range w.holds {
			if h.early(s) {
				all = append(all, s)
				break
			}
		}
	}
	return all
}

// times are for how long members were held by nothing but a condition, and how long after it was due they started.
func (w *waiting) times() (held, released []time.Duration) {
	for _, h := range w.holds {
		seen := map[string]bool{}
		for _, s := range w.starts {
			if seen[s.Application] || !h.of(s) || h.due.at.IsZero() || h.early(s) {
				continue
			}
			seen[s.Application] = true
			if !s.Open.IsZero() && s.Open.Before(h.due.at) {
				held, released = append(held, h.due.at.Sub(s.Open)), append(released, max(0, s.At.Sub(h.due.at)))
			}
		}
	}
	return held, released
}

// annotateSet sets an annotation of the ApplicationSet as the administrator, or removes it if the value is empty.
func (w *waiting) annotateSet(key, value string) moment {
	set := &argo.ApplicationSet{}
	set.Namespace, set.Name = string(w.mode), w.name
	w.annotateObject(set, prefix+key, value)
	return stored(set)
}

// stored is the moment of the write that has returned an ApplicationSet.
func stored(set *argo.ApplicationSet) moment {
	app := &argo.Application{}
	app.ResourceVersion = set.ResourceVersion
	return moment{time.Now(), script.Get(observer.Observe(app, false, time.Time{})).ResourceVersion}
}

// rollOut commits a version of every member, and lets Argo CD compare all of them.
func (w *waiting) rollOut(version string) {
	w.version(version, w.members)
	w.refreshAtOnce(w.members...)
}

// untilAll waits until members have the newest state.
func (w *waiting) untilAll(members []*member) {
	w.until("an earlier step", func() bool {
		w.refreshOverlooked()
		for _, m := range members {
			if app := w.live(m); app == nil || !m.atNewest(app) {
				return false
			}
		}
		return true
	})
}

// end waits until the rollout is complete. One that does not complete is an error of the scenario.
func (w *waiting) end() {
	w.complete()
	if w.finished.IsZero() {
		script.Fail("not complete: %s", w.summary())
	}
}

// prefix is the one of stepgate's annotations.
const prefix = "stepgate.io/"

// chooseConditions returns those that a comma-separated list of keys or beginnings of keys names; all when it is empty.
func chooseConditions(all []condition, list string, quick bool) []condition {
	var chosen []condition
	for _, c := range all {
		for word := range strings.SplitSeq(list, ",") {
			if strings.HasPrefix(c.key, word) && (!quick || c.quick) {
				chosen = append(chosen, c)
				break
			}
		}
	}
	return chosen
}
