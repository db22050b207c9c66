package rollout

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stepgate/stepgate/cmd/screen"
	"github.com/stepgate/stepgate/policy"
)

const (
	// mostBlockers and mostEvents are how many are shown.
	mostBlockers = 10
	mostEvents   = 5
)

// Lines shows an Explanation.
func (e *Explanation) Lines(s screen.Screen, now time.Time) []string {
	lines := []string{
		s.Paint(screen.Bold, "Application") + "     " + e.Namespace + "/" + e.Application + "  " + e.Health + ", " + e.Sync,
	}
	if e.ApplicationSet != "" {
		where := "in no step"
		switch {
		case e.Steps == 0:
			where = "without steps"
		case e.Step > 0:
			where = fmt.Sprintf("step %d of %d", e.Step, e.Steps)
		}
		lines = append(lines, s.Paint(screen.Bold, "ApplicationSet")+"  "+e.ApplicationSet+", "+where)
	}
	lines = append(lines, "")
	lines = append(lines, e.verdict(s)...)
	lines = append(lines, e.candidateLines(s)...)
	lines = append(lines, e.conditionLines(s)...)
	lines = append(lines, e.blockers(s)...)
	lines = append(lines, e.facts(s)...)
	return append(lines, e.events(s, now)...)
}

// Verdict is the answer, in one or two sentences.
func (e *Explanation) Verdict() string {
	sync := map[Writer]string{
		ApplicationSetController: "A sync by the ApplicationSet controller", AutoSync: "An automated sync",
		User: "This operation",
	}[e.By]
	if e.By == User && e.ApplicationSet == "" {
		sync = "A sync that somebody asks for"
	}
	if e.Outcome == Held && e.By == User {
		return sync + " is held now: it is left out of the write, and has to be asked for again in its turn."
	}
	if e.Outcome == Held && e.Reason == string(policy.AlreadySynced) {
		return "Its sync was terminated, and nobody starts it again until somebody asks for it, or another commit comes."
	}
	if e.Outcome == Audited && e.noGate != "" {
		return sync + " is let through now although it is too early: " + e.noGate + "."
	}
	return map[Outcome]string{
		Running:  "An operation runs now. It was let through: the gate judges an operation when it is written.",
		Idle:     "It has been synced in its turn. Argo CD has nothing to sync, and nothing waits.",
		Allowed:  sync + " may start now.",
		NotGated: sync + " may start now: the gate has no say in it.",
		Audited:  sync + " is let through now although it is too early: the gate is in audit mode, and only records it.",
		Held: sync + " is held now. It starts by itself when its turn comes. A sync by a person is refused with the " +
			"text below.",
		Refused: sync + " is refused now.",
	}[e.Outcome]
}

// verdict is Verdict with a sign, and what the reason means.
func (e *Explanation) verdict(s screen.Screen) []string {
	mark, style := screen.SignGood, screen.Good
	switch e.Outcome {
	case Running:
		mark, style = screen.SignBusy, screen.Busy
	case Audited:
		mark, style = screen.SignWarning, screen.Busy
	case Held:
		mark, style = screen.SignWaiting, screen.Bad
	case Refused:
		mark, style = screen.SignBad, screen.Bad
	case Idle, Allowed, NotGated:
	}
	lines := s.Wrap(s.Paint(style, mark)+" ", "  ", e.Verdict())
	if len(e.Blockers) == 0 && e.Reason != "" && e.Outcome != Running && e.Outcome != Idle {
		lines = append(lines, s.Wrap("  ", "  ", e.Reason+": "+e.Means)...)
		if e.Do != "" && e.Waits() && !policy.Reason(e.Reason).Condition() {
			lines = append(lines, s.Wrap("  Do: ", "  ", e.Do)...)
		}
	}
	return lines
}

func (e *Explanation) blockers(s screen.Screen) []string {
	blockers := slices.DeleteFunc(slices.Clone(e.Blockers), func(b Blocker) bool {
		return policy.Reason(b.Reason).Condition()
	})
	if len(blockers) == 0 {
		return nil
	}
	lines := []string{"", s.Paint(screen.Bold, "What holds it up, in the order in which to act")}
	for i, b := range blockers[:min(len(blockers), mostBlockers)] {
		number := fmt.Sprintf("  %d. ", i+1)
		indent := strings.Repeat(" ", len(number))
		lines = append(lines, number+s.Paint(screen.Bold, b.Application)+b.where()+": "+b.why())
		if b.Says != "" {
			lines = append(lines, s.Wrap(indent, indent, "Argo CD: "+b.Says)...)
		}
		lines = append(lines, s.Wrap(indent, indent, "Do: "+b.Do)...)
	}
	if more := len(blockers) - mostBlockers; more > 0 {
		lines = append(lines, fmt.Sprintf("  and %d more; -o yaml lists all", more))
	}
	return lines
}

// where is the step and the cluster of a blocker. What the ApplicationSet comes after is in no step of it.
func (b *Blocker) where() string {
	if b.Step > 0 {
		return fmt.Sprintf(" (step %d%s)", b.Step, in(b.Cluster))
	}
	return " (comes before it" + in(b.Cluster) + ")"
}

// in names a cluster, if it is not the one in which Argo CD runs.
func in(cluster string) string {
	if cluster == "" {
		return ""
	}
	return ", cluster " + cluster
}

func (e *Explanation) facts(s screen.Screen) []string {
	lines := []string{""}
	fact := func(name, text string) {
		title := s.Paint(screen.Bold, name) + strings.Repeat(" ", 14-len(name))
		lines = append(lines, s.Wrap(title, strings.Repeat(" ", 14), text)...)
	}
	if len(e.Revisions) > 0 && e.Outcome == Idle {
		fact("Compared with", shortAll(e.Revisions))
	} else if len(e.Revisions) > 0 {
		text := shortAll(e.Revisions)
		switch {
		case e.Reason == string(policy.Paused):
			text += ", unless Argo CD has compared it with something newer by then"
		case e.Pinned:
			text += ", named in the operation, and the same at every retry"
		default:
			text += ", or what the branch points to when the sync starts: the operation names no commit"
		}
		fact("Deploys", text)
	}
	if e.Deployed != "" {
		fact("Deployed", e.Deployed)
	}
	if e.Says != "" {
		fact("Argo CD says", e.Says)
	}
	if e.Message != "" {
		fact("Text", e.Message)
	}
	for _, text := range e.Exempt {
		fact("Not gated", text)
	}
	for _, text := range e.Problems {
		fact("Problem", text)
	}
	if e.Starves != "" {
		fact("Starves", e.Starves)
	}
	fact("Judged by", e.Settings)
	if e.Gate != "" {
		fact("The gate says", e.Gate)
	}
	for _, b := range e.Blockers {
		if strings.HasPrefix(b.Detail, policy.ChangeUnseen) {
			fact("Note", "this command knows no past. A stepgate that has watched "+b.Application+" may know that Argo CD "+
				"has compared it since, and then does not wait for it.")
			break
		}
	}
	return lines
}

func (e *Explanation) events(s screen.Screen, now time.Time) []string {
	if len(e.Events) == 0 {
		return nil
	}
	lines := []string{"", s.Paint(screen.Bold, "Events of the gate")}
	var rows [][]screen.Cell
	for _, event := range e.Events[:min(len(e.Events), mostEvents)] {
		rows = append(rows, []screen.Cell{
			screen.Text(Age(now.Sub(event.Time.Time))), screen.Text(event.Reason), screen.Text(event.Note),
		})
	}
	return append(lines, s.Table(2, []screen.Column{{}, {}, {Cuts: screen.AtEnd}}, rows)...)
}
