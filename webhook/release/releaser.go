// SPDX-License-Identifier: Apache-2.0

package release

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/judge"
	"github.com/stepgate/stepgate/webhook/outlook"
	"github.com/stepgate/stepgate/webhook/slots"
)

const (
	// spread is by how much replicas differ in when they ask, so that the second one sees what the first has done.
	spread = 300 * time.Millisecond
	// followedAfter is how much longer a replica waits that is not the one that leads: that one asks.
	followedAfter = time.Second
	// comparedAfter is how long Argo CD has to compare an Application by itself that it has just synced. It nearly always
	// does within a second; a request in between would be one comparison more.
	comparedAfter = 2 * time.Second
	// noticedAfter is how long the ApplicationSet controller has to notice a sync of its own. It nearly always does: a
	// refresh in between would only delay it.
	noticedAfter = 500 * time.Millisecond
	// overlookedAfter is how long a refresh may be requested, or an operation be set, before Argo CD counts as having
	// overlooked it: up to v3.5 that happens when it is written while the application controller records the end of an
	// operation.
	overlookedAfter = 10 * time.Second
	// unpolledAfter is how long after its last comparison Argo CD is asked for one that it may make by itself. It is
	// longer than the usual timeout.reconciliation with its jitter.
	unpolledAfter = 5 * time.Minute
	// unrecordedAfter is how long the ApplicationSet controller has to record that an Application is done. A
	// reconciliation with many writes takes some ten seconds.
	unrecordedAfter = 30 * time.Second
	// turnHasCome is why an Application is refreshed that may sync now.
	turnHasCome = "its turn has come"
	// overdueAfter is how long Argo CD has to start a sync in step 1. If it does not, the sync may have been held by a
	// condition that holds no more, and this replica may not know that.
	overdueAfter = 5 * time.Second
	// reconcileEvery is how often an ApplicationSet of which something waits is looked at without a change.
	reconcileEvery = 5 * time.Minute
)

const (
	// The first three are how long after the first request the second one is made, if the first has not helped.
	// firstBackoffStopped is for a sync that was asked for, and stopped: its turn had gone, and has come again since.
	// firstBackoffSettling is for an Application whose operation has just ended: Argo CD records whole seconds, and a
	// comparison counts from the next one on.
	firstBackoff         = 30 * time.Second
	firstBackoffStopped  = 2 * time.Second
	firstBackoffSettling = time.Second
	longestBackoff       = 5 * time.Minute
	// relayedAfter is when an Application of argocd-agent is asked again that has answered too soon to count.
	relayedAfter = policy.SettlingTime + 2*time.Second
)

// backoff is when a request that has not helped is made again, since the last time.
func backoff(first time.Duration, asked int) time.Duration {
	return min(first<<min(asked-1, 8), longestBackoff)
}

// Releaser makes Argo CD ask again for the syncs whose turn has come. A refresh of an Application wakes both the
// ApplicationSet controller and auto-sync. It also has those Applications refreshed that hold up a sync only because
// they were compared too early, or by an operation that does not start.
//
// It is level-triggered: whatever changes, it looks at what the watches know now, so a restart forgets nothing that
// matters. An Application waits if the ApplicationSet records it as Pending and it has no operation, if the
// ApplicationSet controller has not noticed that it has to be synced, or if auto-sync has not deployed yet what it was
// compared with. One that the ApplicationSet controller does not record as done is refreshed as well. The Releaser
// admits nothing: the sync that is asked for is judged like any other. Where a denial ends by itself, it looks again at
// that moment.
//
// It asks once per opening, and again after 30 s, 1, 2, 4 and then every 5 minutes while that has not helped; after 2
// s, 4 s and so on if the sync came, and was stopped, and its turn has come again; after 1 s, 2 s and so on if the
// operation of a sibling has just ended (NotCompleted), or if the request was taken away. All replicas do this: each waits
// for a random moment, longer if another one leads, and leaves it if a request has been seen meanwhile.
type Releaser struct {
	judge   *judge.Judge
	known   judge.KnownSets
	waiting Waiting
	refresh *Requests
	starter Starter // nil if stepgate starts nothing
	creator Creator // nil if stepgate creates no evidence
	weigh   outlook.Weigh
	// view tells who has the slots of steps, by what the Applications show.
	view   *slots.View
	random func(time.Duration) time.Duration
	// leads reports whether this replica is the one that asks first; nil if nobody is.
	leads func() bool

	// mu guards sets, and is not held while one is looked at: no ApplicationSet waits for another.
	mu   sync.Mutex
	sets map[types.NamespacedName]*waitingSet
}

// waitingSet is an ApplicationSet of which something waits.
type waitingSet struct {
	requests map[needKey]*request
	// blockedBy is a blocker of each Application that waits, as last found.
	blockedBy map[string]string
	// due are the syncs that are to be started, by what they deploy, and starting, by the name of the Application, those
	// that were asked for in the last seconds.
	due      map[string]*due
	starting map[string]starting
	// may are the turns of the Applications that stepgate starts, by name.
	may map[string]turn
	// first is when each Application of step 1 that waits for Argo CD was first found to have something to deploy.
	first map[string]time.Time
	// asked are the Applications that were asked for in this reconciliation: one comparison serves everybody who waits
	// for it.
	asked map[types.NamespacedName]bool
}

// needKey tells needs apart.
type needKey struct {
	app       types.NamespacedName
	why, what string
	pending   bool
}

// request is a need that is needed, from the first reconciliation that finds this to the last.
type request struct {
	since time.Time
	// position is since when a request of somebody else counts, or that of this replica was to be seen.
	position uint64
	next     time.Time
	// patience is how long the first request, or one that helps only later, is left to another replica.
	patience time.Duration
	asked    int
	askedAt  time.Time
	// own says that this replica has asked.
	own bool
	// tooSoon says that argocd-agent has answered, and too soon for that to count.
	tooSoon bool
	// comparedAt is when Argo CD had compared the Application when it was asked for last.
	comparedAt time.Time
}

// New returns a Releaser that judges as a Judge does, on what the watches know. The watches have
// to be complete: on a part of the Applications everything seems to be open. random gives a duration below another.
func New(
	j *judge.Judge, known judge.KnownSets, waiting Waiting, refresh *Requests, random func(time.Duration) time.Duration,
) *Releaser {
	return &Releaser{
		judge: j, known: known, waiting: waiting, refresh: refresh, weigh: policy.Weigh,
		view: slots.NewView(known, nil, j.Clock), random: random,
		sets: map[types.NamespacedName]*waitingSet{},
	}
}

// set is the ApplicationSet of a name, or the Application that is in none and comes after others; nil if it is not
// known, and where its Applications count in the order of its parent.
func (r *Releaser) set(name types.NamespacedName) *argocd.ApplicationSet {
	app, alone := argocd.IsAlone(name)
	if !alone {
		set, _ := r.known.Set(name)
		if set != nil && r.judge.OrderOf(set, r.known) != nil {
			return nil // it is looked at there
		}
		return set
	}
	if p := r.known.Application(app); p != nil && p.FollowsAlone() {
		return argocd.Alone(p.Namespace, p.UID, p.Annotations)
	}
	return nil
}

// FollowUnless makes the Releaser leave requests to another replica for a moment, unless this one leads.
func (r *Releaser) FollowUnless(leads func() bool) { r.leads = leads }

// StartWith makes the Releaser start what Argo CD does not start.
func (r *Releaser) StartWith(s Starter) { r.starter = s }

// Reconcile looks at the Applications of an ApplicationSet that wait, and asks for what is due. It returns after how
// long to look again, even if nothing changes; zero when nothing waits. It looks at several ApplicationSets at once,
// and at each once at a time.
func (r *Releaser) Reconcile(name types.NamespacedName) (again time.Duration) {
	r.mu.Lock()
	before, waited := r.sets[name]
	r.mu.Unlock()
	if !waited {
		before = &waitingSet{}
	}
	now, next := &waitingSet{
		requests: map[needKey]*request{}, blockedBy: map[string]string{}, asked: map[types.NamespacedName]bool{},
		due: map[string]*due{}, may: map[string]turn{}, first: map[string]time.Time{}, starting: map[string]starting{},
	}, time.Duration(0)
	if set := r.set(name); set != nil {
		next = r.reconcile(name, set, before, now)
	} else if waited {
		r.letGo(name)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.sets, name)
	if next > 0 {
		r.sets[name] = now
	}
	return next
}

// letGo has Applications looked at once that nothing orders any more: one that came after others, or the children of a
// parent. Their syncs were denied, and nobody else would ask for them soon.
func (r *Releaser) letGo(name types.NamespacedName) {
	var all []*argocd.Projection
	if parent, is := policy.ParentNamed(name.Name); is {
		all = r.known.Owned(argocd.UIDOfParent(name.Namespace, parent))
	} else if app, alone := argocd.IsAlone(name); alone {
		if p := r.known.Application(app); p != nil {
			all = append(all, p)
		}
	}
	for _, p := range all {
		if !p.Controlled() && p.AutoSync && p.Application.SyncStatus == "OutOfSync" {
			r.refresh.ask(name, nameOf(p), turnHasCome, p.Application.ReconciledAt)
		}
	}
}
