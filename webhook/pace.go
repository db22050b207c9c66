package webhook

import (
	"context"
	"maps"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// paceBurst is how often the same denial of an Application is repeated at once: a rollout in order needs some.
	paceBurst = 10
	// paceEvery is the distance of further repetitions. It is well inside the webhook's time.
	paceEvery = time.Second
	// paceMemory is when Applications that were not denied for a while are forgotten.
	paceMemory = 2000
	paceForget = time.Minute
)

// pace holds the ApplicationSet controller back where it repeats a write that is denied for the same reason. It does so
// without a pause of its own when the write changes spec and operation together (argo-cd up to v3.5), and always in v3.6:
// measured on v3.5.7, 13 reconciles a second, each with some writes of its own. It is held before it is judged, so that
// the answer is never older for it.
//
// Each Application has its own pace. The controller writes one after the other, so that while the first one waits, the
// others' time passes, too: a pass over many Applications is held back once, not once for each.
type pace struct {
	mu     sync.Mutex
	denied map[types.UID]*repetition
}

// repetition is the last denial of an Application.
type repetition struct {
	message string
	limiter *rate.Limiter
	last    time.Time
}

func newPace() *pace { return &pace{denied: map[types.UID]*repetition{}} }

// wait holds a write back if it is likely to be denied once more, for a third of the time that ctx leaves at most: the rest
// is for the decision. It reports whether it did. An Application that is being created has no UID, and is not held back.
func (p *pace) wait(ctx context.Context, app types.UID) bool {
	p.mu.Lock()
	r := p.denied[app]
	p.mu.Unlock()
	if r == nil {
		return false
	}
	delay := min(r.limiter.Reserve().Delay(), paceEvery)
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

// judged remembers what a denial said; anything else, with an empty message, ends the repetition.
func (p *pace) judged(app types.UID, message string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	r := p.denied[app]
	switch {
	case message == "" || app == "":
		delete(p.denied, app)
		return
	case r == nil || r.message != message:
		r = &repetition{message: message, limiter: rate.NewLimiter(rate.Every(paceEvery), paceBurst)}
		if len(p.denied) >= paceMemory {
			maps.DeleteFunc(p.denied, func(_ types.UID, r *repetition) bool { return now.Sub(r.last) >= paceForget })
		}
		p.denied[app] = r
	}
	r.last = now
}
