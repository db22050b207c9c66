package release

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
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

// places are how many Applications of a step may be synced at a time, and which are. All is as last watched: for a
// moment, the ApplicationSet controller may have given the same place to another one.
type places struct {
	limited bool
	most    int
	// allotted says that the ApplicationSet controller gives the places away, or is about to: it records all earlier steps
	// as Healthy, but for Applications of which it is going to find that.
	allotted bool
	// gave is when the controller last gave one away, or learned that one is free. What stepgate has started does not
	// count: it takes no place of the controller's.
	gave time.Time
	// taken are the Applications that are being synced, or are not Healthy since, and pending, by name, those that the
	// ApplicationSet controller is about to sync.
	taken   map[string]bool
	pending []string
}

func newPlaces(set *argocd.ApplicationSet, owned []*argocd.Projection, step int) *places {
	var limit *intstr.IntOrString
	if step < len(set.MaxUpdate) {
		limit = set.MaxUpdate[step]
	}
	size, all := 0, &places{taken: map[string]bool{}, allotted: true}
	recordable := map[string]bool{}
	for _, p := range owned {
		recordable[p.Name] = foundHealthy(&p.Application)
	}
	for name, r := range set.Recorded {
		all.allotted = all.allotted && (r.Healthy || recordable[name] || r.Step < 1 || r.Step > step)
	}
	for _, p := range owned {
		placed := set.Place(&p.Application)
		if limit == nil || placed.Step != step || placed.Orphan() || p.Application.Deleting {
			continue
		}
		size++
		a, recorded := &p.Application, set.Recorded[p.Name]
		if at := recorded.TransitionedAt; (recorded.Pending || recorded.Started) && !p.Ours && at.After(all.gave) {
			all.gave = at
		}
		switch {
		case a.OperationSet, a.LastOperation.Running(), a.Health == "Progressing",
			recorded.Started && !recorded.Healthy && a.Health != "Healthy":
			all.taken[p.Name] = true
		case recorded.Pending:
			all.pending = append(all.pending, p.Name)
		}
	}
	slices.Sort(all.pending)
	all.most, all.limited = argocd.MostAtOnce(limit, size)
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
func (s *places) asksFor(r policy.Recorded) bool {
	return s.limited && s.allotted && r.Step > 0 && !r.Pending && !r.Started
}

// free reports whether an Application of the step may be synced as well. If the ApplicationSet controller is about to
// sync it, only those that come before it by name have taken a place.
func (s *places) free(name string, step int, asked map[string]starting) bool {
	if !s.limited {
		return true
	}
	taken := len(s.taken)
	if s.taken[name] {
		taken--
	}
	before, own := slices.BinarySearch(s.pending, name)
	if !own {
		before = len(s.pending)
	}
	taken += before
	for other, a := range asked {
		at, pending := slices.BinarySearch(s.pending, other)
		if a.step == step && other != name && !s.taken[other] && (!pending || at >= before) {
			taken++
		}
	}
	return taken < s.most
}
