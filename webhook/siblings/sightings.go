package siblings

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/stepgate/stepgate/policy"
)

// sightings remember, of every Application, the comparison by which Argo CD first found what is pending on it now. Its
// time is Argo CD's own (reconciledAt), so that it can be held against that of a sibling whatever clock stepgate has.
type sightings struct {
	mu   sync.Mutex
	seen map[types.UID]sighting
}

type sighting struct {
	compared   []policy.Source
	syncStatus string
	at         time.Time
}

// saw remembers a Projection that the watch gave. What is pending changes with what is compared, and when the
// Application falls OutOfSync: then its spec may have changed. Comparing the same again changes nothing.
func (s *sightings) saw(object any) {
	p, ok := object.(*Projection)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	app := &p.Application
	now := sighting{compared: app.Compared, syncStatus: app.SyncStatus, at: app.ReconciledAt}
	last, known := s.seen[p.UID]
	if known && slices.Equal(last.compared, now.compared) && (now.syncStatus != "OutOfSync" || last.syncStatus == "OutOfSync") {
		now.at = last.at
	}
	s.seen[p.UID] = now
}

// lost forgets an Application that is gone.
func (s *sightings) lost(object any) {
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
func (s *sightings) first(app types.UID, compared []policy.Source) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last, ok := s.seen[app]; ok && slices.Equal(last.compared, compared) {
		return last.at
	}
	return time.Time{}
}
