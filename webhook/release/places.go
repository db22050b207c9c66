package release

import (
	"slices"
	"time"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/places"
)

// startTimeout is how long a start keeps its place of the step before it is seen: it has to be written by then.
const startTimeout = 5 * time.Second

// starting is an Application that a Starter was asked to start.
type starting struct {
	until   time.Time
	version string // of the Application then
	step    int
}

// underWay reports whether the write may not be seen yet.
func (s starting) underWay(p *argocd.Projection, now time.Time) bool {
	return s.version == p.ResourceVersion && now.Before(s.until)
}

// free reports whether a step has a place for an Application, by what is watched, beside those that were just asked to
// start. For a moment, the ApplicationSet controller may have given the same place to another one.
func (l *look) free(p *argocd.Projection, step int) bool {
	all := l.counted().Places(&places.Claim{Set: l.Set, Application: p.Name, UID: p.UID, Step: step})
	if all == nil {
		return true
	}
	taken := len(all.Taken)
	for name, asked := range l.now.starting {
		if asked.step == step && name != p.Name &&
			!slices.ContainsFunc(all.Taken, func(b policy.Blocker) bool { return b.Application == name }) {
			taken++
		}
	}
	return taken < all.Most
}

// allotment is how the ApplicationSet controller gives the places of a step away.
type allotment struct {
	limited bool
	// allotted says that it gives them away, or is about to: it records all earlier steps as Healthy, but for Applications
	// of which it is going to find that.
	allotted bool
	// gave is when it last gave one away, or learned that one is free. What stepgate has started does not count: it takes
	// no place of the controller's.
	gave time.Time
}

func allotmentOf(set *argocd.ApplicationSet, owned []*argocd.Projection, step int) *allotment {
	all, recordable := &allotment{limited: places.Limited(set, step), allotted: true}, map[string]bool{}
	if !all.limited {
		return all
	}
	for _, p := range owned {
		recordable[p.Name] = foundHealthy(&p.Application)
		placed, recorded := set.Place(&p.Application), set.Recorded[p.Name]
		if placed.Step != step || placed.Orphan() || p.Application.Deleting || p.Ours {
			continue
		}
		if at := recorded.TransitionedAt; (recorded.Pending || recorded.Started) && at.After(all.gave) {
			all.gave = at
		}
	}
	for name, r := range set.Recorded {
		all.allotted = all.allotted && (r.Healthy || recordable[name] || r.Step < 1 || r.Step > step)
	}
	return all
}

// foundHealthy reports whether the ApplicationSet controller records an Application as Healthy once it has seen it so
// (updateApplicationSetApplicationStatus of its progressive_sync.go). On a busy machine stepgate has seen it long before.
// An Application that has gone on to an older revision than the newest is OutOfSync: that is never recorded as Healthy.
func foundHealthy(a *policy.Application) bool {
	return a.Health == "Healthy" && a.SyncStatus == "Synced" && !a.OperationSet && !a.LastOperation.Running()
}

// asksFor reports whether the ApplicationSet controller is going to ask for the sync of an Application of the step when
// a place is free. To take the place would be one too many: it does not count what it has not asked for.
func (s *allotment) asksFor(r policy.Recorded) bool {
	return s.limited && s.allotted && r.Step > 0 && !r.Pending && !r.Started
}
