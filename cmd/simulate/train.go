// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/stepgate/stepgate/cmd/screen"
	"github.com/stepgate/stepgate/cmd/simulation"
	"github.com/stepgate/stepgate/webhook/settings"
)

// Commits says that a commit lands every so often, for so long.
type Commits struct{ Every, For time.Duration }

// commitsText is the form of --commits.
var commitsText = regexp.MustCompile(`^every (\S+) for (\S+)$`)

// mostCommits bounds what is played.
const mostCommits = 500

// ParseCommits reads a text such as "every 10m for 6h"; an empty one stands for one commit, and gives nil.
func ParseCommits(text string) (*Commits, error) {
	if text == "" {
		return nil, nil
	}
	found := commitsText.FindStringSubmatch(strings.Join(strings.Fields(text), " "))
	if found == nil {
		return nil, fmt.Errorf("%q is not of the form \"every 10m for 6h\"", text)
	}
	every, err := time.ParseDuration(found[1])
	if err != nil {
		return nil, err
	}
	lasts, err := time.ParseDuration(found[2])
	switch {
	case err != nil:
		return nil, err
	case every < time.Second:
		return nil, fmt.Errorf("a commit every %s is too often; 1s at least", every)
	case lasts < every:
		return nil, fmt.Errorf("%s is shorter than the %s from one commit to the next", lasts, every)
	case lasts/every > mostCommits:
		return nil, fmt.Errorf("%d commits are too many; %d at most", lasts/every, mostCommits)
	}
	return &Commits{every, lasts}, nil
}

// annotations are those that are played, by the name that the model has for them; empty where the model gets something
// else in their place.
var annotations = map[string]string{
	settings.PauseAnnotation: "pause", settings.SoakAnnotation: "soak", settings.ApproveAnnotation: "approve",
	settings.MaxFailuresAnnotation: "max-failures",
	settings.ModeAnnotation:        "", settings.PinAnnotation: "", settings.TrackAnnotation: "",
}

// trackLabel is the label by which the model tells tracks apart.
const trackLabel = "track"

// addConditions sets the conditions of the ApplicationSet. Somebody approves what waits for an approval, within 20 s.
func (t *translation) addConditions(r *Rollout, o Options) {
	if o.Mode == settings.Off {
		return // nothing waits for them
	}
	var events []simulation.Event
	for annotation, name := range annotations {
		if text, there := r.Set.Annotations[annotation]; there && name != "" {
			events = append(events, simulation.Event{Do: "annotate " + name + " " + text})
		}
	}
	if _, there := r.Set.Annotations[settings.TrackAnnotation]; there {
		events = append(events, simulation.Event{Do: "annotate " + trackLabel + " " + trackLabel})
	}
	slices.SortFunc(events, func(a, b simulation.Event) int { return strings.Compare(a.Do, b.Do) })
	if _, there := r.Set.Annotations[settings.ApproveAnnotation]; there {
		events = append(events, simulation.Event{Do: "approver somebody"})
		t.limit("Somebody approves within 20 s what an Application was compared with.")
	}
	t.Events = slices.Concat(events, t.Events)
	if o.Commits != nil {
		return // what comes after the train is not shown
	}
	soak := r.settings().Conditions.Soak
	for _, step := range t.order {
		t.Patience = max(t.Patience, soak.Before(step))
	}
}

// addTrain lets commits land one after the other.
func (t *translation) addTrain(r *Rollout, o Options) {
	t.Start = o.Start && o.Mode == settings.Enforce
	t.Pin = o.Pin
	if text, there := r.Set.Annotations[settings.PinAnnotation]; there {
		t.Pin = settings.PinCompared.String()
		if pin, err := settings.ParsePin(text); err == nil {
			t.Pin = pin.String()
		}
	}
	var events []simulation.Event
	one := t.Events
	for range o.Commits.For / o.Commits.Every {
		events = append(events, one...)
		events = append(events, simulation.Event{After: o.Commits.Every - t.takes(one), Do: "wait"})
	}
	t.Events = events
}

// takes is how long some events take.
func (*translation) takes(events []simulation.Event) (d time.Duration) {
	for _, e := range events {
		d += e.After
	}
	return d
}

// CommitsReport is what came of commits that landed one after the other.
type CommitsReport struct {
	Number int          `json:"number"`
	Pin    string       `json:"pin"`
	Start  bool         `json:"start"`
	Steps  []CommitStep `json:"steps"`
}

// CommitStep is a step of it, by the Application that was deployed least.
type CommitStep struct {
	Step int `json:"step"`
	// Wave is the sync wave that it is; absent for a step of RollingSync.
	Wave *int `json:"wave,omitempty"`
	// Deployed is how many of the commits it has started to deploy while they landed.
	Deployed int `json:"deployed"`
	// LongestSeconds is the longest time without a deployment, and OldestSeconds how old what it ran was, at the most:
	// since the next commit had landed.
	LongestSeconds float64 `json:"longestSeconds"`
	OldestSeconds  float64 `json:"oldestSeconds"`
}

// conductor hears what becomes of commits.
type conductor struct {
	// landed is when each revision landed, in their order, and order are the revisions.
	landed map[string]time.Duration
	order  []string
	runs   map[string][]deployed
}

type deployed struct {
	at       time.Duration
	revision string
}

func newConductor() *conductor {
	return &conductor{landed: map[string]time.Duration{}, runs: map[string][]deployed{}}
}

func (c *conductor) hear(h simulation.Observation) {
	switch h.Kind {
	case simulation.Landed:
		c.landed[h.Text], c.order = h.At, append(c.order, h.Text)
	case simulation.Started:
		if all := c.runs[h.Application]; len(all) == 0 || all[len(all)-1].revision != h.Text {
			c.runs[h.Application] = append(all, deployed{h.At, h.Text})
		}
	default:
	}
}

// step says what became of a step until the commits ended.
func (c *conductor) step(of *Step, names []string, end time.Duration) CommitStep {
	worst := CommitStep{Step: of.Step, Wave: of.Wave, Deployed: len(c.order)}
	for _, name := range names {
		before, next := c.landed[c.order[0]], 0
		var longest, oldest time.Duration
		count := 0
		old := func(at time.Duration) {
			if next < len(c.order) {
				oldest = max(oldest, at-c.landed[c.order[next]])
			}
		}
		for _, d := range c.runs[name] {
			at, known := c.landed[d.revision]
			if !known || d.at > end {
				continue
			}
			longest = max(longest, d.at-before)
			old(d.at)
			before, count = d.at, count+1
			for next < len(c.order) && c.landed[c.order[next]] <= at {
				next++
			}
		}
		longest = max(longest, end-before)
		old(end)
		worst.Deployed = min(worst.Deployed, count)
		worst.LongestSeconds = max(worst.LongestSeconds, rounded(longest))
		worst.OldestSeconds = max(worst.OldestSeconds, rounded(oldest))
	}
	return worst
}

// commits is what came of it.
func (c *conductor) commits(r *Report, t *translation) *CommitsReport {
	all := &CommitsReport{Number: len(c.order), Pin: t.Pin, Start: t.Start}
	end := r.options.Commits.For
	for i, names := range t.steps {
		if len(names) > 0 {
			all.Steps = append(all.Steps, c.step(&r.Steps[i], names, end))
		}
	}
	return all
}

// starves reports whether a step has deployed nothing, and which is the first.
func (t *CommitsReport) starves() (step CommitStep, is bool) {
	for _, s := range t.Steps {
		if s.Deployed == 0 {
			return s, true
		}
	}
	return CommitStep{}, false
}

// text shows it.
func (t *CommitsReport) text(s screen.Screen, o Options) []string {
	start := ""
	if t.Start {
		start = ", and starts what is due"
	}
	lines := s.Wrap("", "  ", fmt.Sprintf("A commit every %s for %s: %d commits. stepgate pins to %s%s.",
		duration.HumanDuration(o.Commits.Every), duration.HumanDuration(o.Commits.For), t.Number, t.Pin, start))
	columns := []screen.Column{
		{Title: strings.ToUpper(kindOf(t.Steps[0].Wave))}, {Title: "DEPLOYED"}, {Title: "LONGEST WITHOUT"},
		{Title: "OLDEST THAT RAN"},
	}
	var rows [][]screen.Cell
	for _, step := range t.Steps {
		rows = append(rows, []screen.Cell{
			screen.Text(numberOf(step.Step, step.Wave)), screen.Text(fmt.Sprintf("%d of %d", step.Deployed, t.Number)),
			screen.Text(duration.HumanDuration(seconds(step.LongestSeconds))),
			screen.Text(duration.HumanDuration(seconds(step.OldestSeconds))),
		})
	}
	lines = append(lines, "")
	lines = append(lines, s.Table(0, columns, rows)...)
	lines = append(lines, "")
	step, starves := t.starves()
	if !starves {
		return append(lines, s.Paint(screen.Good,
			screen.SignGood+" every "+kindOf(t.Steps[0].Wave)+" goes on while commits land"))
	}
	why := "a condition lets no commit through in " + duration.HumanDuration(o.Commits.For)
	switch {
	case step.Wave != nil && t.Pin == settings.PinCompared.String():
		why = "the newest commit is never ready. Next: let it deploy older commits that the conditions allow: " +
			"--pin candidate; in the cluster, pin.mode=candidate of the chart"
	case step.Wave != nil:
	case t.Pin == settings.PinCompared.String():
		why = "the newest commit is never ready. Next: let it deploy older commits that the conditions allow: " +
			"--pin candidate --start; in the cluster, pin.mode=candidate and start.enabled=true of the chart"
	case !t.Start:
		why = "Argo CD does not start it. Next: let stepgate start it: --start, or the chart's start.enabled"
	}
	return append(lines, s.Wrap(s.Paint(screen.Bad, screen.SignBad)+" ", "  ",
		fmt.Sprintf("%s deploys nothing while commits land: %s", nameOf(step.Step, step.Wave), why))...)
}
