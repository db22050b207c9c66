// SPDX-License-Identifier: Apache-2.0

package refresh

import (
	"context"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/utils/clock"
)

const (
	// window is the time in which an Application is refreshed once for the same reason. It is shorter than the 30 s
	// after which the Releaser asks again: those are counted from the beginning of its look, and the request may come a
	// moment later.
	window = 28 * time.Second
	// mostAgain is how often within a window an Application is refreshed again for the same reason, if Argo CD has
	// compared it since. More would be a loop that no refresh ends.
	mostAgain = 2
	// asksPerSecond and burst bound the refreshes that one replica requests: each makes Argo CD resolve the revision at
	// the git server and compare the Application.
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
// that is a Conflict. Where the Application is gone, the error is NotFound or Invalid.
type Asker interface {
	AskRefresh(ctx context.Context, app types.NamespacedName) error
	// AskRefreshAgain changes a request that is there already, so that its watchers see it. Without one, the error is
	// Invalid.
	AskRefreshAgain(ctx context.Context, app types.NamespacedName) error
}

// Observer is told the result of every call of Ask, for the metrics.
type Observer interface {
	RefreshDone(result string)
}

// Watch knows the requests that anybody makes, as they were seen.
type Watch interface {
	// Position is the position of the newest event.
	Position() uint64
	// Requested reports whether a refresh of an Application was seen to be requested after a position.
	Requested(app types.NamespacedName, position uint64) bool
	// Compared reports whether a comparison of an Application was seen after a position.
	Compared(app types.NamespacedName, position uint64) bool
}

// Queue asks for refreshes in the background, in the order in which they were wanted. It leaves out those that somebody
// else has asked for meanwhile, such as another replica.
type Queue struct {
	asker   Asker
	observe Observer
	watch   Watch
	waiting chan ask
	bucket  *rate.Limiter

	mu sync.Mutex
	// requested are the requests of the window.
	requested *cache.LRUExpireCache
}

// ask is what waits in the queue.
type ask struct {
	// why is for the log.
	why   string
	app   types.NamespacedName
	again bool
	// position is since when nobody else has to ask.
	position uint64
}

// request is the request to refresh an Application for a reason.
type request struct {
	app types.NamespacedName
	why string
}

// requested is a request that was made.
type requested struct {
	comparedAt time.Time
	// position is when it was wanted.
	position uint64
	again    int
}

// NewQueue returns a Queue that asks with asker once it runs. clock is that of the window.
func NewQueue(asker Asker, observe Observer, watch Watch, clock clock.PassiveClock) *Queue {
	return &Queue{
		asker: asker, observe: observe, watch: watch,
		waiting:   make(chan ask, mostWaiting),
		bucket:    rate.NewLimiter(asksPerSecond, burst),
		requested: cache.NewLRUExpireCacheWithClock(mostWaiting, clock),
	}
}

// Ask requests a refresh of an Application that was last compared at comparedAt, for the reason why, after a while.
// Another reason makes it another request. Ask never waits.
func (q *Queue) Ask(app types.NamespacedName, why string, comparedAt time.Time, wait time.Duration) {
	q.enqueue(ask{app: app, why: why}, comparedAt, wait)
}

// AskAgain makes Argo CD notice a request that it has overlooked. It never waits.
func (q *Queue) AskAgain(app types.NamespacedName, comparedAt time.Time) {
	q.enqueue(ask{app: app, why: "overlooked", again: true}, comparedAt, 0)
}

func (q *Queue) enqueue(a ask, comparedAt time.Time, wait time.Duration) {
	if !q.due(request{a.app, a.why}, requested{comparedAt: comparedAt, position: q.watch.Position()}) {
		q.observe.RefreshDone(Repeated)
		return
	}
	if wait > 0 {
		time.AfterFunc(wait, func() { q.put(a) })
		return
	}
	q.put(a)
}

func (q *Queue) put(a ask) {
	a.position = q.watch.Position()
	select {
	case q.waiting <- a:
	default:
		q.observe.RefreshDone(Dropped)
		q.requested.Remove(request{a.app, a.why})
	}
}

// due reports whether a request may be made now, and remembers it. Argo CD may have compared the Application since the
// last one although the time of its last comparison, which is in whole seconds, is the same.
func (q *Queue) due(r request, next requested) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if found, ok := q.requested.Get(r); ok {
		last, _ := found.(requested)
		compared := !last.comparedAt.Equal(next.comparedAt) || q.watch.Compared(r.app, last.position)
		if !compared || last.again == mostAgain {
			return false
		}
		next.again = last.again + 1
	}
	q.requested.Add(r, next, window)
	return true
}

// Run asks until ctx is done.
func (q *Queue) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case next := <-q.waiting:
			if !q.needless(next) && q.bucket.Wait(ctx) != nil {
				return // ctx is done
			}
			result := Needless
			if !q.needless(next) {
				result = q.ask(ctx, next)
			}
			q.observe.RefreshDone(result)
		}
	}
}

// needless reports whether somebody else has asked meanwhile.
func (q *Queue) needless(a ask) bool { return !a.again && q.watch.Requested(a.app, a.position) }

// ask asks once. After a failure the window passes before the next try, so that a missing permission is no flood.
func (q *Queue) ask(ctx context.Context, a ask) (result string) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	log := logr.FromContextOrDiscard(ctx).WithValues("namespace", a.app.Namespace, "application", a.app.Name, "reason",
		a.why, "again", a.again)
	write := q.asker.AskRefresh
	if a.again {
		write = q.asker.AskRefreshAgain
	}
	err := write(ctx, a.app)
	switch {
	case err == nil:
		log.Info("refresh requested")
		return Requested
	case apierrors.IsConflict(err) || apierrors.IsNotFound(err) || apierrors.IsInvalid(err):
		return Needless
	}
	log.Error(err, "refresh not requested: the rollout waits for Argo CD's own comparison")
	return Failed
}
