// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/report"
)

// gateController is how stepgate's Events name it.
const gateController = "stepgate.io/"

// readEvents lists the Events of a mode's namespace.
func (s *suite) readEvents(m mode) ([]eventsv1.Event, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var events eventsv1.EventList
	if err := s.Admin.List(ctx, &events, client.InNamespace(string(m))); err != nil {
		return nil, fmt.Errorf("list Events: %w", err)
	}
	return events.Items, nil
}

// warned adds the Warning Events that stepgate has posted in an ordinary rollout to the problems, one for each object.
// Where users start syncs, they are warned.
func (t *totals) warned(all table, m mode, events []eventsv1.Event) {
	ordinary := map[string]bool{}
	for _, outcomes := range all {
		if o := outcomes[m]; o != nil && !o.rollout.scenario.startedByUsers() {
			ordinary[o.rollout.name] = true
			for _, member := range o.rollout.members {
				ordinary[member.name] = true
			}
		}
	}
	said := map[string]bool{}
	for _, e := range events {
		if e.Type == corev1.EventTypeWarning && strings.HasPrefix(e.ReportingController, gateController) &&
			ordinary[e.Regarding.Name] && !said[e.Regarding.Name] {
			said[e.Regarding.Name] = true
			t.problems = append(t.problems, fmt.Errorf("a Warning Event %s on %s/%s: %s", e.Reason, m, e.Regarding.Name, e.Note))
		}
	}
}

// printEvents prints how many Events told of held and of released syncs.
func printEvents(out *report.Printer, m mode, events []eventsv1.Event) {
	counts := map[string]int{}
	for _, e := range events {
		counts[e.Reason]++
	}
	out.Line("Events, %s: SyncHeld=%d SyncReleased=%d SyncDenied=%d", m, counts["SyncHeld"], counts["SyncReleased"],
		counts["SyncDenied"])
}
