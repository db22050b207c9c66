package webhook

import (
	"context"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/cache"
)

const (
	// repeatBurst is how often the same denial of an Application is answered at once: a rollout in order needs some.
	repeatBurst = 10
	// repeatInterval is the time between further repetitions. It is well inside the webhook's time.
	repeatInterval = time.Second
	// repeatMemory bounds the Applications that are remembered, and repeatTTL how long after their last denial.
	repeatMemory = 2000
	repeatTTL    = time.Minute
)

// repeatLimiter slows the ApplicationSet controller down where it repeats a write that is denied for the same reason.
// The controller itself makes no pause when the write changes spec and operation together (argo-cd up to v3.5), and never
// makes one in v3.6: v3.5.7 was measured at 13 reconciles a second, each with some writes. The write waits before it is
// judged, so its answer is never older for the wait.
//
// Each Application has its own limit. The controller writes one Application after the other. While the first write waits,
// the others' time passes, too: a pass over many Applications is slowed down once, not once for each.
type repeatLimiter struct{ denied *cache.LRUExpireCache }

// repetition is a denial of an Application that may be repeated.
type repetition struct {
	message string
	limiter *rate.Limiter
}

func newRepeatLimiter() *repeatLimiter {
	return &repeatLimiter{denied: cache.NewLRUExpireCache(repeatMemory)}
}

// get returns the last denial of an Application, or nil.
func (l *repeatLimiter) get(app types.UID) *repetition {
	found, _ := l.denied.Get(app)
	r, _ := found.(*repetition)
	return r
}

// wait delays a write that is likely to be denied once more, for at most a third of the time that ctx leaves: the rest is
// for the decision. It reports whether it did. An Application that is being created has no UID, and never waits.
func (l *repeatLimiter) wait(ctx context.Context, app types.UID) bool {
	r := l.get(app)
	if r == nil {
		return false
	}
	delay := min(r.limiter.Reserve().Delay(), repeatInterval)
	if deadline, ok := ctx.Deadline(); ok {
		delay = min(delay, time.Until(deadline)/3)
	}
	if delay <= 0 {
		return false
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return true
}

// judged remembers the message of a denial; an empty message is any other answer, and ends the repetition.
func (l *repeatLimiter) judged(app types.UID, message string) {
	if message == "" || app == "" {
		l.denied.Remove(app)
		return
	}
	r := l.get(app)
	if r == nil || r.message != message {
		r = &repetition{message: message, limiter: rate.NewLimiter(rate.Every(repeatInterval), repeatBurst)}
	}
	l.denied.Add(app, r, repeatTTL)
}
