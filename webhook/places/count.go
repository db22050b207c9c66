package places

import (
	"slices"
	"strings"

	"github.com/stepgate/stepgate/policy"
)

// UnderWay reports whether an Application takes a place of its step by its state alone, and why: an operation is asked
// for or runs, or the ApplicationSet controller counts it as one that it has synced.
//
// What it counts mirrors UpdateApplicationSetApplicationStatus and UpdateApplicationSetApplicationStatusProgress of
// argo-cd v3.5.7, applicationset/progressivesync/progressive_sync.go:441-493 and 612-621. There an Application that was
// synced, or that is found Synced at a new revision, is Progressing until it is Healthy and Synced, and counts until
// then, whatever came of its sync. So one that has failed keeps its place until it is repaired, or a new revision makes
// it Waiting. Two things differ. One that is Healthy and not Synced is done here: where only pruning is left, the
// controller would count it for good. And one that is Pending only reserves a place: see
// counting.places.
func UnderWay(a *policy.Application, recorded policy.Recorded) (why policy.Reason, is bool) {
	switch {
	case a.OperationSet || a.LastOperation.Running():
		return policy.OperationInProgress, true
	case a.Deleting || a.Health == "Healthy":
		return "", false
	case recorded.Started && !recorded.Healthy:
		return policy.NotHealthy, true
	case a.SyncStatus == "Synced" && (!recorded.Healthy || recorded.Behind(a.Compared)):
		return policy.NotHealthy, true // it is recorded as Progressing, or is about to be
	}
	return "", false
}

// needs reports whether the state of an Application still needs the place that it has, and why. It does not say that
// its operation may not be stored any more: see Store.settle. An operation that was not stored needs no place.
//
// Until Argo CD has compared it after its operation, its health is the one of before. Times are of seconds: a comparison
// in the second in which the operation ended counts if it is the one that found it Synced.
func (p *Place) needs(a *policy.Application, recorded policy.Recorded) (why policy.Reason, is bool) {
	if why, is = UnderWay(a, recorded); is || a.Deleting || !p.hasRun(a) {
		return why, is
	}
	if !compared(a, p.OutOfSync) {
		return policy.NotCompleted, true
	}
	if recorded.Pending && a.Health != "Healthy" || a.SyncStatus == "Synced" && a.Health == "Progressing" {
		return policy.NotHealthy, true // it is about to be recorded as Progressing, or has been synced once more
	}
	return "", false
}

// hasRun reports whether the operation of a place has started: the last operation is not the one of before any more.
func (p *Place) hasRun(a *policy.Application) bool {
	return !a.LastOperation.StartedAt.Equal(p.LastStarted)
}

// compared reports whether Argo CD has compared an Application since its last operation. outOfSync says that it was
// OutOfSync before that.
func compared(a *policy.Application, outOfSync bool) bool {
	ended := a.LastOperation.FinishedAt
	return ended.IsZero() || a.ReconciledAt.After(ended) && !a.Unseen() ||
		outOfSync && a.SyncStatus == "Synced" && !a.ReconciledAt.Before(ended)
}

// counting counts the Applications of the step, and of the track, of a claim that are under way.
type counting struct {
	set   *policy.ApplicationSet
	claim *Claim
	// size is the number of Applications of the step.
	size int
	// taken are the places that are taken, and pending those for which the ApplicationSet controller asks and that have
	// none yet.
	taken   []policy.Blocker
	pending []policy.Blocker
}

// is counts an Application of the step, which is under way for a reason unless that is empty.
func (c *counting) is(a *policy.Application, why policy.Reason) {
	b := policy.Blocker{
		Application: a.Name, Cluster: a.Cluster, Step: c.claim.Step, Reason: why, ComparedAt: a.ReconciledAt,
	}
	switch recorded := c.set.Recorded[a.Name]; {
	case why != "":
		switch why {
		case policy.NotHealthy:
			b.Detail = policy.Printable(a.Health, maxHealth)
		case policy.NotCompleted:
			b.Detail, b.Ends = "not compared since its sync", policy.CompareSettled
		default:
		}
		c.taken = append(c.taken, b)
	case recorded.Pending && !a.Deleting:
		b.Reason, b.Detail = policy.MaxUpdateReached, "the ApplicationSet controller is about to sync it"
		c.pending = append(c.pending, b)
	}
}

// maxHealth bounds the text of a health.
const maxHealth = 60

// places are those that others than an Application have taken: also those that the ApplicationSet controller is about to
// sync. If the Application is one of these, only those that come before it by name: one of them can always go.
func (c *counting) places(application string) *policy.Places {
	size := c.size
	if c.claim.Moved {
		size = 1
	}
	most, _ := limit(c.claim.Set, c.claim.Step, size)
	var taken []policy.Blocker
	for _, b := range c.taken {
		if b.Application != application {
			taken = append(taken, b)
		}
	}
	pending := c.set.Recorded[application].Pending
	for _, b := range c.pending {
		if b.Application != application && (!pending || b.Application < application) {
			taken = append(taken, b)
		}
	}
	slices.SortFunc(taken, func(a, b policy.Blocker) int { return strings.Compare(a.Application, b.Application) })
	return &policy.Places{Most: most, Taken: taken}
}
