package siblings

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
)

// Observations remember events of the watches that an object does not tell any more. Positions number the events, so
// that two of them have an order whatever the clocks say: the API server gives the events of a resource in the order of
// their writes. A restart forgets them, and a decision is then stricter until they have been seen again.
type Observations struct {
	mu       sync.Mutex
	position uint64
	apps     map[types.UID]*observed
	owned    map[types.UID]map[types.UID]*observed // by owner
}

// observed is what is remembered of one Application.
type observed struct {
	name  string
	owner types.UID

	compared    []policy.Source
	fingerprint argocd.Fingerprint
	syncStatus  string
	// changed is the position at which the change that is pending on it was first seen.
	changed uint64

	// requested is the position at which the unanswered request for a refresh was seen; zero when there is none.
	requested uint64
	// lastRequested is the position of the newest request, answered or not.
	lastRequested uint64
	// fresh is the position of the newest request that was answered, if nothing else has been compared since.
	fresh uint64

	// settling is when the last sync ended after which it was seen not to be Healthy; zero when it was not.
	settling time.Time
	// completed are the newest sources and revisions at which it was done after a sync, as long as its sources do not change.
	completed []policy.Source

	destination string
	// deployedTo is the destination at which it was last seen to be deployed; empty when that was not seen.
	deployedTo string
	// deployed stands for the comparison at which it was last seen Synced, if no operation has been seen since; zero when
	// there is none. An operation may deploy another revision than the compared one.
	deployed argocd.Fingerprint
	// operatedAt is when the last operation started.
	operatedAt time.Time
	// operating says that an operation waits or runs, ended is the position at which the last one was seen to have ended, and
	// syncingTo where it began to deploy to.
	operating bool
	ended     uint64
	syncingTo string
}

// NewObservations returns Observations of nothing.
func NewObservations() *Observations {
	return &Observations{apps: map[types.UID]*observed{}, owned: map[types.UID]map[types.UID]*observed{}}
}

// Observe remembers a Projection that the watch gave.
func (s *Observations) Observe(p *Projection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.position++
	o := s.apps[p.UID]
	if o == nil {
		o = &observed{name: p.Name, changed: s.position}
		s.apps[p.UID] = o
	} else {
		o.compare(p, s.position)
	}
	o.compared, o.fingerprint, o.syncStatus = p.Application.Compared, p.Compared, p.Application.SyncStatus
	o.refresh(&p.Application, s.position)
	o.deploy(p, s.position)
	o.complete(&p.Application)
	s.own(p.UID, o, p.Owner)
}

// compare notices a new pending change. The pending change is another one when the compared sources, their parameters or
// revisions change, and when the Application becomes OutOfSync. Comparing the same again changes nothing.
func (o *observed) compare(p *Projection, position uint64) {
	app, same := &p.Application, o.comparedWith(p.Application.Compared, p.Compared)
	if !same || app.SyncStatus == "OutOfSync" && o.syncStatus != "OutOfSync" {
		o.changed = position
	}
	if !same {
		// Another comparison than the one that answered may have used a cached revision.
		o.fresh = 0
	}
}

// comparedWith reports whether the last comparison was with these sources and revisions. Those of a hydrated source are in git;
// the fingerprint is of what they were hydrated to.
func (o *observed) comparedWith(compared []policy.Source, fingerprint argocd.Fingerprint) bool {
	return o.fingerprint == fingerprint && slices.Equal(o.compared, compared)
}

// refresh notices requests for a refresh and their answers. Argo CD (v3.5.7, controller/appcontroller.go,
// persistAppStatus) removes the annotation only if the comparison began with it: the comparison is then newer than the
// write that set it, and did not use cached revisions.
func (o *observed) refresh(app *policy.Application, position uint64) {
	switch {
	case app.RefreshRequested && o.requested == 0:
		o.requested, o.lastRequested = position, position
	case !app.RefreshRequested && o.requested != 0:
		if app.SyncStatus == "Synced" || app.SyncStatus == "OutOfSync" {
			o.fresh = o.requested
		}
		o.requested = 0
	}
}

// mostCompleted bounds what is remembered of an Application: as many revisions as Argo CD keeps in a history.
const mostCompleted = 10

// complete notices what the Application is done with. Other sources than those that it has synced end that: a revision
// may be fine with the old parameters only. A comparison of the second in which the sync ended may be older than the end. It
// is not if a comparison before it was of after the sync, too, and found something else than Healthy.
func (o *observed) complete(app *policy.Application) {
	switch last := &app.LastSync; {
	case !app.SpecCompared || !last.SameSources:
		o.completed = nil
	case app.OperationSet || app.LastOperation.Phase != "Succeeded" || app.SyncStatus != "Synced" || !last.AtCompared:
	case app.Health != "Healthy":
		o.settling = last.FinishedAt
	case app.ReconciledAt.After(last.FinishedAt) || o.settling.Equal(last.FinishedAt):
		for _, s := range app.Compared {
			if !slices.Contains(o.completed, s) {
				o.completed = append(slices.Clone(o.completed), s)
			}
		}
		o.completed = o.completed[max(0, len(o.completed)-mostCompleted):]
	}
}

// elsewhere is a destination that is not known, and is not that of the spec.
const elsewhere = "elsewhere"

// deploy notices where the Application is deployed: at its destination when it is Synced with its spec, and where a full
// sync began to deploy to when that has succeeded.
func (o *observed) deploy(p *Projection, position uint64) {
	app, last := &p.Application, &p.Application.LastOperation
	operating := app.OperationSet || app.LastOperation.Phase == "Running" || app.LastOperation.Phase == "Terminating"
	if !operating && o.operating {
		o.ended = position
	}
	switch {
	case operating && !o.operating:
		o.syncingTo = p.Destination
	case !operating && o.operating && app.LastOperation.Full && app.LastOperation.Phase == "Succeeded":
		o.deployedTo = o.syncingTo
	}
	switch {
	case operating:
	case !app.SpecCompared && o.deployedTo == "":
		o.deployedTo = elsewhere // until the comparison tells, as after a restart
	case !app.SpecCompared:
	case app.Moved:
		o.deployedTo = elsewhere // seen even if the deployment was not, as after a restart
	case app.SyncStatus == "Synced":
		o.deployedTo = p.Destination
	case o.deployedTo == elsewhere:
		o.deployedTo = ""
	}
	switch {
	case operating:
		o.deployed = 0
	case app.SyncStatus == "Synced" && app.SpecCompared && (last.FinishedAt.IsZero() || last.AtCompared || o.comparedSince(app, last.FinishedAt)):
		o.deployed = p.Compared // and not the status of before an operation to another revision
	}
	o.operating, o.operatedAt, o.destination = operating, last.StartedAt, p.Destination
}

// comparedSince reports whether the Application was compared after its last operation had ended: by the times, or because a
// request that was seen after the end was answered.
func (o *observed) comparedSince(app *policy.Application, finished time.Time) bool {
	return app.ReconciledAt.After(finished) || o.ended > 0 && o.fresh > o.ended
}

// own keeps the index by owner. The caller holds the lock.
func (s *Observations) own(uid types.UID, o *observed, owner types.UID) {
	if o.owner != owner {
		s.disown(uid, o)
	}
	o.owner = owner
	if owner == "" {
		return
	}
	if s.owned[owner] == nil {
		s.owned[owner] = map[types.UID]*observed{}
	}
	s.owned[owner][uid] = o
}

func (s *Observations) disown(uid types.UID, o *observed) {
	delete(s.owned[o.owner], uid)
	if len(s.owned[o.owner]) == 0 {
		delete(s.owned, o.owner)
	}
}

// Forget forgets an Application that is gone.
func (s *Observations) Forget(p *Projection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.apps[p.UID]; o != nil {
		s.disown(p.UID, o)
		delete(s.apps, p.UID)
	}
}

// Position is the position of the newest event.
func (s *Observations) Position() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.position
}

// Changed returns the position at which the change that is pending on an Application was first seen, where it is
// compared with these sources and revisions. Where the watch lags, and has not seen that, it is the newest position.
func (s *Observations) Changed(app types.UID, compared []policy.Source, fingerprint argocd.Fingerprint) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.apps[app]; o != nil && o.comparedWith(compared, fingerprint) {
		return o.changed
	}
	return s.position
}

// RequestedSince reports whether a refresh of an Application was seen to be requested after a position.
func (s *Observations) RequestedSince(app types.UID, position uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.apps[app]
	return o != nil && o.lastRequested > position
}

// Deployed reports whether an Application was seen Synced with what it is compared with, and no operation since.
func (s *Observations) Deployed(app types.UID, compared argocd.Fingerprint) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.apps[app]
	return o != nil && o.deployed != 0 && o.deployed == compared
}

// DeployedTo returns the destination at which an Application was last seen to be deployed. Where that was not seen, it is the
// destination that was last seen; empty when nothing was.
func (s *Observations) DeployedTo(app types.UID) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.apps[app]; o != nil {
		return cmp.Or(o.deployedTo, o.destination)
	}
	return ""
}

// Seen returns what was seen of the Applications that an ApplicationSet controls: which of them are compared since a
// position, and which have got another destination.
func (s *Observations) Seen(owner types.UID, since uint64) policy.Seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := policy.Seen{
		Fresh: map[string]bool{}, Moved: map[string]bool{}, Completed: map[string][]policy.Source{}, Synced: map[string]policy.Synced{},
	}
	for _, o := range s.owned[owner] {
		if o.fresh > since {
			seen.Fresh[o.name] = true
		}
		if len(o.completed) > 0 {
			seen.Completed[o.name] = o.completed
		}
		if o.syncStatus == "OutOfSync" && o.deployed != 0 && o.deployed == o.fingerprint {
			seen.Synced[o.name] = policy.Synced{Compared: o.compared, OperatedAt: o.operatedAt}
		}
		if o.deployedTo != "" && o.deployedTo != o.destination {
			seen.Moved[o.name] = true
		}
	}
	return seen
}
