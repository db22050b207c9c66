package rollout

import (
	"fmt"

	"github.com/stepgate/stepgate/cmd/screen"
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

// conditionLines are the conditions of the step, each with what to do about it.
func (e *Explanation) conditionLines(s screen.Screen) []string {
	if len(e.Conditions) == 0 {
		return nil
	}
	lines := []string{"", s.Paint(screen.Bold, fmt.Sprintf("Conditions of step %d", e.Step))}
	for _, c := range e.Conditions {
		if c.Met {
			lines = append(lines, s.Wrap("  "+s.Paint(screen.Good, screen.SignGood)+" ", "    ", c.Text)...)
			continue
		}
		lines = append(lines, s.Wrap("  "+s.Paint(screen.Bad, screen.SignWaiting)+" ", "    ", c.Text)...)
		lines = append(lines, s.Wrap("    Do: ", "    ", c.Do)...)
	}
	return lines
}
