// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/stepgate/stepgate/cmd/screen"
	"github.com/stepgate/stepgate/cmd/simulation"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/settings"
)

// quoted reports whether the message of an entry is a text of stepgate.
func (x *entry) quoted() bool { return x.kind == simulation.Held || x.kind == simulation.WouldDeny }

// result says what came of the rollout, and what to do about it.
func (r *Report) result(s screen.Screen) []string {
	total := 0
	for _, step := range r.Steps {
		total += len(step.Applications)
	}
	var lines []string
	if r.Complete {
		sign, style, order := screen.SignGood, screen.Good, ", in order"
		if len(r.Early()) > 0 {
			sign, style, order = screen.SignWarning, screen.Busy, ", but not in order"
		} else if r.outside() != "" {
			sign, style = screen.SignWarning, screen.Busy
		}
		lines = append(lines, s.Paint(style,
			fmt.Sprintf("%s complete after %s%s: %s", sign, clock(r.Seconds)[1:], order,
				counted(total, "Application", "Applications"))))
	} else {
		lines = append(lines, s.Paint(screen.Bad,
			fmt.Sprintf("%s stands still since %s: %d of %s done", screen.SignBad, clock(r.Seconds), total-len(r.Waiting),
				counted(total, "Application", "Applications"))))
		lines = append(lines, r.standstill(s)...)
	}
	if outside := r.outside(); outside != "" {
		lines = append(lines, s.Wrap(s.Paint(screen.Busy, screen.SignWarning)+" ", "  ",
			"But "+outside+". Next: stepgate lint says where.")...)
	}
	return append(lines, r.early(s)...)
}

// early names the Applications that started before their turn.
func (r *Report) early(s screen.Screen) []string {
	var names []string
	for _, e := range r.Early() {
		if !slices.Contains(names, e.Application) {
			names = append(names, e.Application)
		}
	}
	if len(names) == 0 {
		return nil
	}
	text := plural(len(names) > 1, "1 Application starts", fmt.Sprintf("%d Applications start", len(names))) +
		" too early: " + list(r.byStep(names), 5) + ". "
	switch {
	case r.options.Mode == settings.Enforce:
		text += "stepgate has let this through. Please report it, with the files and this seed."
	case r.annotated != "":
		text += "Take the annotation away to have stepgate keep the order."
	case r.options.Mode == settings.Audit:
		text += "Mode audit only reports. Play it with --mode enforce to see it in order."
	default:
		text += "Play it without --without-gate to see the same rollout with stepgate."
	}
	return s.Wrap(s.Paint(screen.Bad, screen.SignBad)+" ", "  ", text)
}

// standstill says who is not done and why, those who hold up the others first.
func (r *Report) standstill(s screen.Screen) []string {
	var lines []string
	for _, cause := range r.causes() {
		lines = append(lines, s.Wrap("  "+s.Paint(screen.Bad, screen.SignBad)+" ", "    ", cause)...)
	}
	for _, g := range r.groups() {
		who := fmt.Sprintf("%s (%s) %s", list(g.names, namedInLine), r.name(g.step),
			plural(len(g.names) > 1, "waits", "wait"))
		if g.message == "" {
			lines = append(lines, s.Wrap("  "+s.Paint(screen.Busy, screen.SignWaiting)+" ", "    ", who+": "+g.recorded)...)
			continue
		}
		lines = append(lines, s.Wrap("  "+s.Paint(screen.Busy, screen.SignWaiting)+" ", "    ",
			who+". Whoever syncs "+plural(len(g.names) > 1, "it", "one")+" now reads:")...)
		lines = append(lines, s.Wrap("    \"", "    ", g.message+"\"")...)
	}
	return lines
}

// causes are what holds the rollout up, and what to do about each.
func (r *Report) causes() []string {
	var causes []string
	by := map[string][]string{}
	for _, x := range r.Waiting {
		if how := x.fails(); how != "" {
			by[how] = append(by[how], x.Application)
		}
	}
	if names := by[degraded]; len(names) > 0 {
		causes = append(causes, fmt.Sprintf("%s %s Degraded. Next: repair %s with another commit. The others go on by "+
			"themselves then.",
			list(names, namedInLine), plural(len(names) > 1, "is", "are"), plural(len(names) > 1, "it", "them")))
	}
	if names := by[notSynced]; len(names) > 0 {
		causes = append(causes, fmt.Sprintf("The sync of %s has failed, and Argo CD does not try it again. Next: argocd "+
			"app get %s says why; then argocd app sync %s, or another commit.",
			list(names, namedInLine), names[0], names[0]))
	}
	var byHand []string
	for _, x := range r.Waiting {
		if x.byHand {
			byHand = append(byHand, x.Application)
		}
	}
	if len(byHand) > 0 {
		causes = append(causes, fmt.Sprintf("Argo CD does not sync %s by itself: automated sync is off. Next: play that "+
			"somebody does with --by-hand APP; in the cluster: argocd app sync APP", list(byHand, namedInLine)))
	}
	for _, step := range r.Steps {
		most, limited := argocd.MostAtOnce(step.MaxUpdate, len(step.Applications))
		if len(step.Applications) > 0 && limited && most == 0 {
			causes = append(
				causes, fmt.Sprintf(
					"%s is a manual %s (maxUpdate %s): somebody has to sync %s. Next: play that with --by-hand APP; in the "+
						"cluster: argocd app sync APP", capitalized(step.name()), kindOf(step.Wave), step.MaxUpdate.String(),
					list(step.Applications, namedInLine),
				),
			)
		}
	}
	return causes
}

// How an Application fails.
const (
	degraded  = "Degraded"
	notSynced = "not synced"
)

// fails says how an Application has failed; empty if it only waits.
func (w *Waiting) fails() string {
	switch {
	case failed(w.Operation):
		return notSynced
	case w.Health == "Degraded":
		return degraded
	}
	return ""
}

// failed reports whether the phase of an operation is that of one that has failed.
func failed(phase string) bool { return phase == "Failed" || phase == "Error" }

// group are Applications of one step that wait for the same reason.
type group struct {
	step              int
	names             []string
	message, recorded string
}

// groups are those that only wait.
func (r *Report) groups() []*group {
	var all []*group
	for i := range r.Waiting {
		x := &r.Waiting[i]
		if x.fails() != "" || x.byHand {
			continue
		}
		recorded := ""
		if x.Message == "" {
			if recorded = "the ApplicationSet's status says " + x.Recorded; r.waves() {
				recorded = "Argo CD has not synced it"
			}
			recorded = cmp.Or(x.why, recorded)
		}
		n := slices.IndexFunc(all, func(g *group) bool {
			return g.step == x.Step && g.message == x.Message && g.recorded == recorded
		})
		if n < 0 {
			n = len(all)
			all = append(all, &group{step: x.Step, message: x.Message, recorded: recorded})
		}
		all[n].names = append(all[n].names, x.Application)
	}
	return all
}
