// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"

	"github.com/stepgate/stepgate/cmd/simulation"
	"github.com/stepgate/stepgate/policy"
)

const (
	// patience is how long an Application waits for the ApplicationSet controller before anybody calls it waiting.
	patience = 5 * time.Second
	// answered is how soon after a hold a request for a comparison belongs to it.
	answered = 2 * time.Second
)

// script makes events of what happens in the model. It leaves out the beat of the controllers: statuses that pass,
// syncs that are only repeated, and comparisons that change nothing.
type script struct {
	report *Report
	events []*Event
	of     map[string]*part
	heldAt time.Duration
	// landed counts the commits.
	landed int
}

// part is what the script knows of one Application.
type part struct {
	step int
	// recorded is its status in the ApplicationSet.
	recorded string
	// noticed says that it has been compared with the commit.
	noticed bool
	// deploys is the revision that it last started to deploy.
	deploys string
	retries int
	// told are the messages about it that have been written.
	told map[string]bool
	// waits is the event that says that it waits, as long as that may pass.
	waits *Event
	start *Event
}

func newScript(r *Report) *script {
	s := &script{report: r, of: map[string]*part{}, heldAt: -time.Hour}
	for name, step := range r.stepOf {
		s.of[name] = &part{step: step, recorded: string(argo.ProgressiveSyncHealthy), told: map[string]bool{}}
	}
	return s
}

// hear takes what happens.
func (s *script) hear(h simulation.Observation) {
	p := s.of[h.Application]
	if p == nil {
		if h.Kind == simulation.Landed {
			s.write(h, &Event{Message: s.report.Branches[s.landed]})
			s.landed++
		}
		return
	}
	switch h.Kind {
	case simulation.Noticed:
		p.noticed = true
	case simulation.Recorded:
		s.recorded(h, p)
	case simulation.Held, simulation.WouldDeny:
		s.heldAt = h.At
		if repeated := h.Reason == string(policy.AlreadySynced); !repeated && !p.told[h.Text] {
			p.told[h.Text] = true
			s.write(h, &Event{Message: played(h.Text), Reason: h.Reason})
		}
	case simulation.Refreshed:
		if !p.noticed && h.At-s.heldAt < answered {
			s.write(h, &Event{})
		}
	default:
		s.deployed(h, p)
	}
}

// moment is one of the model's clock in a text.
var moment = regexp.MustCompile(`\b2200-\d\d-\d\dT\d\d:\d\d:\d\dZ`)

// played is a text with the moments of the rollout in place of those of the model's clock.
func played(text string) string {
	return moment.ReplaceAllStringFunc(text, func(text string) string {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return text
		}
		return clock(simulation.Since(at).Seconds())
	})
}

// deployed takes what comes of an operation.
func (s *script) deployed(h simulation.Observation, p *part) {
	switch h.Kind {
	case simulation.Started:
		if h.Text != p.deploys {
			p.deploys, p.retries, p.waits = h.Text, 0, nil
			p.start = s.write(h, &Event{})
		}
	case simulation.TooEarly:
		if p.start != nil && p.start.Behind == "" {
			p.start.Behind = h.Behind
		}
	case simulation.Retried:
		p.retries++
	case simulation.Failed:
		s.write(h, &Event{Retries: p.retries})
		p.deploys = ""
	case simulation.Degraded, simulation.Done:
		s.write(h, &Event{})
	default:
	}
}

// recorded takes a new status. Waiting is told unless it passes soon.
func (s *script) recorded(h simulation.Observation, p *part) {
	p.recorded = h.Text
	if w := p.waits; w != nil && h.Text != string(argo.ProgressiveSyncWaiting) {
		if h.At < seconds(w.Seconds)+patience {
			s.events = slices.DeleteFunc(s.events, func(e *Event) bool { return e == w })
		}
		p.waits = nil
	}
	if why := s.why(p); why != "" && h.Text == string(argo.ProgressiveSyncWaiting) {
		h.Kind = Waits
		p.waits = s.write(h, &Event{Message: why})
	}
}

// why says for what an Application waits, by the statuses that the ApplicationSet controller goes by.
func (s *script) why(p *part) string {
	for step := 1; step < p.step; step++ {
		var behind []string
		for _, name := range s.report.Steps[step-1].Applications {
			if s.of[name].recorded != string(argo.ProgressiveSyncHealthy) {
				behind = append(behind, name)
			}
		}
		if len(behind) > 0 {
			return fmt.Sprintf("%s is not done: %s", s.report.name(step), list(behind, 3))
		}
	}
	most := s.report.Steps[p.step-1].MaxUpdate
	if most == nil {
		return ""
	}
	why := fmt.Sprintf("maxUpdate of %s is %s", s.report.name(p.step), most.String())
	var busy []string
	for _, name := range s.report.Steps[p.step-1].Applications {
		if status := s.of[name].recorded; status == string(argo.ProgressiveSyncPending) ||
			status == string(argo.ProgressiveSyncProgressing) {
			busy = append(busy, name)
		}
	}
	if len(busy) > 0 {
		why += ", and " + list(busy, namedInLine) + " " + plural(len(busy) > 1, "is", "are") + " under way"
	}
	return why
}

func (s *script) write(h simulation.Observation, e *Event) *Event {
	e.Seconds, e.Kind, e.Application = rounded(h.At), h.Kind, h.Application
	if p := s.of[h.Application]; p != nil {
		e.Step, e.Wave = p.step, s.report.Steps[p.step-1].Wave
	}
	s.events = append(s.events, e)
	return e
}

// written are the events, in their order.
func (s *script) written() []Event {
	var all []Event
	for _, e := range s.events {
		all = append(all, *e)
	}
	return all
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// list names some, and says how many more there are.
func list(names []string, most int) string {
	if more := len(names) - most; more > 0 && more != 1 {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", more)
	}
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}
