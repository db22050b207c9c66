package refresh

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// window is how long an Application is left alone after it was asked for, as far as it is for the same reason.
	window = 30 * time.Second
	// mostAgain is how often within a window an Application is asked for again that was compared since, and of which the
	// same is still, or once more, said. More would be a loop that no refresh ends.
	mostAgain = 2
	// asksPerSecond and burst bound what one replica asks for: each refresh makes Argo CD resolve the revision at the git
	// server and compare the Application.
	asksPerSecond = rate.Limit(20)
	burst         = 50
	// mostWaiting bounds the queue.
	mostWaiting = 2000
	askTimeout  = 10 * time.Second
)

// The results that an Observer is told.
const (
	Requested = "requested" // Argo CD was asked
	Repeated  = "repeated"  // it was asked a moment ago
	Needless  = "needless"  // somebody else has asked, or the Application is gone
	Failed    = "failed"    // the API server refused or did not answer
	Dropped   = "dropped"   // the queue was full
)

// Asker writes the request for a refresh on one Application. It must not overwrite another one, such as a hard refresh:
// that is a Conflict. Of an Application that is gone, the error is NotFound or Invalid.
type Asker interface {
	AskRefresh(ctx context.Context, app types.NamespacedName) error
}

// Observer is told what became of every call of Ask, for the metrics.
type Observer interface {
	RefreshDone(result string)
}

// Queue asks for refreshes in the background, in the order in which they were wanted.
type Queue struct {
	asker   Asker
	observe Observer
	now     func() time.Time
	waiting chan types.NamespacedName
	bucket  *rate.Limiter

	mu    sync.Mutex
	asked map[wish]asked
}

// wish is that an Application be refreshed for a reason.
type wish struct {
	app types.NamespacedName
	why string
}

// asked is the last time that a refresh of an Application was wanted and not too soon.
type asked struct {
	at         time.Time
	comparedAt time.Time
	again      int
}

// NewQueue returns a Queue that asks with asker once it runs. now is the clock of the window.
func NewQueue(asker Asker, observe Observer, now func() time.Time) *Queue {
	return &Queue{
		asker: asker, observe: observe, now: now,
		waiting: make(chan types.NamespacedName, mostWaiting),
		bucket:  rate.NewLimiter(asksPerSecond, burst),
		asked:   map[wish]asked{},
	}
}

// Ask wants an Application refreshed that was last compared at comparedAt. why is what is said of it: something else is
// another wish. It never waits.
func (q *Queue) Ask(app types.NamespacedName, why string, comparedAt time.Time) {
	w := wish{app, why}
	if !q.due(w, comparedAt) {
		q.observe.RefreshDone(Repeated)
		return
	}
	select {
	case q.waiting <- app:
	default:
		q.observe.RefreshDone(Dropped)
		q.mu.Lock()
		defer q.mu.Unlock()
		delete(q.asked, w)
	}
}

// due reports whether a wish may be asked for now, and remembers it.
func (q *Queue) due(w wish, comparedAt time.Time) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.now()
	next := asked{at: now, comparedAt: comparedAt}
	if last, ok := q.asked[w]; ok && now.Sub(last.at) < window {
		if last.comparedAt.Equal(comparedAt) || last.again == mostAgain {
			return false
		}
		next.again = last.again + 1
	}
	if len(q.asked) >= mostWaiting {
		maps.DeleteFunc(q.asked, func(_ wish, a asked) bool { return now.Sub(a.at) >= window })
	}
	q.asked[w] = next
	return true
}

// Run asks until ctx is done.
func (q *Queue) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case app := <-q.waiting:
			if q.bucket.Wait(ctx) != nil {
				return // ctx is done
			}
			q.observe.RefreshDone(q.ask(ctx, app))
		}
	}
}

// ask asks once. After a failure the window passes before the next try, so that a missing permission is no flood.
func (q *Queue) ask(ctx context.Context, app types.NamespacedName) (result string) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	log := logr.FromContextOrDiscard(ctx).WithValues("namespace", app.Namespace, "application", app.Name)
	err := q.asker.AskRefresh(ctx, app)
	switch {
	case err == nil:
		log.Info("refresh of a stale Application requested")
		return Requested
	case apierrors.IsConflict(err) || apierrors.IsNotFound(err) || apierrors.IsInvalid(err):
		return Needless
	}
	log.Error(err, "refresh of a stale Application not requested: the rollout waits for Argo CD's own comparison")
	return Failed
}
