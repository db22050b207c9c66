// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/record"
)

// records are the metrics and Events of all gates of one Player: nobody looks at them.
type records struct {
	metrics *record.Metrics
	events  *record.Events
}

func newRecords() records {
	metrics := record.NewMetrics(prometheus.NewRegistry())
	return records{metrics, record.NewEvents(nobody{}, metrics, logr.Discard(), "simulation", virtualClock{new(world)})}
}

// recorder returns the Recorder of one gate, which remembers what that one has stopped.
func (r records) recorder(clock virtualClock) *record.Recorder {
	return record.NewRecorder(r.metrics, r.events, record.NewWaiting(nobody{}, clock))
}

// nobody takes Events, and knows no Application.
type nobody struct{}

func (nobody) CreateEvent(context.Context, *eventsv1.Event) error { return nil }
func (nobody) Owned(types.UID) []*argocd.Projection               { return nil }
