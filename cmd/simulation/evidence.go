// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
)

// testimonies are what objects of the cluster say about revisions: Jobs, and AnalysisRuns where the name begins with "run".
type testimonies struct {
	// objects are by name, and changed is when anything last changed that was said, by the label.
	objects map[string]testimony
	changed map[string]time.Duration
	// version counts the changes.
	version int
	// watches are told what an object says now, or that it is gone.
	watches []func(testimony)
	// tester makes objects for whatever waits for evidence; nil if nobody does.
	tester *tester
	// run is what the AnalysisRuns say that stepgate creates, and created is for which ApplicationSet, by their name.
	run     tester
	created map[string]string
}

// testimony is one object, and what it says. It is not changed, but replaced.
type testimony struct {
	name string
	// label is the revision of which it speaks.
	label string
	// says is yes, no, nothing, or leaving for one that is being deleted.
	says    string
	version int
	// created is the UID of the ApplicationSet for which stepgate has created it; empty if somebody else has.
	created string
	// at is when it was made, and specs are what the specs of the Applications said then, beside the revisions.
	at    time.Duration
	specs map[string]content
}

// tester says the same of everything, some time after it was asked.
type tester struct {
	name, says string
	after      time.Duration
}

func noTestimonies() testimonies {
	return testimonies{
		objects: map[string]testimony{}, changed: map[string]time.Duration{}, created: map[string]string{},
		run: tester{says: saysYes, after: 10 * time.Second},
	}
}

// Said by objects, in the notation of scenarios.
const (
	saysYes     = "yes"
	saysNo      = "no"
	saysNothing = "nothing"
	saysLeaving = "leaving"
	saysGone    = "gone"
)

// kind is the resource of an object.
func (t testimony) kind() string {
	if strings.HasPrefix(t.name, "run") {
		return "analysisruns.argoproj.io"
	}
	return "jobs.batch"
}

// suite is its label "suite": its name up to the first "-".
func (t testimony) suite() string {
	suite, _, _ := strings.Cut(t.name, "-")
	return suite
}

// testify plays an event: an object says something of what an Application was compared with, or of a state of a
// branch, "app~1" for the one before the last. Gone deletes it.
func (w *world) testify(name, says, of string) {
	w.conditions.note("evidence")
	if says == saysGone {
		w.testimony(name, says, "")
		return
	}
	id, back, _ := strings.Cut(of, "~")
	app, b := w.api.apps[of], w.branches[id]
	switch {
	case app != nil:
		w.testimony(name, says, labelOf(app))
	case b != nil:
		w.testimony(name, says, labelOfRevision(b.states[max(b.head()-number(back), 0)].revision))
	}
}

// testimony stores what an object says, or deletes it.
func (w *world) testimony(name, says, label string) {
	e := &w.evidence
	e.version++
	old := e.objects[name]
	now := testimony{name, label, says, e.version, e.created[name], w.now, w.specs()}
	if old.name != "" {
		now.at, now.specs = old.at, old.specs
	}
	if says == saysGone {
		delete(e.objects, name)
		delete(e.created, name)
	} else {
		e.objects[name] = now
	}
	for _, label := range []string{old.label, now.label} {
		e.changed[label] = w.now
	}
	w.api.changed = w.now
	w.logf("the object %s says %s of %s", name, says, cmp.Or(label, old.label))
	for _, watched := range e.watches {
		watched(now)
	}
}

// tests has somebody look every 20 s, from now on, whether an Application waits for evidence of which there is none,
// and test what it was compared with. The object says nothing until the test is over.
func (w *world) tests(t tester) {
	first := w.evidence.tester == nil
	w.evidence.tester = &t
	if first {
		w.lookForTests()
	}
}

func (w *world) lookForTests() {
	t := w.evidence.tester
	for _, name := range w.names {
		app := w.api.apps[name]
		asked := app != nil && (w.isPending(name) || app.Status.Sync.Status == argo.SyncStatusCodeOutOfSync)
		if !asked || app.Operation != nil {
			continue
		}
		label := labelOf(app)
		checks, _ := w.conditions.checks(stepOf(app))
		for _, c := range checks {
			speaking := slices.DeleteFunc(w.speaking(c, label), func(t testimony) bool {
				return w.mayBeOfOther(w.members[name], t.at)
			})
			if c.creates || label == "" || len(speaking) > 0 {
				continue
			}
			object := c.name
			if object == "" {
				object = fmt.Sprintf("%s-%s-%d", c.suite, t.name, w.evidence.version)
			}
			w.test(object, label, *t)
		}
	}
	w.after(20*time.Second, w.lookForTests)
}

// test makes an object that says something after a while, if nothing else has changed it by then.
func (w *world) test(object, label string, t tester) {
	if _, exists := w.evidence.objects[object]; exists {
		created := w.evidence.created[object]
		w.testimony(object, saysGone, "")
		w.evidence.created[object] = created
	}
	w.testimony(object, saysNothing, label)
	version := w.evidence.version
	w.after(t.after, func() {
		if w.evidence.objects[object].version == version {
			w.testimony(object, t.says, label)
		}
	})
}

// runCreated is called when stepgate has an AnalysisRun created of a suite, for an ApplicationSet, that is made after a
// moment.
func (w *world) runCreated(step int, suite, label, set string, after time.Time) {
	object := fmt.Sprintf("%s-%d-%s", suite, step+1, label)
	for n := 2; ; n++ {
		t, exists := w.evidence.objects[object]
		if exists && (after.IsZero() || epoch.Add(t.at.Truncate(time.Second)).After(after)) {
			return
		}
		if !exists {
			break
		}
		object = fmt.Sprintf("%s-%d-%s-%d", suite, step+1, label, n)
	}
	w.evidence.created[object] = set
	w.test(object, label, w.evidence.run)
}

// check is one entry of the annotation verify, in the world's own reading.
type check struct {
	kind, name, suite string
	creates           bool
}

// checks are the entries of the annotation verify about a step. If the annotation cannot be read, all steps wait.
func (c *conditions) checks(step int) (all []check, unreadable bool) {
	text, there := c.texts["verify"]
	if !there {
		return nil, false
	}
	for _, entry := range strings.Split(text, ";") {
		entry, _, _ = strings.Cut(strings.TrimSpace(entry), " if ")
		words := strings.Fields(entry)
		of, object, ok := strings.Cut(words[0], "=")
		if n := number(of); !ok || n < 1 || n > 3 {
			return nil, true
		}
		if number(of) != step {
			continue
		}
		var own check
		switch named, labels, selects := strings.Cut(object, "?"); selects {
		case true:
			own.kind, own.suite = named, strings.TrimPrefix(labels, "suite=")
		default:
			own.kind, own.name, _ = strings.Cut(object, "/")
		}
		own.creates = len(words) > 1
		all = append(all, own)
	}
	return all, false
}

// speaking are the objects that a check asks about a revision: those that stepgate has created, if it creates them.
func (w *world) speaking(c check, label string) (all []testimony) {
	for _, name := range slices.Sorted(maps.Keys(w.evidence.objects)) {
		t := w.evidence.objects[name]
		named := t.name == c.name || c.suite != "" && t.suite() == c.suite
		if t.kind() == c.kind && t.label == label && named && (!c.creates || t.created != "") {
			all = append(all, t)
		}
	}
	return all
}

// counting are the objects that a check asks about what an operation deploys: those that were made when the spec said what
// it deploys, or what is deployed.
func (w *world) counting(c check, o *sought) []testimony {
	beside := besideSource(o.content)
	return slices.DeleteFunc(w.speaking(c, w.labelOf(o)), func(t testimony) bool {
		return beside != t.specs[o.m.name] && beside != besideSource(o.m.truth.synced)
	})
}

// mayLackEvidence reports whether somebody has to fear that all objects of others that a check asks are of another spec.
func (w *world) mayLackEvidence(o *sought) bool {
	checks, _ := w.conditions.checks(o.step)
	return slices.ContainsFunc(checks, func(c check) bool {
		return !c.creates && !slices.ContainsFunc(w.counting(c, o), func(t testimony) bool {
			return !w.mayBeOfOther(o.m, t.at)
		})
	})
}

// unverified reports whether an operation deploys something to which an object does not say yes that its step waits
// for. It goes by the objects that there are at this moment.
func (w *world) unverified(o *sought) (unmet, bool) {
	checks, unreadable := w.conditions.checks(o.step)
	if unreadable {
		return unmet{kind: "evidence", text: "nobody can read what its step waits for"}, true
	}
	if len(checks) == 0 {
		return unmet{}, false
	}
	label := w.labelOf(o)
	for _, c := range checks {
		objects := w.counting(c, o)
		if len(objects) == 0 {
			return unmet{kind: "evidence", text: fmt.Sprintf("no %s speaks of %s", c.kind, label)}, true
		}
		for _, t := range objects {
			if t.says != saysYes {
				return unmet{kind: "evidence, " + t.says, text: fmt.Sprintf("%s says %s of %s", t.name, t.says, label)}, true
			}
		}
	}
	return unmet{}, false
}

// isCreated reports whether stepgate itself has the objects created that an operation lacks, and they would say yes.
func (w *world) isCreated(o *sought) bool {
	checks, unreadable := w.conditions.checks(o.step)
	return !unreadable && w.evidence.run.says == saysYes && !slices.ContainsFunc(checks, func(c check) bool {
		objects := w.counting(c, o)
		return !c.creates && len(objects) == 0 ||
			slices.ContainsFunc(objects, func(t testimony) bool { return t.says != saysYes })
	})
}

// labelOf is how an object says that it speaks of what an operation deploys.
func (*world) labelOf(o *sought) string {
	if len(o.revisions) == 1 {
		return labelOfRevision(o.revisions[0])
	}
	return labelOfSources(o.sources, o.revisions)
}
