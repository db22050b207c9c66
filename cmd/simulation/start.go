// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/stepgate/stepgate/webhook/release"
	"github.com/stepgate/stepgate/webhook/start"
)

// stepgateAccount is the service account of stepgate, which starts syncs with start.
const stepgateAccount = "system:serviceaccount:stepgate:stepgate"

// takeover is how long nobody starts syncs after the replica that did was killed: the duration of the Lease.
const takeover = 15 * time.Second

// lease says which replica starts syncs, and from when on.
type lease struct {
	holder int
	from   time.Duration
}

// lose takes the lease from a replica that ends. Another one gets it at once, if it was given up, or later.
func (s *stepgate) lose(n int) {
	if s.lease.holder != n {
		return
	}
	s.passTo((n+1)%len(s.replicas), min(s.w.delay(time.Second), takeover))
}

// passTo gives the lease to a replica some time later.
func (s *stepgate) passTo(n int, d time.Duration) {
	s.lease = lease{n, s.w.now + d}
	s.w.after(d, func() {
		s.replicas[s.lease.holder].reconcileAll()
		s.replicas[s.lease.holder].writeDownAll()
	})
}

// Leads is release.Starter.
func (r *replica) Leads() bool {
	l := &r.of.lease
	return r.of.replicas[l.holder] == r && r.w.now >= l.from
}

// Start is release.Starter: webhook/start in virtual time. Between the judgment and the write the replica may end.
func (r *replica) Start(s release.Start) {
	life := r.starts
	r.w.after(r.w.delay(10*time.Millisecond), func() {
		app := r.w.api.apps[s.App.Name]
		if r.starts != life || app == nil {
			return
		}
		if s.Terminates {
			r.w.terminatedBySelf(app, s)
			return
		}
		patch, err := start.Patch(app, r.w.members[s.App.Name].family.live, s)
		if err != nil {
			return
		}
		r.w.after(r.w.delay(10*time.Millisecond), func() {
			if app := r.w.api.apps[s.App.Name]; app != nil && app.ResourceVersion == s.ResourceVersion {
				r.w.starterWrites(app, patch)
			}
		})
	})
}

// starterWrites is the write of a replica that starts a sync. It may be under way when the replica ends.
func (w *world) starterWrites(app *argo.Application, patch []byte) {
	var written struct{ Operation *argo.Operation }
	if err := json.Unmarshal(patch, &written); err != nil {
		panic(err)
	}
	next := *app
	next.Operation = written.Operation
	if err := w.api.operationWrite(&next, stepgateAccount); err == nil {
		w.startedBySelf(app, written.Operation)
	}
}

// terminatedBySelf is the write of a replica that terminates a sync, if that waits for another attempt. It must never do
// that to what would be deployed by what the Application was compared with.
func (w *world) terminatedBySelf(app *argo.Application, s release.Start) {
	m := w.members[app.Name]
	if _, err := start.TerminatePatch(app, s); err != nil {
		return
	}
	w.terminate(m, "stepgate")
	revisions := app.Status.Sync.Revisions
	if app.Status.Sync.Revision != "" {
		revisions = []string{app.Status.Sync.Revision}
	}
	if m.operates == deploying(w.contentOf(&app.Spec, revisions), revisions) {
		e := Early{At: w.now, Target: m.name, Condition: true, Kind: "start, terminated", Missing: "it would deploy the same"}
		w.early = append(w.early, e)
		w.logf("%s", e)
	}
}

// startedBySelf looks at a sync that stepgate has started by itself, for what it must never do: start one where another
// one runs, start the very thing again that the last sync has failed at, or more at a time than maxUpdate says. The
// ApplicationSet controller may have taken the last slot a moment before: that is a limit.
func (w *world) startedBySelf(app *argo.Application, op *argo.Operation) {
	m := w.members[app.Name]
	w.startsBySelf++
	revisions := op.Sync.Revisions
	if op.Sync.Revision != "" {
		revisions = []string{op.Sync.Revision}
	}
	most, taken, others := w.slots(m)
	e := Early{At: w.now, Target: m.name, Condition: true}
	switch {
	case app.Operation != nil:
		e.Kind, e.Missing = "start, running", "another sync of it runs"
	case m.truth.failed == deploying(w.contentOf(&app.Spec, revisions), revisions):
		e.Kind, e.Missing = "start, failed", "its last sync has failed at that"
	case w.goesForward(app, revisions):
		e.Kind, e.Missing = "start, rolled back", "somebody has rolled it back from that"
	case taken >= most:
		e.Kind, e.Missing = "start, maxUpdate", fmt.Sprintf("%d of %d Applications of the step are being synced", taken, most)
	default:
		return
	}
	if e.Kind == "start, maxUpdate" && others {
		w.limits = append(w.limits, e)
	} else {
		w.early = append(w.early, e)
	}
	w.logf("%s", e)
}

// goesForward reports whether an Application has deployed these revisions of its sources before, and something else
// since, or runs just what they deploy, and nobody but stepgate asks for them now.
func (w *world) goesForward(app *argo.Application, revisions []string) bool {
	m, what := w.members[app.Name], w.contentOf(&app.Spec, revisions)
	before := m.truth.ended
	if w.isPending(app.Name) || !slices.Contains(before, deploying(what, revisions)) {
		return false
	}
	return m.live.content == what || before[len(before)-1] != deploying(what, revisions)
}

// deploying is what an operation deploys, and from which revisions.
func deploying(what content, revisions []string) string { return fmt.Sprint(what, revisions) }

// slots are how many Applications of a step may be synced at a time, and how many are beside one; others says that
// somebody else has just started one of them.
func (w *world) slots(m *member) (most, taken int, others bool) {
	return w.slotsAmong(m, func(*member) bool { return true })
}

// slotsAmong counts only some.
func (w *world) slotsAmong(m *member, counts func(*member) bool) (most, taken int, others bool) {
	limit := w.scenario.steps()[max(m.generated, 1)-1].MaxUpdate
	if limit == nil {
		return len(w.names) + 1, 0, false
	}
	size := 0
	for _, name := range w.names {
		other, app := w.members[name], w.api.apps[name]
		if other.generated != m.generated || other.family != m.family || app == nil || !counts(other) {
			continue
		}
		size++
		if other != m && app.Operation != nil {
			taken++
			others = others || app.Operation.InitiatedBy.Username != "stepgate" && other.truth.latest.admitted > w.now-sameMoment
		}
	}
	if limit.Type == intstr.Int {
		return limit.IntValue(), taken, others
	}
	percent, _ := strconv.Atoi(strings.TrimSuffix(limit.StrVal, "%"))
	return max(size*percent/100, 1), taken, others
}
