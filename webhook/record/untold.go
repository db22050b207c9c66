// SPDX-License-Identifier: Apache-2.0

package record

import (
	"strings"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
)

// NewUntold is the Event on an ApplicationSet of which somebody could not be told. instance names this replica.
func NewUntold(set types.NamespacedName, uid types.UID, note, instance string, now time.Time) *eventsv1.Event {
	event := &eventsv1.Event{
		Type: untold.Type, Reason: untold.Reason, Action: untold.Action, ReportingController: ReportingController,
		ReportingInstance: instance, EventTime: metav1.NewMicroTime(now), Note: note[:min(len(note), eventNote)],
		Regarding: reference("ApplicationSet", set.Namespace, set.Name, uid),
	}
	if parent, is := policy.ParentNamed(set.Name); is {
		event.Regarding = reference("Application", set.Namespace, parent, "")
	}
	event.Namespace = set.Namespace
	name := event.Regarding.Name
	event.GenerateName = strings.TrimRight(name[:min(len(name), 200)], ".-") + "-"
	return event
}
