package simulation

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/webhook"
	"github.com/stepgate/stepgate/webhook/argocd"
)

// records are the metrics and Events of all gates of one Player: nobody looks at them.
type records struct {
	metrics *webhook.Metrics
	events  *webhook.Events
}

func newRecords() records {
	metrics := webhook.NewMetrics(prometheus.NewRegistry())
	return records{metrics, webhook.NewEvents(nobody{}, metrics, logr.Discard(), "simulation", func() time.Time { return epoch })}
}

// recorder returns the Recorder of one gate, which remembers what that one has stopped.
func (r records) recorder(now func() time.Time) *webhook.Recorder {
	return webhook.NewRecorder(r.metrics, r.events, webhook.NewBlocked(nobody{}, now))
}

// nobody takes Events, and knows no Application.
type nobody struct{}

func (nobody) CreateEvent(context.Context, *eventsv1.Event) error { return nil }
func (nobody) Owned(types.UID) []*argocd.Projection               { return nil }
