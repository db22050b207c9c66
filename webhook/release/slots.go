// SPDX-License-Identifier: Apache-2.0

package release

import (
	"time"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/slots"
)

// startTimeout is how long a start keeps its slot of the step before it is seen: it has to be written by then.
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

// allotment are the slots of a step for what stepgate itself starts. All is as last watched: for a moment, the
// ApplicationSet controller may have given the same slot to another one.
type allotment struct {
	limited bool
	counted *slots.Counted
	// ours are the Applications that stepgate has started and that are Progressing since. The ApplicationSet controller has
	// not asked for these syncs, and may count none of them.
	ours []string
	// allotted says that the ApplicationSet controller gives the slots away, or is about to: it records all earlier steps
	// as Healthy, but for Applications of which it is going to find that. Nobody gives those of waves away.
	allotted bool
	// gave is when the controller last gave one away, or learned that one is free. What stepgate has started does not
	// count: it takes no slot of the controller's.
	gave time.Time
}

func newAllotment(l *look, step int) *allotment {
	all := &allotment{limited: slots.Limited(l.Set, step), allotted: !l.Set.Waves}
	if !all.limited {
		return all
	}
	all.counted = slots.Count(l.Set, step, l.Input.Siblings)
	recordable := map[string]bool{}
	for i, p := range l.Applications {
		recordable[p.Name] = foundHealthy(&p.Application)
		recorded, sibling := l.Set.Recorded[p.Name], &l.Input.Siblings[i]
		switch at := recorded.TransitionedAt; {
		case sibling.Step != step || sibling.Orphan() || sibling.Deleting:
		case p.Ours && p.Application.Health == "Progressing":
			all.ours = append(all.ours, p.Name)
		case (recorded.Pending || recorded.Started) && !p.Ours && at.After(all.gave):
			all.gave = at
		}
	}
	for name, r := range l.Set.Recorded {
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
// a slot is free. To take the slot would be one too many: it does not count what it has not asked for.
func (s *allotment) asksFor(r policy.Recorded) bool {
	return s.limited && s.allotted && r.Step > 0 && !r.Pending && !r.Started
}

// free reports whether an Application of the step may be synced as well. What was asked for takes a slot before it is
// seen.
func (s *allotment) free(name string, step int, asked map[string]starting) bool {
	if !s.limited {
		return true
	}
	others := s.counted.Without(name)
	taken := map[string]bool{}
	for _, b := range others.Taken {
		taken[b.Application] = true
	}
	for _, ours := range s.ours {
		taken[ours] = true
	}
	for other, a := range asked {
		if a.step == step {
			taken[other] = true
		}
	}
	delete(taken, name)
	return len(taken) < others.Most
}
