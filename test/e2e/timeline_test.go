// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"time"

	eventsv1 "k8s.io/api/events/v1"

	"github.com/stepgate/stepgate/test/e2e/observer"
)

// event is a line of a timeline.
type event struct {
	at   time.Time
	env  string
	text string
	// wrong and good choose its colour.
	wrong, good bool
}

// timeline is the story of a rollout, for people, without the repetitions. It returns how many of these there were.
func (o *outcome) timeline(writes []write) (events []event, repeated int, err error) {
	r := o.rollout
	posted, err := r.readEvents(r.mode)
	if err != nil {
		return nil, 0, err
	}
	for _, m := range r.members {
		history, err := r.recorder.seen(string(r.mode), map[string]bool{m.name: true})
		if err != nil {
			return nil, 0, err
		}
		events = append(events, r.compared(m, history)...)
		started, n := r.started(m, o.starts, history)
		events, repeated = append(events, started...), repeated+n
		events = slices.Concat(events, r.asked(m, writes), r.told(m, posted))
	}
	events = slices.DeleteFunc(events, func(e event) bool { return e.at.Before(r.began) })
	slices.SortStableFunc(events, func(a, b event) int { return a.at.Compare(b.at) })
	return events, repeated, nil
}

// compared is when Argo CD first looked at the member with the newest change.
func (r *rollout) compared(m *member, history []observer.Observation) []event {
	for _, o := range history {
		if o.ResourceVersion > r.since && o.Compared == m.newest() {
			return []event{
				{at: o.At, env: m.env, text: "Argo CD compares it with the commit: " + map[bool]string{true: "Synced", false: "OutOfSync"}[o.Synced]},
			}
		}
	}
	return nil
}

// started are the starts of a member's syncs, and the end of the first.
func (r *rollout) started(
	m *member, starts []observer.Start, history []observer.Observation,
) (events []event, repeated int) {
	said := false
	for _, s := range starts {
		if s.Application != m.name {
			continue
		}
		if said {
			repeated++
			continue
		}
		said = true
		e := event{at: s.At, env: m.env, text: "sync starts"}
		if s.OutOfOrder() {
			e.wrong = true
			e.text += "      <== OUT OF ORDER: not yet done: " + strings.Join(r.environments(s.Behind), ", ")
		}
		events = append(events, e)
		for _, o := range history {
			if o.ResourceVersion > s.ResourceVersion && o.Finished() && o.Operated == m.newest() {
				events = append(events, event{at: o.At, env: m.env, text: "sync done", good: true})
				break
			}
		}
	}
	return events, repeated
}

// asked are the refreshes that stepgate asked for, once.
func (r *rollout) asked(m *member, writes []write) []event {
	for _, w := range writes {
		if r.owns(w) && w.ObjectRef.Name == m.name && !w.RequestReceivedTimestamp.Before(r.began) && w.byGate(r.mode) {
			return []event{{at: w.RequestReceivedTimestamp, env: m.env, text: "stepgate asks Argo CD to compare it now"}}
		}
	}
	return nil
}

// told are the Events of stepgate on a member, each text once.
func (r *rollout) told(m *member, events []eventsv1.Event) []event {
	var all []event
	said := map[string]bool{}
	for _, e := range events {
		if e.Regarding.Name != m.name || e.EventTime.Time.Before(r.began) {
			continue
		}
		text := ""
		switch e.Reason {
		case "SyncHeld":
			text = "stepgate HOLDS its sync: " + r.short(e.Note)
		case "SyncDenied":
			text = "stepgate DENIES its sync: " + r.short(e.Note)
		case "SyncReleased":
			_, waited, _ := strings.Cut(e.Note, "it has waited for ")
			waited, _, _ = strings.Cut(waited, ",")
			text = "stepgate lets its sync through, which has waited for " + waited
		}
		if text != "" && !said[text] {
			said[text] = true
			all = append(all, event{at: e.EventTime.Time, env: m.env, text: text})
		}
	}
	return all
}

// short cuts a denial down to who is not done, and why.
func (r *rollout) short(message string) string {
	_, why, found := strings.Cut(message, "not done: ")
	if !found {
		_, why, _ = strings.Cut(message, "may not sync yet: ")
	}
	why, _, _ = strings.Cut(why, ". Next: ")
	return strings.ReplaceAll(why, r.name+"-", "")
}

func (r *rollout) environments(names []string) []string {
	var all []string
	for _, m := range r.members {
		if slices.Contains(names, m.name) {
			all = append(all, m.env)
		}
	}
	return all
}

func (e event) offset(began time.Time) string {
	return fmt.Sprintf("%+6.1fs", e.at.Sub(began).Seconds())
}
