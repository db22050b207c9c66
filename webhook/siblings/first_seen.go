package siblings

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/stepgate/stepgate/policy"
)

// firstSeenTimes remember, for every Application, the comparison by which Argo CD first found the change that is pending
// on it now. The time is Argo CD's own (reconciledAt), so it can be compared with a sibling's whatever clock stepgate has.
type firstSeenTimes struct {
	mu   sync.Mutex
	seen map[types.UID]firstSeen
}

type firstSeen struct {
	compared   []policy.Source
	syncStatus string
	at         time.Time
}

// observe remembers a Projection that the watch gave. The pending change is another one when the compared sources or
// revisions change, and when the Application becomes OutOfSync: then its spec may have changed. Comparing the same again
// changes nothing.
func (s *firstSeenTimes) observe(object any) {
	p, ok := object.(*Projection)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	app := &p.Application
	now := firstSeen{compared: app.Compared, syncStatus: app.SyncStatus, at: app.ReconciledAt}
	last, known := s.seen[p.UID]
	if known && slices.Equal(last.compared, now.compared) && (now.syncStatus != "OutOfSync" || last.syncStatus == "OutOfSync") {
		now.at = last.at
	}
	s.seen[p.UID] = now
}

// forget forgets an Application that is gone.
func (s *firstSeenTimes) forget(object any) {
	if missed, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = missed.Obj
	}
	if p, ok := object.(*Projection); ok {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.seen, p.UID)
	}
}

// first returns when an Application was first compared with these sources and revisions; zero when the watch has not
// seen it compared with them.
func (s *firstSeenTimes) first(app types.UID, compared []policy.Source) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last, ok := s.seen[app]; ok && slices.Equal(last.compared, compared) {
		return last.at
	}
	return time.Time{}
}
