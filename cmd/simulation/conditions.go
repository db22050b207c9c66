// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// annotationPrefix is before the name of every annotation of an ApplicationSet that stepgate reads.
const annotationPrefix = "stepgate.io/"

// conditions are what steps wait for beside the order, in the world's own reading: it does not use stepgate's parser.
type conditions struct {
	// texts are the annotations that users have set, without their prefix.
	texts map[string]string
	// approvals are those that were given and not taken back.
	approvals []approval
	// approver approves everything that waits, from when somebody has asked for that.
	approver string
	// changed is when the annotations last asked a step for something else.
	changed map[int]time.Duration
	// bypassedUntil is the end of the bypass.
	bypassedUntil time.Duration
	// restarts is how many replicas are still to be started again at the very moment at which they look again by
	// themselves.
	restarts int
	// any says that the history has had a condition, and kinds names them.
	any   bool
	kinds map[string]bool
	// waves are those that the steps are; nil for steps of RollingSync.
	waves []int
}

// approval is an approval as its giver meant it. The step is 1-based.
type approval struct {
	step      int
	what      string
	revisions []string
	by        string
	at        time.Duration
	// specs are what the specs of the Applications said then, beside the revisions.
	specs map[string]content
}

// annotate sets an annotation of the ApplicationSet, or removes it. stepgate's webhook would write who has paused.
func (w *world) annotate(name, value string) {
	c := &w.conditions
	if value != "" {
		c.note(name)
	}
	before := w.demands()
	if value == "" {
		delete(c.texts, name)
	} else {
		c.texts[name] = value
	}
	w.storeAnnotations()
	for step, demand := range w.demands() {
		if demand != before[step] {
			c.changed[step] = w.now
		}
	}
}

// demand is what the annotations ask a step for.
type demand struct {
	paused, approval bool
	soak             time.Duration
	budget, evidence string
}

// demands are those of the steps.
func (w *world) demands() map[int]demand {
	all, c := map[int]demand{}, &w.conditions
	for i := range w.scenario.steps() {
		soak, _ := c.soak(i + 1)
		checks, unreadable := c.checks(i + 1)
		all[i+1] = demand{
			paused: c.paused(i + 1), approval: c.needsApproval(i + 1), soak: soak, budget: c.texts["max-failures"],
			evidence: fmt.Sprint(checks, unreadable),
		}
	}
	return all
}

// storeAnnotations writes the ApplicationSets with the annotations of now.
func (w *world) storeAnnotations() {
	for _, f := range w.families {
		w.storeAnnotationsOf(f)
	}
}

func (w *world) storeAnnotationsOf(f *family) {
	set, c := *f.live, &w.conditions
	set.Annotations = w.annotations(f)
	for name, text := range c.texts {
		set.Annotations[annotationPrefix+name] = text
	}
	if c.texts["pause"] != "" {
		set.Annotations[annotationPrefix+"paused-by"] = "admin at " + w.moment(w.now)
	}
	if len(c.approvals) > 0 {
		type stamp struct {
			Step int    `json:"step"`
			Of   string `json:"of"`
			By   string `json:"by"`
			At   string `json:"at"`
		}
		var entries []string
		var stamps []stamp
		for _, a := range c.approvals {
			entries = append(entries, strconv.Itoa(c.called(a.step))+"@"+a.what)
			stamps = append(stamps, stamp{c.called(a.step), a.what, a.by, w.moment(a.at)})
		}
		set.Annotations[annotationPrefix+"approved"] = strings.Join(entries, ",")
		set.Annotations[annotationPrefix+"approved-by"] = string(encode(stamps))
	}
	if maps.Equal(set.Annotations, f.live.Annotations) {
		return
	}
	w.api.changed = w.now
	w.api.writeSet(&set)
}

// moment is a virtual time as it is written in an annotation.
func (w *world) moment(at time.Duration) string {
	return w.stampAt(at).UTC().Format(time.RFC3339)
}

// paused reports whether nothing new starts in a step.
func (c *conditions) paused(step int) bool { return c.among("pause", step) }

func (c *conditions) needsApproval(step int) bool { return c.among("approve", step) }

// among reports whether an annotation names a step. One that nobody can read names all.
func (c *conditions) among(annotation string, step int) bool {
	text, there := c.texts[annotation]
	if !there {
		return false
	}
	text, _, _ = strings.Cut(text, ":") // a reason follows
	var named []int
	for _, word := range strings.Split(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil || c.waves == nil && (n < 1 || n > 3) {
			return true
		}
		named = append(named, n)
	}
	return slices.Contains(named, c.called(step))
}

// called is the number that people call a step by.
func (c *conditions) called(step int) int {
	if c.waves == nil || step == 0 {
		return step
	}
	return c.waves[step-1]
}

// soak is for how long the earlier steps have to prove themselves before a step; for ever when nobody can read it.
func (c *conditions) soak(step int) (wait time.Duration, unreadable bool) {
	text, there := c.texts["soak"]
	if !there || step < 2 {
		return 0, false
	}
	for _, word := range strings.Split(text, ",") {
		number, value, of := strings.Cut(word, "=")
		if !of {
			number, value = strconv.Itoa(c.called(step)), word
		}
		number, value = strings.TrimSpace(number), strings.TrimSpace(value)
		d, err := time.ParseDuration(value)
		if err != nil || c.waves == nil && !slices.Contains([]string{"2", "3"}, number) {
			return time.Hour, true
		}
		if number == strconv.Itoa(c.called(step)) {
			wait = d
		}
	}
	return wait, false
}

// budget is how many of so many Applications may fail.
func (c *conditions) budget(applications int) (most int, there bool) {
	text, there := c.texts["max-failures"]
	number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	most, err := strconv.Atoi(number)
	if err != nil {
		return 0, there
	}
	if percent {
		most = applications * most / 100
	}
	return most, there
}

// bypass lets everything through for a time.
func (w *world) bypass(d time.Duration) {
	until := (w.now + d).Truncate(time.Second)
	w.conditions.note("bypass")
	w.conditions.bypassedUntil = until
	w.conditions.texts["bypass"] = w.moment(until) + " INC-1"
	w.storeAnnotations()
}

func (w *world) bypassed() bool { return w.now < w.conditions.bypassedUntil }

func (c *conditions) note(kind string) { c.any, c.kinds[kind] = true, true }

// had names the conditions that there have been.
func (c *conditions) had() []string { return slices.Sorted(maps.Keys(c.kinds)) }
