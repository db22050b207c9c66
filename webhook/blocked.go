package webhook

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/siblings"
)

const (
	// mostWaiting bounds the Applications that are remembered. The first ones are kept: the oldest counts.
	mostWaiting = 1000
	// forgetAfter is how long a denial is remembered when nobody asks again. The ApplicationSet controller asks at least
	// every 1000 seconds. A user who gave up must not look like an ApplicationSet that hangs.
	forgetAfter = 20 * time.Minute
)

// Known gives the state of Applications as last watched; it may be out of date. No decision is made from it here.
type Known interface {
	// Owned returns the Applications that an ApplicationSet controls.
	Owned(owner types.UID) []*siblings.Projection
}

// Blocked knows since when ApplicationSets are blocked: a sync of one of their Applications was denied, and that
// Application has not synced since. It is one metric, whatever their number. Every replica sees only some of the denials,
// but its watch shows every replica when an Application gets through.
type Blocked struct {
	known Known
	now   func() time.Time

	mu      sync.Mutex
	waiting map[types.UID]*denied // by Application
}

// denied is an Application whose sync was denied.
type denied struct {
	owner       types.UID
	first, last time.Time
}

// NewBlocked returns a Blocked that looks in known whether an Application has got through.
func NewBlocked(known Known, now func() time.Time) *Blocked {
	return &Blocked{known: known, now: now, waiting: map[types.UID]*denied{}}
}

// note remembers a denial by blockers. Audit mode blocks nothing.
func (b *Blocked) note(w *write, v verdict) {
	if !v.rejects() || v.err != nil || len(v.Blockers) == 0 || w.uid == "" || len(w.owners) == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if d := b.waiting[w.uid]; d != nil {
		d.last = b.now()
		return
	}
	if len(b.waiting) < mostWaiting {
		b.waiting[w.uid] = &denied{owner: w.owners[0].UID, first: b.now(), last: b.now()}
	}
}

// forget drops the Applications that wait no longer.
func (b *Blocked) forget() {
	owned := map[types.UID]map[types.UID]*siblings.Projection{}
	for uid, d := range b.waiting {
		if owned[d.owner] == nil {
			owned[d.owner] = map[types.UID]*siblings.Projection{}
			for _, p := range b.known.Owned(d.owner) {
				owned[d.owner][p.UID] = p
			}
		}
		p := owned[d.owner][uid]
		if p == nil || gotThrough(&p.Application, d.first) || b.now().Sub(d.last) > forgetAfter {
			delete(b.waiting, uid)
		}
	}
}

// gotThrough reports whether the Application syncs, or has synced since; Argo CD's times have a resolution of one second.
func gotThrough(app *policy.Application, since time.Time) bool {
	finished := app.LastOperation.FinishedAt
	return app.OperationSet || app.LastOperation.Phase == "Running" || !finished.Before(since.Truncate(time.Second))
}

func (b *Blocked) desc() *prometheus.Desc {
	return prometheus.NewDesc("stepgate_applicationset_blocked_since_timestamp_seconds",
		"When the first denial was, in Unix seconds, of the ApplicationSet that has been blocked for longest; no sample while none is blocked.", nil, nil)
}

// Describe implements prometheus.Collector.
func (b *Blocked) Describe(out chan<- *prometheus.Desc) { out <- b.desc() }

// Collect implements prometheus.Collector.
func (b *Blocked) Collect(out chan<- prometheus.Metric) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forget()
	var oldest time.Time
	for _, d := range b.waiting {
		if oldest.IsZero() || d.first.Before(oldest) {
			oldest = d.first
		}
	}
	if !oldest.IsZero() {
		out <- prometheus.MustNewConstMetric(b.desc(), prometheus.GaugeValue, float64(oldest.Unix()))
	}
}
