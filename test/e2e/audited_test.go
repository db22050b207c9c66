// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"slices"
	"strings"
	"time"

	eventsv1 "k8s.io/api/events/v1"

	"github.com/stepgate/stepgate/test/e2e/observer"
)

// eventSlack is how much later than the start the Event may carry its time, and how much earlier the judgement of the
// same write may be.
const eventSlack = 2 * time.Second

// eventWindow is how long stepgate posts no second Event of one Application with the same blockers.
const eventWindow = 10 * time.Minute

// compareAudit holds the Events of the gate in audit mode against the observer: every start out of order should have
// been reported as one that would have been denied.
func (s *suite) compareAudit(chosen []scenario, all table) error {
	events, err := s.readEvents(audit)
	if err != nil {
		return err
	}
	var found, missed, needless, outOfOrderOff, outOfOrderAudit int
	var offTook, auditTook []time.Duration
	for _, sc := range chosen {
		o, without := all[sc.key][audit], all[sc.key][off]
		if o == nil || o.problem != nil {
			continue
		}
		if without != nil {
			outOfOrderOff += without.outOfOrder()
			offTook = append(offTook, without.took)
		}
		outOfOrderAudit += o.outOfOrder()
		auditTook = append(auditTook, o.took)
		m := match(o, events)
		found, missed, needless = found+m.found, missed+len(m.missed), needless+len(m.alone)
		for _, start := range m.missed {
			s.out.Line("audit: %s: no Event for %s at +%.1fs, before %v", sc.key, start.Application,
				start.At.Sub(o.rollout.began).Seconds(), start.Behind)
		}
		for _, e := range m.alone {
			s.out.Line("audit: %s: an Event, but nothing out of order: +%.1fs %s", sc.key,
				e.EventTime.Sub(o.rollout.began).Seconds(), e.Note)
		}
	}
	s.out.Line("audit: found=%d missed=%d false=%d; out of order: off=%d audit=%d; median off=%.1fs audit=%.1fs", found,
		missed, needless,
		outOfOrderOff, outOfOrderAudit, median(offTook).Seconds(), median(auditTook).Seconds())
	return nil
}

type matches struct {
	found  int
	missed []observer.Start
	// alone are Events of Applications none of whose starts was out of order.
	alone []eventsv1.Event
}

// match pairs starts with Events. An Event stands for all starts of the Application with the same blockers within ten
// minutes, so one Event may match several starts, those after it. It may be one of the first installation.
func match(o *outcome, events []eventsv1.Event) matches {
	var m matches
	wrong := map[string]bool{}
	for _, s := range o.starts {
		if !s.OutOfOrder() {
			continue
		}
		wrong[s.Application] = true
		if slices.ContainsFunc(events, func(e eventsv1.Event) bool { return reports(e, s) }) {
			m.found++
		} else {
			m.missed = append(m.missed, s)
		}
	}
	for _, e := range events {
		if o.during(e) && !wrong[e.Regarding.Name] {
			m.alone = append(m.alone, e)
		}
	}
	return m
}

const wouldBeDenied = "SyncWouldBeDenied"

// reports says that an Event stands for a start: it names one of the Applications that were not done.
func reports(e eventsv1.Event, s observer.Start) bool {
	return e.Reason == wouldBeDenied && e.Regarding.Name == s.Application &&
		e.EventTime.After(s.At.Add(-eventWindow)) && !e.EventTime.After(s.At.Add(eventSlack)) &&
		slices.ContainsFunc(s.Behind, func(name string) bool { return strings.Contains(e.Note, name) })
}

// during says that an Event is of this rollout, while it was measured.
func (o *outcome) during(e eventsv1.Event) bool {
	return e.Reason == wouldBeDenied && !e.EventTime.Time.Before(o.rollout.began) &&
		!e.EventTime.After(o.ended.Add(eventSlack)) &&
		slices.ContainsFunc(o.rollout.members, func(m *member) bool { return m.name == e.Regarding.Name })
}
