// SPDX-License-Identifier: Apache-2.0

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

// mostFollowed is how many syncs are judged for the texts of one Outlook: a denial waits for that.
const mostFollowed = 20

// Roots find what denied syncs wait for in the end, for texts: by what is known, and without a read. They decide
// nothing.
type Roots struct {
	judge *judge.Judge
	known judge.KnownSets
	view  *slots.View
	kept  *cache.LRUExpireCache
}

// ahead is what is known of one ApplicationSet.
type ahead struct {
	mu      sync.Mutex
	outlook *Outlook
	walk    *walk
}

// NewRoots returns Roots by what is known. A View tells who has the slots of steps.
func NewRoots(j *judge.Judge, known judge.KnownSets, view *slots.View) *Roots {
	return &Roots{judge: j, known: known, view: view, kept: cache.NewLRUExpireCacheWithClock(mostAhead, j.Clock)}
}

// Of is the first of what a sync of an Application of an ApplicationSet waits for by a denial; nil where the denial says
// it itself, or nobody knows. Where not everything could be followed, it is for a person to look.
func (r *Roots) Of(set *argocd.ApplicationSet, app types.NamespacedName, d policy.Decision) *policy.Need {
	p := r.known.Application(app)
	if p == nil || d.Outcome != policy.Deny || len(d.Blockers) == 0 ||
		d.Reason.Condition() && d.Reason != policy.MaxUpdateReached {
		return nil
	}
	a := r.ahead(set)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.outlook == nil {
		a.outlook = New(r.judge, set, r.known, r.view)
		a.walk = newWalk(a.outlook, mostFollowed)
	}
	a.walk.cut = false
	found := a.walk.denied(a.outlook, p, d, nil)
	all := a.walk.sorted(found)
	if len(all) == 0 || d.Reason == policy.MaxUpdateReached && all[len(all)-1].Actor != policy.You {
		return nil // one slot that becomes free is enough
	}
	root := all[0]
	if a.walk.cut {
		root.Actor = policy.You
	}
	return &root
}

// ahead is that of an ApplicationSet, at most aheadFor old.
func (r *Roots) ahead(set *argocd.ApplicationSet) *ahead {
	if kept, ok := r.kept.Get(set.UID); ok {
		if a, ok := kept.(*ahead); ok {
			return a
		}
	}
	a := &ahead{}
	r.kept.Add(set.UID, a, aheadFor)
	return a
}
