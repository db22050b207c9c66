// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/approval"
	"github.com/stepgate/stepgate/webhook/settings"
)

// conditions are the annotations that say what steps wait for beside the order.
var conditions = []string{
	settings.PauseAnnotation, settings.SoakAnnotation, settings.ApproveAnnotation, settings.MaxFailuresAnnotation,
	settings.VerifyAnnotation,
	settings.ApprovedAnnotation,
}

// stamps are the annotations that stepgate writes.
var stamps = []string{settings.PausedByAnnotation, settings.ApprovedByAnnotation}

// unstamped reports whether the only thing that is wrong with an approval is that nobody is recorded for it. A file has
// no records.
func (c *checker) unstamped(p settings.Problem) bool {
	if c.Live || p.Annotation != settings.ApprovedAnnotation {
		return false
	}
	_, unreadable := approval.Entries(c.Set.Annotations[settings.ApprovedAnnotation], &c.rule.ApplicationSet)
	return !slices.ContainsFunc(unreadable, func(text string) bool { return strings.Contains(p.Text, text) })
}

// conditions looks at the conditions of steps.
func (c *checker) conditions(at Path) {
	given := c.Set.Annotations
	for _, name := range stamps {
		if _, is := given[name]; is && !c.Live {
			c.found("annotation-reserved", at.and(name),
				fmt.Sprintf("stepgate writes the annotation %s itself, and refuses what others write into it.", name))
		}
	}
	steps, complete := c.order()
	several := len(steps) > 1 || !complete
	if _, soaks := given[settings.SoakAnnotation]; soaks && !several {
		c.found("annotation-without-effect", at.and(settings.SoakAnnotation), fmt.Sprintf(
			"The annotation %s has no effect: with one %s, nothing soaks.", settings.SoakAnnotation,
			policy.StepKind(steps[0])))
	}
	c.approved(at.and(settings.ApprovedAnnotation))
	mode, says := settings.Enforce, ""
	if text, is := given[settings.ModeAnnotation]; is {
		if parsed, err := settings.ParseMode(text); err == nil {
			mode, says = parsed, "the annotation "+settings.ModeAnnotation
		}
	} else if installed := c.options.Installation; installed != nil {
		mode, says = installed.Mode, "the installation"
	}
	for _, name := range conditions[:4] {
		if _, is := given[name]; is && mode != settings.Enforce {
			c.found("condition-not-enforced", at.and(name),
				fmt.Sprintf("Nothing waits because of %s: the mode is %s, by %s.", name, mode, says))
		}
	}
	if mode == settings.Enforce && several {
		c.overtaken(at, steps)
	}
}

// overtaken reports steps that wait with the newest commit only, and says how often commits may land then.
func (c *checker) overtaken(at Path, steps []int) {
	read, installed := c.settings(), c.options.Installation
	remedy := "" // of the rule
	if read.Candidates {
		if installed == nil || installed.Start || !c.progressiveSyncs() {
			return
		}
		remedy = "Have stepgate start syncs: start.enabled=true of the chart."
		if _, is := c.Set.Annotations[settings.PinAnnotation]; is {
			c.found("annotation-without-effect", at.and(settings.PinAnnotation), "With RollingSync, "+settings.PinAnnotation+
				": candidate has no effect: this installation starts no syncs.").Remedy = remedy
		}
	}
	report := func(annotation, message string) {
		if f := c.found("overtaken", at.and(annotation), message); remedy != "" {
			f.Remedy = remedy
		}
	}
	for _, step := range steps[min(1, len(steps)):] { // nothing soaks before the first
		if wait := read.Conditions.Soak.Before(step); wait > 0 {
			name := policy.StepName(step)
			report(settings.SoakAnnotation, fmt.Sprintf("%s waits %s with the newest commit only. If commits land more "+
				"often than that, it is never deployed.", strings.ToUpper(name[:1])+name[1:], duration.HumanDuration(wait)))
			break
		}
	}
	if needs := read.Conditions.Approve; needs.All || len(needs.Of) > 0 {
		report(settings.ApproveAnnotation, "A commit that is approved and has not started yet is dropped as soon as a newer "+
			"one lands.")
	}
}

// approved reports approvals of steps that need none.
func (c *checker) approved(path Path) {
	needed, is := c.Set.Annotations[settings.ApproveAnnotation]
	if !is {
		return
	}
	needs := c.settings().Conditions.Approve
	entries, _ := approval.Entries(c.Set.Annotations[settings.ApprovedAnnotation], &c.rule.ApplicationSet)
	for _, e := range entries {
		if step, err := c.rule.Step(e.Number); err == nil && !needs.Has(step) {
			c.found("annotation-without-effect", path,
				fmt.Sprintf("The approval %s has no effect: %s is %q.", short(e.String()), settings.ApproveAnnotation,
					short(needed)))
		}
	}
}
