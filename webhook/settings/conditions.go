// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/approval"
)

// maxSoak is the longest soak time.
const maxSoak = 366 * 24 * time.Hour

// all stands for every step in an annotation.
const all = "all"

// conditions reads what the steps of an ApplicationSet wait for beside the order. Of what it cannot read, the stricter
// reading counts: every step is paused, waits for its soak time until that is repaired, or needs an approval; no
// Application may fail.
func (a *annotations) conditions(fourEyes bool) policy.Conditions {
	c, set := policy.Conditions{FourEyes: fourEyes}, &a.of.ApplicationSet
	if text, ok := a.get(PauseAnnotation); ok {
		var err error
		c.Paused, c.PausedWhy, err = ParsePause(text, set)
		if by := a.of.Annotations.Text(PausedByAnnotation); by != "" {
			c.PausedWhy = strings.TrimPrefix(c.PausedWhy+", by "+by, ", ")
		}
		a.note(PauseAnnotation, err)
	}
	if text, ok := a.get(SoakAnnotation); ok {
		var err error
		c.Soak, err = parseSoak(text, set)
		a.note(SoakAnnotation, err)
	}
	if text, ok := a.get(ApproveAnnotation); ok {
		var err error
		c.Approve, err = parseSteps(text, set)
		a.note(ApproveAnnotation, err)
		approved, problems := approval.Approvals(a.of.Annotations.Texts(), set)
		c.Approved = approved
		for _, p := range problems {
			a.note(p.Annotation, errors.New(p.Text))
		}
	}
	if text, ok := a.get(MaxFailuresAnnotation); ok {
		budget, err := parseBudget(text)
		c.MaxFailures = &budget
		a.note(MaxFailuresAnnotation, err)
	}
	return c
}

// ParsePause reads the steps that are paused, and why if a colon and a reason follow, such as "3,4: INC-1". On any other
// text it returns all steps, and the text as the reason.
func ParsePause(text string, set *policy.ApplicationSet) (paused policy.Steps, why string, err error) {
	named, why, explained := strings.Cut(text, ":")
	if paused, err = parseSteps(named, set); err != nil {
		why = text
	}
	if err != nil && !explained && strings.Contains(strings.TrimSpace(text), " ") {
		err = fmt.Errorf(`%w, and a reason after a colon, such as "2,3: INC-1"`, err)
	}
	return paused, strings.TrimSpace(why), err
}

// parseSteps reads "all", or the numbers of steps, such as "3,4". On any other text it returns all of them.
func parseSteps(text string, set *policy.ApplicationSet) (policy.Steps, error) {
	everything := policy.Steps{All: true}
	if strings.TrimSpace(text) == all {
		return everything, nil
	}
	var some policy.Steps
	for part := range strings.SplitSeq(text, ",") {
		step, err := parseStep(part, set)
		if err != nil {
			return everything, err
		}
		some.Of = append(some.Of, step)
	}
	return some, nil
}

// parseStep reads the number of a step, and returns the 0-based step.
func parseStep(text string, set *policy.ApplicationSet) (int, error) {
	number, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		return 0, fmt.Errorf(`%.50q is not a step: write "all", or numbers such as "2,3"`, text)
	}
	return set.Step(number)
}

// parseSoak reads a time for all steps after the first, such as "30m", or times for some of them, such as "3=1h,4=24h".
func parseSoak(text string, set *policy.ApplicationSet) (policy.Soak, error) {
	unreadable := policy.Soak{Unreadable: true}
	if !strings.Contains(text, "=") {
		every, err := parseSoakTime(text)
		if err != nil {
			return unreadable, err
		}
		return policy.Soak{Every: every}, nil
	}
	soak := policy.Soak{Of: map[int]time.Duration{}}
	for part := range strings.SplitSeq(text, ",") {
		number, value, _ := strings.Cut(part, "=")
		step, err := parseStep(number, set)
		if err != nil {
			return unreadable, err
		}
		if step == 0 {
			return unreadable, errors.New("step 1 has no earlier step that could soak: name a later one")
		}
		if _, twice := soak.Of[step]; twice {
			return unreadable, fmt.Errorf("%s is named twice", policy.StepName(step))
		}
		if soak.Of[step], err = parseSoakTime(value); err != nil {
			return unreadable, err
		}
	}
	return soak, nil
}

func parseSoakTime(text string) (time.Duration, error) {
	wait, err := time.ParseDuration(strings.TrimSpace(text))
	switch {
	case err != nil:
		return 0, fmt.Errorf(`%.50q is not a time: write hours, minutes and seconds such as "90s", "30m" or "24h"`, text)
	case wait < 0:
		return 0, fmt.Errorf("%s is negative", wait)
	case wait > maxSoak:
		return 0, fmt.Errorf("%s is longer than %s, the longest soak time", wait, maxSoak)
	}
	return wait, nil
}

// parseBudget reads a number of Applications, such as "2", or a share, such as "10%". On any other text no Application
// may fail.
func parseBudget(text string) (policy.Budget, error) {
	number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	most, err := strconv.Atoi(number)
	switch {
	case err != nil:
		return policy.Budget{}, fmt.Errorf(
			`%.50q is no number of Applications: write "2", or a share of the step such as "10%%"`, text,
		)
	case most < 0:
		return policy.Budget{}, fmt.Errorf("%s is negative", text)
	case percent && most > 100:
		return policy.Budget{}, fmt.Errorf("%s is more than 100%%", text)
	}
	return policy.Budget{Most: most, Percent: percent}, nil
}
