package outlook

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/cache"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/judge"
	"github.com/stepgate/stepgate/webhook/slots"
)

const (
	// aheadFor is how long an Outlook words denials. A pass of the ApplicationSet controller asks for thousands.
	aheadFor = 2 * time.Second
	// mostAhead bounds the Outlooks that are kept for that.
	mostAhead = 100
)

// Roots find what denied syncs wait for in the end, for texts: by what is known, and without a read. They decide
// nothing.
type Roots struct {
	judge *judge.Judge
	known judge.KnownSets
	view  *slots.View

	mu   sync.Mutex
	kept *cache.LRUExpireCache
}

// NewRoots returns Roots by what is known. A View tells who has the slots of steps.
func NewRoots(j *judge.Judge, known judge.KnownSets, view *slots.View) *Roots {
	return &Roots{judge: j, known: known, view: view, kept: cache.NewLRUExpireCacheWithClock(mostAhead, j.Clock)}
}

// Of is the first of what a sync of an Application of an ApplicationSet waits for by a denial; nil where the denial says
// it itself, or nobody knows.
func (r *Roots) Of(set *argocd.ApplicationSet, app types.UID, d policy.Decision) *policy.Need {
	if d.Outcome != policy.Deny || len(d.Blockers) == 0 || d.Reason.Condition() && d.Reason != policy.MaxUpdateReached {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	o := r.outlook(set)
	for _, p := range o.Applications {
		if p.UID != app {
			continue
		}
		if all := o.Roots(p, d, nil); len(all) > 0 {
			return &all[0]
		}
	}
	return nil
}

// outlook is that of an ApplicationSet, at most aheadFor old.
func (r *Roots) outlook(set *argocd.ApplicationSet) *Outlook {
	if kept, ok := r.kept.Get(set.UID); ok {
		if o, ok := kept.(*Outlook); ok {
			return o
		}
	}
	o := New(r.judge, set, r.known, r.view)
	r.kept.Add(set.UID, o, aheadFor)
	return o
}
