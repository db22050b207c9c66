// SPDX-License-Identifier: Apache-2.0

package release

import (
	"cmp"
	"math"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/history"
)

// need is an Application that Argo CD has to compare again, so that a sync can go on.
type need struct {
	app types.NamespacedName
	// step is the step of the Application; beforeSteps where a sync of its own waits for nothing else, and ofDependency
	// where it is of another ApplicationSet, or of none.
	step int
	// why is the reason and its detail, and what the revision that its own sync would deploy, if it needs it for that.
	// What comes next is another need.
	why, what string
	// comparedAt is when Argo CD last compared it.
	comparedAt time.Time
	// settling says that its operation has just ended: up to Argo CD 3.5, its controller may overlook a request at that
	// moment.
	settling bool
	// unhurried says that no sync waits for it yet.
	unhurried bool
	// synced says that the ApplicationSet controller only has to notice that it has synced, and is about to.
	synced bool
	// pending says that a refresh of it is requested already.
	pending bool
	// idle says that it has an operation that has not started. Up to 3.5 Argo CD may overlook one that is written while
	// it records the end of another, and a refresh makes it look again.
	idle bool
	// unrecorded says that the ApplicationSet controller does not record that it is done, and has to look at it again.
	unrecorded bool
	// after is before when it is not needed, by the clock that Argo CD compares with; zero if it is needed now. If that
	// is ahead, within, when not 0, is after how long it is needed.
	after  time.Time
	within time.Duration
	// newest says that a comparison helps only if it shows that it was made for the request.
	newest bool
	// unpolled says that it is needed only if Argo CD has not compared the Application by itself for long, as where
	// polling is switched off.
	unpolled bool
}

// needs are what has to be compared again before a denied sync can go on: the siblings that hold it up only because
// they were compared too early, or the target itself where it is not ready. A sibling that is not Synced may be so only
// at the revision that it was compared with: that is looked at again where nobody polls.
//
// They are in the order of the steps, up to the first step with a sibling that no comparison makes done: what comes
// after that one has to wait anyway, and may have to be compared once more then.
func needs(d policy.Decision, t *policy.Target, namespace string) []need {
	own := types.NamespacedName{Namespace: namespace, Name: d.Application}
	if d.Ends.Stale() {
		return []need{{app: own, step: beforeSteps, why: string(d.Reason), comparedAt: t.ReconciledAt}}
	}
	if d.Reason == policy.AlreadySynced && t.Stopped {
		return nil // somebody comes, or nobody
	}
	if d.Reason == policy.AlreadySynced {
		// Each sync is another reason: several rollouts may follow one another.
		why := string(d.Reason) + ": it started at " + t.SyncStartedAt.UTC().Format(time.TimeOnly)
		return []need{{app: own, step: beforeSteps, why: why, comparedAt: t.ReconciledAt, synced: true}}
	}
	var all []need
	last := lastToCompare(d.Blockers)
	for _, b := range d.Blockers {
		if b.Ends != policy.NoComparison && b.Step <= last {
			n := need{
				app:  types.NamespacedName{Namespace: cmp.Or(b.Namespace, namespace), Name: b.Application},
				step: b.Step, why: string(b.Reason) + " " + b.Detail, comparedAt: b.ComparedAt,
				pending: b.Refreshing, settling: b.Ends == policy.CompareSettled, unpolled: !b.Ends.Stale() && !b.Refreshing,
				newest: b.Ends == policy.CompareAgain,
			}
			if b.Step < 0 {
				n.step = ofDependency
			}
			if n.unpolled {
				n.after = b.ComparedAt.Add(unpolledAfter)
			}
			all = append(all, n)
		}
	}
	return all
}

// wait is after how long a comparison shows that it was made for a request. Argo CD records whole seconds: one of the
// second of the last comparison does not. If the clock that Argo CD compares with is ahead, nothing is known.
func (c need) wait(now time.Time) time.Duration {
	wait := c.comparedAt.Truncate(time.Second).Add(time.Second).Sub(now)
	if !c.newest || wait > time.Second {
		return 0
	}
	return max(wait, 0)
}

func nameOf(p *argocd.Projection) types.NamespacedName {
	return types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
}

// beforeSteps and ofDependency go before all steps.
const (
	beforeSteps  = -1
	ofDependency = -2
)

// lastToCompare is the first step with a blocker that no comparison makes done. One that only soaks ends by itself.
func lastToCompare(blockers []policy.Blocker) int {
	last := math.MaxInt
	for _, b := range blockers {
		if !b.Ends.Stale() && b.Reason != policy.Soaking {
			last = min(last, b.Step)
		}
	}
	return last
}

// notRecorded is why an Application is refreshed that the ApplicationSet controller does not record as done.
const notRecorded = "the ApplicationSet controller has not recorded that it is done"

// notStarted is why an Application is refreshed whose operation has been overlooked.
const notStarted = "its operation has not started"

// idle are the Applications that hold up a sync because of an operation that has not started.
func idle(d policy.Decision, known map[string]*argocd.Projection) []need {
	var all []need
	for _, b := range d.Blockers {
		if p := known[b.Application]; b.Reason == policy.OperationInProgress && p != nil && p.Application.OperationSet &&
			!p.Application.LastOperation.Running() {
			all = append(all, need{app: nameOf(p), why: notStarted, comparedAt: b.ComparedAt, idle: true})
		}
	}
	return all
}

// notProven is why an Application is refreshed of which nobody knows whether it has completed what it has deployed.
const notProven = "it may have completed what its last sync deployed"

// whyUnproven tells the syncs of an Application apart: each is another reason.
func whyUnproven(a *policy.Application) string {
	return notProven + " at " + a.LastOperation.StartedAt.UTC().Format(time.TimeOnly)
}

// unproven are the Applications before a step that may have completed what they have deployed last, for all that is
// known. With the next sync of theirs, that would be no candidate of later steps.
func unproven(
	set *argocd.ApplicationSet, owned []*argocd.Projection, past policy.History, step int,
) (all []need) {
	for _, p := range owned {
		missing, ok := history.Unproven(&p.Application)
		if !ok || proven(&p.Application, past.Past(p.Name).Completions) {
			continue
		}
		if at := set.StepOf(p.Application.Labels); 0 <= at && at < step {
			after, within := shownAfter(&p.Application, missing)
			all = append(all, need{
				app: nameOf(p), step: at, why: whyUnproven(&p.Application), comparedAt: p.Application.ReconciledAt, settling: true,
				unhurried: true, pending: p.Application.RefreshRequested, after: after, within: within,
			})
		}
	}
	return all
}

// proven reports whether it is known that an Application has completed what its last operation deployed.
func proven(a *policy.Application, done []policy.Completion) bool {
	deployed := a.LastSync.Sources(a.Compared)
	return slices.ContainsFunc(done, func(c policy.Completion) bool {
		return !c.Doubted && !c.Altered && c.OperatedAt.Equal(a.LastOperation.StartedAt) && slices.Equal(c.Sources, deployed)
	})
}

// shownAfter is after when, and within which time if the clock that Argo CD compares with is ahead, a comparison of an
// Application is of a later second than that of a moment after its last sync.
func shownAfter(app *policy.Application, at time.Time) (after time.Time, within time.Duration) {
	return at.Truncate(time.Second).Add(time.Second), at.Sub(app.LastSync.FinishedAt) + time.Second
}
