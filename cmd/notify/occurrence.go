// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stepgate/stepgate/cmd/rollout"
	"github.com/stepgate/stepgate/policy"
)

// The reasons that no policy.Reason stands for.
const (
	// waitsForOthers is an Application that waits for its turn.
	waitsForOthers = "WaitsForOthers"
	// mayStart is one that nothing holds up, and that Argo CD has not started.
	mayStart = "MayStart"
	// stoppedByFailure is a step of which an Application has failed.
	stoppedByFailure = "Failed"
	// refused is a step whose evidence says no, and verified one whose evidence says yes.
	refused  = "Refused"
	verified = "Verified"
)

// occurrence is something that people are told of. The zero value says that it is not so.
type occurrence struct {
	// step is the number of the step among those of the rollout, from 1 on; 0 for none.
	step         int
	reason       string
	since        time.Time
	applications []string
	text         string
	command      string
	// of tells apart what people are told of in turn: an occurrence with the same step and of the same is the same.
	of string
}

// told is an occurrence as triggers and templates are told of it.
func (f *facts) told(o occurrence) map[string]any {
	key, at := "", strconv.Itoa(o.step)
	if o.step > 0 && f.r.Waves { // other waves may come before it
		at = f.stepName(o.step)
	}
	if o.reason != "" {
		key = at + "@" + o.of
	}
	return map[string]any{
		"is": o.reason != "", "step": o.step, "stepName": f.stepName(o.step), "reason": o.reason,
		"since": moment(o.since), "seconds": seconds(o.since, f.now),
		"applications": o.applications, "text": o.text, "command": o.command, "key": key,
	}
}

// waits is the first step that waits. It waits since its first Application does, but not for longer than the step
// before it could be at work.
func (f *facts) waits() (o occurrence) {
	if !f.enforced {
		return o
	}
	needs, waiting := map[int]bool{}, map[string]bool{}
	f.each(func(step *rollout.Step, a *rollout.Application) {
		reason := reasonOf(a)
		if reason == "" || o.step != 0 && o.step != step.Number {
			return
		}
		if since := f.waitsSince(a); o.step == 0 || since.Before(o.since) {
			o.since = since
		}
		if o.step == 0 {
			o.step, o.reason, o.command = step.Number, reason, f.command("explain", a.Name)
		}
		o.applications = append(o.applications, a.Name)
		needs[a.Need], waiting[a.Name] = true, true
	})
	if o.step == 0 {
		return o
	}
	var texts []string
	if f.problem != "" {
		texts = append(texts, plain(f.problem))
	}
	for i := range f.r.Needs {
		if n := &f.r.Needs[i]; needs[i+1] || waiting[n.Application] {
			texts = append(texts, said(n))
		}
	}
	if before := f.doneBefore(f.r.Step); before.After(o.since) {
		o.since = before
	}
	return f.named(o, texts)
}

func because(reason, detail string) string {
	if detail == "" {
		return reason
	}
	return reason + ": " + detail
}

// doneBefore is when the steps before one were done, as far as Argo CD has recorded that.
func (f *facts) doneBefore(number int) (last time.Time) {
	f.each(func(step *rollout.Step, a *rollout.Application) {
		if step.Number < number {
			last = later(last, doneAt(a))
		}
	})
	return last
}

// doneAt is when an Application was done, or its last deployment.
func doneAt(a *rollout.Application) (at time.Time) {
	if a.Since != nil {
		at = a.Since.Time
	}
	if b := a.Believed; b != nil && b.Since != nil && b.Status == "Healthy" {
		at = later(at, b.Since.Time)
	}
	return at
}

// approval is the first step that lacks nothing but an approval.
func (f *facts) approval() (o occurrence) {
	o, what := f.held(string(policy.NotApproved), false)
	if o.step > 0 {
		o.command = f.command("approve", f.set.Name) + " --step " + strconv.Itoa(f.r.Steps[o.step-1].Called())
		o.text, o.of = strings.Join(what, "; "), strings.Join(what, ";")
	}
	return o
}

// held is the first step whose syncs wait for a condition, with the texts of that. no says that it has been refused.
func (f *facts) held(reason string, no bool) (o occurrence, what []string) {
	if !f.enforced {
		return o, nil
	}
	f.each(func(step *rollout.Step, a *rollout.Application) {
		// One that was compared with an older revision has been overtaken: it waits for something that nobody wants any more.
		if a.Held != reason || a.Refused != no || a.NotCounted != "" || a.Behind() || o.step != 0 && o.step != step.Number {
			return
		}
		if since := f.waitsSince(a); o.step == 0 || since.Before(o.since) {
			o.since = since
		}
		o.step, o.reason = step.Number, reason
		o.applications = append(o.applications, a.Name)
		if text := f.textOf(step, a); !slices.Contains(what, text) {
			what = append(what, text)
		}
	})
	slices.Sort(what)
	return o, what
}

// textOf says which condition of its step an Application waits for.
func (f *facts) textOf(step *rollout.Step, a *rollout.Application) string {
	for i := range f.r.Needs {
		if n := &f.r.Needs[i]; n.Reason == a.Held && n.Step == step.Number && (a.Need == i+1 || a.Need == 0 ||
			f.r.Needs[a.Need-1].Reason != a.Held) {
			return said(n)
		}
	}
	return a.Held
}

// saidOf is the need that an Application itself is, or else why it has failed.
func (f *facts) saidOf(application, reason string) string {
	for i := range f.r.Needs {
		if n := &f.r.Needs[i]; n.Application == application {
			return said(n)
		}
	}
	return application + " (" + reason + ")"
}

// said is a need in the words of all that tells people about it. The command of an approval follows the text.
func said(n *rollout.Need) string {
	if n.Reason == string(policy.NotApproved) {
		return plain(n.Text)
	}
	return plain(n.Text) + ". Next: " + plain(n.Do)
}

// stopped is the first step that does not go on by itself: too many of it have failed, or one that others wait for.
func (f *facts) stopped() (o occurrence) {
	var texts []string
	f.each(func(step *rollout.Step, a *rollout.Application) {
		reason := f.failed(a)
		if reason == "" || o.step != 0 && o.step != step.Number {
			return
		}
		if o.step == 0 {
			o.step, o.reason, o.command = step.Number, stoppedByFailure, f.command("explain", a.Name)
		}
		o.applications = append(o.applications, a.Name)
		texts = append(texts, f.saidOf(a.Name, reason))
	})
	if held, what := f.held(string(policy.TooManyFailures), false); held.step > 0 && (o.step == 0 || held.step <= o.step) {
		o.step, o.reason, o.command = held.step, held.reason, f.command("explain", held.applications[0])
		texts = append(what, texts...)
	}
	if o.step == 0 {
		return o
	}
	return f.named(o, texts)
}

// failed says how an Application has failed, if nothing that runs or is about to start may repair it. Missing and
// Unknown are what a new Application is.
func (f *facts) failed(a *rollout.Application) string {
	switch {
	case a.Done || a.NotCounted != "" || a.Syncing:
		return ""
	case f.failures[a.Name] != "":
		return plain(because(string(policy.OperationFailed), f.failures[a.Name]))
	case !a.MayStart && (a.Health == "Degraded" || a.Reason == string(policy.OperationFailed)):
		return plain(because(a.Reason, a.Detail))
	}
	return ""
}

// verification is the first step whose evidence says no, or nothing yet, or else the last one for which it says yes.
func (f *facts) verification() occurrence {
	for _, no := range []bool{true, false} {
		if o, what := f.held(string(policy.Unverified), no); o.step > 0 {
			if no {
				o.reason = refused
			}
			o.command = f.command("explain", o.applications[0])
			o.text, o.of = strings.Join(what, "; "), o.reason+" "+strings.Join(f.revisions(in(o.applications)), ",")
			return o
		}
	}
	for i := len(f.r.Steps) - 1; i >= 0; i-- {
		if o := f.verifiedStep(&f.r.Steps[i]); o.step > 0 {
			return o
		}
	}
	return occurrence{}
}

// verifiedStep says that the evidence of a step says yes. It is verified since the step is done, if that is so.
func (f *facts) verifiedStep(step *rollout.Step) (o occurrence) {
	var texts []string
	for _, c := range step.Conditions {
		if c.Met && c.Reason == string(policy.Unverified) {
			texts = append(texts, plain(c.Text))
		}
	}
	if len(texts) == 0 {
		return o
	}
	done := step.Done == len(step.Applications)
	for i := range step.Applications {
		o.applications = append(o.applications, step.Applications[i].Name)
		if done {
			o.since = later(o.since, doneAt(&step.Applications[i]))
		}
	}
	o.step, o.reason, o.text, o.command = step.Number, verified, strings.Join(texts, "; "), f.command("get", f.set.Name)
	o.of = verified + " " + strings.Join(f.revisions(in(o.applications)), ",")
	return o
}

// complete says that everything is done. What was deployed before is not a rollout once more where it is synced again.
func (f *facts) complete() (o occurrence) {
	if f.r.Phase != rollout.Complete || f.r.Total == 0 {
		return o
	}
	f.each(func(_ *rollout.Step, a *rollout.Application) { o.since = later(o.since, doneAt(a)) })
	o.reason, o.command = string(rollout.Complete), f.command("get", f.set.Name)
	o.text = fmt.Sprintf("all %d Applications of %s are done", f.r.Total, f.r.StepCount())
	o.of = f.content()
	return o
}

// content stands for what the Applications deploy: their specs and the revisions.
func (f *facts) content() string {
	contents := slices.Clone(f.contents)
	slices.Sort(contents)
	hash := fnv.New64a()
	_, _ = fmt.Fprint(hash, slices.Compact(contents), f.revisions(all))
	return strconv.FormatUint(hash.Sum64(), 16)
}

// named completes an occurrence of Applications: it is another one at other revisions.
func (f *facts) named(o occurrence, texts []string) occurrence {
	o.of = strings.Join(f.revisions(in(o.applications)), ",")
	if more := len(texts) - mostNamed; more > 0 {
		texts = append(texts[:mostNamed:mostNamed], fmt.Sprintf("and %d more", more))
	}
	o.text = strings.Join(texts, "; ")
	return o
}
