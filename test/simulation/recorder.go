package simulation

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/webhook"
	"github.com/stepgate/stepgate/webhook/siblings"
)

// newRecorder returns a Recorder for all gates of one Player: what it records is looked at by nobody.
func newRecorder() *webhook.Recorder {
	fixed := func() time.Time { return epoch }
	metrics := webhook.NewMetrics(prometheus.NewRegistry())
	return webhook.NewRecorder(metrics, webhook.NewEvents(nobody{}, metrics, logr.Discard(), "simulation", fixed), webhook.NewBlocked(nobody{}, fixed))
}

// nobody takes Events, and knows no Application.
type nobody struct{}

func (nobody) CreateEvent(context.Context, *eventsv1.Event) error { return nil }
func (nobody) Owned(types.UID) []*siblings.Projection             { return nil }
