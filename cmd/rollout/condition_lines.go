// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"slices"

	"github.com/stepgate/stepgate/cmd/screen"
	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/settings"
)

// conditions shows those of the current step one by one, and those of other steps in one line that may be cut: there,
// those that hold are shown only where all do.
func (step *Step) conditions(s screen.Screen, current int) []string {
	var lines []string
	unmet := notMet(step.Conditions)
	sign := s.Paint(screen.Bad, screen.SignWaiting)
	if step.Number == current {
		for _, c := range unmet {
			lines = append(lines, s.Wrap("  "+sign+" ", "    ", c.Text)...)
		}
	} else if len(unmet) > 0 {
		text := unmet[0].Text
		if more := len(unmet) - 1; more > 0 {
			text = fmt.Sprintf("%d more conditions; %s", more, text)
		}
		lines = append(lines, "  "+sign+" "+screen.Cut(text, max(0, s.Width-4)))
	}
	if text := areMet(step.Conditions); text != "" && (step.Number == current || len(unmet) == 0) {
		lines = append(lines, s.Wrap("  "+s.Paint(screen.Good, screen.SignGood)+" ", "    ", text)...)
	}
	return lines
}

// conditionLines are the conditions of the step. The needs say what to do about them.
func (e *Explanation) conditionLines(s screen.Screen) []string {
	if len(e.Conditions) == 0 {
		return nil
	}
	lines := []string{"", s.Paint(screen.Bold, "Conditions of "+nameOf(e.Step, e.Wave))}
	for _, c := range e.Conditions {
		if c.Met {
			lines = append(lines, s.Wrap("  "+s.Paint(screen.Good, screen.SignGood)+" ", "    ", c.Text)...)
			continue
		}
		lines = append(lines, s.Wrap("  "+s.Paint(screen.Bad, screen.SignWaiting)+" ", "    ", c.Text)...)
	}
	return lines
}

// starves says that a sync of a step starves. One Application of each step tells: those of a step wait together.
func (j *judgment) starves() string {
	asked := map[int]bool{}
	for _, p := range j.Applications {
		not, step := j.unmet[p.Name], j.Set.StepOf(p.Application.Labels)
		if len(not) == 0 || asked[step] {
			continue
		}
		asked[step] = true
		if text := starves(j.waiting[p.Name].Deploying(), not, j.Settings); text != "" {
			return text
		}
	}
	return ""
}

// mostOvertaken is how many commits may take the place of what waits for a condition, until that is called starving.
const mostOvertaken = 2

// starves says that a sync waits for a soak time or an approval, and that newer commits take its place again and again;
// empty if that is not so, or if it deploys older ones. Where --pin is candidate it would, if stepgate started syncs.
func starves(in policy.Input, not []policy.Decision, s settings.Settings) string {
	if in.ApplicationSet == nil || in.Settings.Candidates || s.Mode != settings.Enforce ||
		!slices.ContainsFunc(not, func(d policy.Decision) bool {
			return d.Reason == policy.Soaking || d.Reason == policy.NotApproved || d.Reason == policy.Unverified && !d.Refused
		}) {
		return ""
	}
	passed := policy.Overtaken(in)
	if passed < mostOvertaken {
		return ""
	}
	remedy := fmt.Sprintf(" (with RollingSync this needs start.enabled=true of the chart, too): kubectl annotate "+
		"applicationset %s -n %s --overwrite %s=candidate", in.ApplicationSet.Name, in.ApplicationSet.Namespace,
		settings.PinAnnotation)
	if s.Candidates {
		remedy = ": have stepgate start syncs, with start.enabled=true of the chart; without it, " + settings.PinAnnotation +
			": candidate has no effect with RollingSync"
	}
	return fmt.Sprintf("an earlier step has deployed %d commits since the one that %s runs, and each takes the place of "+
		"the one that waits. To deploy the newest one that the conditions allow%s", passed, in.Target.Name, remedy)
}
