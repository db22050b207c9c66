// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/eventually"
	"github.com/stepgate/stepgate/test/script"
)

// report shows the Events and metrics that an operator sees afterwards, and the closing line.
func (p *play) report() {
	p.out.Heading("Events (kubectl get events.events.k8s.io -n argocd)")
	events := p.events()
	seen := map[string]bool{}
	for _, e := range events {
		seen[e.Reason] = true
		p.out.Line("%-8s %-18s %s\n         %s", e.Type, e.Reason, strings.ToLower(e.Regarding.Kind)+"/"+e.Regarding.Name,
			p.out.Wrap(e.Note, 9))
	}
	for _, reason := range []string{"SyncHeld", "SyncReleased", "SyncDenied", "SyncWouldBeDenied", "SyncGateBypassed"} {
		if !seen[reason] {
			p.out.Line("!! UNEXPECTED: no Event %s", reason)
			p.unexpected++
		}
	}
	p.out.Heading("Metrics")
	text := script.Get(p.gate.MetricsText(p.ctx))
	for line := range strings.Lines(text) {
		for _, name := range []string{"stepgate_decisions_total", "stepgate_requests_total", "stepgate_live_reads_total",
			"stepgate_refreshes_total", "stepgate_events_total", "stepgate_ca_bundle_in_sync"} {
			if strings.HasPrefix(line, name) {
				p.out.Line("%s", strings.TrimSpace(line))
			}
		}
	}
	p.out.Line("\ndemo: %d writes, %d held, %d denied, %d admitted, %d unexpected", p.writes, p.held, p.denied,
		p.writes-p.held-p.denied, p.unexpected)
}

// noteWith waits for an Event on an Application, with a text in its note.
func (p *play) noteWith(reason, app, text string) (note string) {
	script.Must(eventually.Succeeds(p.ctx, func() error {
		var list eventsv1.EventList
		if err := p.Admin.List(p.ctx, &list, client.InNamespace(cluster.ArgoNamespace)); err != nil {
			return err
		}
		for _, e := range list.Items {
			if e.Reason == reason && e.Regarding.Name == app && strings.Contains(e.Note, text) {
				note = e.Note
				return nil
			}
		}
		return fmt.Errorf("no Event %s on %s says %q", reason, app, text)
	}))
	return note
}

// events waits until every Event of the gate has been sent: they are posted after the answer.
func (p *play) events() []eventsv1.Event {
	var events []eventsv1.Event
	script.Must(eventually.Succeeds(p.ctx, func() error {
		var list eventsv1.EventList
		if err := p.Admin.List(p.ctx, &list, client.InNamespace(cluster.ArgoNamespace)); err != nil {
			return err
		}
		events = list.Items
		sent, err := p.gate.Metric(p.ctx, "stepgate_events_total", "result", "sent")
		bypassed := slices.ContainsFunc(events, func(e eventsv1.Event) bool { return e.Reason == "SyncGateBypassed" })
		if err == nil && (!bypassed || len(events) != int(sent)) {
			err = fmt.Errorf("%d Events are stored and %v were sent; SyncGateBypassed is among them: %t", len(events), sent,
				bypassed)
		}
		return err
	}))
	slices.SortFunc(events, func(a, b eventsv1.Event) int {
		return cmp.Compare(a.EventTime.UnixNano(), b.EventTime.UnixNano())
	})
	return events
}
