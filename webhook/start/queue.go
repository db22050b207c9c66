// SPDX-License-Identifier: Apache-2.0

// Package start writes the operations of syncs that are due and that Argo CD does not start. It decides nothing: the
// webhooks judge its writes like anybody's.
package start

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/release"
)

const (
	// perSecond and burst bound the operations that are written.
	perSecond = rate.Limit(20)
	burst     = 50
	// mostWaiting bounds the queue.
	mostWaiting = 2000
)

// The results that an Observer is told.
const (
	Started    = "started"    // the operation was written
	Terminated = "terminated" // the operation that was in the way was terminated
	Denied     = "denied"     // an admission webhook or policy denied it
	Outdated   = "outdated"   // the Application is not what was judged any more
	Needless   = "needless"   // it has run what it would deploy
	Unjudged   = "unjudged"   // the API server does not call stepgate's webhooks for it
	Failed     = "failed"     // the API server refused or did not answer
	Dropped    = "dropped"    // the queue was full, or so long that it was too late
)

// ErrOutdated says that the Application is not what was judged any more, ErrNeedless that its last operation was the one
// that would be written, whatever came of that, or that somebody has gone back from it, and ErrUnjudged that nobody
// would judge the write, as where a namespace is switched off.
var (
	ErrOutdated = errors.New("the Application has changed since it was judged")
	ErrNeedless = errors.New("its last operation was the same, or it has deployed this before and somebody has gone back")
	ErrUnjudged = errors.New("the API server does not call stepgate's webhooks for this Application")
)

// Writer writes the operation of a sync, or terminates one.
type Writer interface {
	Write(ctx context.Context, s release.Start) error
}

// Observer is told the result of every call of Start, and of which Application an operation was terminated, and why.
type Observer interface {
	StartDone(result string)
	Terminated(app types.NamespacedName, uid types.UID, why string)
}

// Queue writes operations in the background, in the order in which they were wanted, while it leads.
type Queue struct {
	writer  Writer
	observe Observer
	waiting chan release.Start
	bucket  *rate.Limiter
	leads   atomic.Bool
}

var _ release.Starter = (*Queue)(nil)

// NewQueue returns a Queue that writes with writer once it runs and leads.
func NewQueue(writer Writer, observe Observer) *Queue {
	return &Queue{
		writer: writer, observe: observe, waiting: make(chan release.Start, mostWaiting),
		bucket: rate.NewLimiter(perSecond, burst),
	}
}

// Lead says whether this replica is the one that writes.
func (q *Queue) Lead(leads bool) { q.leads.Store(leads) }

// Leads reports whether this replica is the one that writes.
func (q *Queue) Leads() bool { return q.leads.Load() }

// Start writes an operation in the background. It never waits.
func (q *Queue) Start(s release.Start) {
	select {
	case q.waiting <- s:
	default:
		q.observe.StartDone(Dropped)
	}
}

// Run writes until ctx is done.
func (q *Queue) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case next := <-q.waiting:
			if !time.Now().Before(next.Until) {
				q.observe.StartDone(Dropped) // another one has its slot by now
				continue
			}
			if q.bucket.Wait(ctx) != nil {
				return // ctx is done
			}
			q.observe.StartDone(q.write(ctx, next))
		}
	}
}

func (q *Queue) write(ctx context.Context, s release.Start) (result string) {
	if !q.Leads() {
		return Outdated // another one does
	}
	log := logr.FromContextOrDiscard(ctx).WithValues("namespace", s.App.Namespace, "application", s.App.Name,
		"applicationset", s.Set, "step", policy.StepNumber(s.Step), "revisions", s.Revisions)
	ctx, cancel := context.WithDeadline(ctx, s.Until)
	defer cancel()
	err := q.writer.Write(ctx, s)
	switch {
	case err == nil && s.Terminates:
		log.Info("sync terminated", "why", s.Why)
		q.observe.Terminated(s.App, s.UID, s.Why)
		return Terminated
	case err == nil:
		log.Info("sync started")
		return Started
	case errors.Is(err, ErrNeedless):
		log.V(1).Info("sync not started", "why", err.Error())
		return Needless
	case errors.Is(err, ErrUnjudged):
		log.Info("sync not started", "why", err.Error())
		return Unjudged
	case errors.Is(err, ErrOutdated), apierrors.IsConflict(err), apierrors.IsNotFound(err):
		log.V(1).Info("sync not started", "why", err.Error())
		return Outdated
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err):
		log.Info("sync not started: it was denied", "message", err.Error())
		return Denied
	}
	log.Error(err, "sync not started")
	return Failed
}
