// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/e2e/observer"
	"github.com/stepgate/stepgate/test/eventually"
	"github.com/stepgate/stepgate/test/script"
)

// changes is after how many changes of one rollout the ApplicationSet controller may wait for its grace period.
const changes = 4

const pollEvery = 100 * time.Millisecond

// rollout is one scenario as it is played in one namespace, which decides whether there is a gate. Its methods are
// steps of a script: the first that fails ends the rollout.
type rollout struct {
	*suite
	ctx      context.Context
	scenario scenario
	mode     mode
	name     string

	members []*member
	// changedAt is when each change was made; the first is the installation.
	changedAt []time.Time
	// began is when the measured rollout began, and since the resourceVersion from which on starts count.
	began    time.Time
	since    uint64
	finished time.Time
	// overlooked counts the operations and refreshes that Argo CD overlooked in the measured rollout; the last was at
	// overlookedAt.
	overlooked   int
	overlookedAt time.Time
	// note is what else there is to say about it.
	note string
}

func newRollout(ctx context.Context, s *suite, sc scenario, m mode) *rollout {
	sc.limit = sc.within() + changes*s.grace
	if s.grace > 0 && sc.quickRounds > 0 {
		sc.rounds = sc.quickRounds // each round takes the grace period
	}
	return &rollout{suite: s, ctx: ctx, scenario: sc, mode: m, name: sc.key}
}

// prepare creates the repositories and installs the ApplicationSet, unless the installation is the rollout. It waits
// until the ApplicationSet controller has recorded every Application as Healthy.
func (r *rollout) prepare() {
	r.populate()
	if r.scenario.fresh {
		return
	}
	r.install()
	if r.scenario.byHand != "" {
		r.installByHand()
	}
	r.untilWithin(r.scenario.setupWithin(), "the installation", func() bool {
		if !r.isComplete() {
			return false
		}
		if r.scenario.automated {
			return true
		}
		recorded := r.recorded()
		for _, m := range r.members {
			if recorded[m.name] != "Healthy" {
				return false
			}
		}
		return true
	})
}

// live is a member's Application as last seen, where it is compared and synced, or nil.
func (r *rollout) live(m *member) *argo.Application {
	at := r.runs(m)
	return r.recorder.app(at.Namespace, at.Name)
}

// runs is where a member's Application is compared and synced.
func (r *rollout) runs(m *member) types.NamespacedName {
	if m.spoke != "" {
		return types.NamespacedName{Namespace: cluster.ArgoNamespace, Name: m.spoke}
	}
	return r.key(m.name)
}

// key is the name of an object of this rollout.
func (r *rollout) key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: string(r.mode), Name: name}
}

// applicationSet reads the ApplicationSet.
func (r *rollout) applicationSet() *argo.ApplicationSet {
	set := &argo.ApplicationSet{}
	script.Must(r.Admin.Get(r.ctx, r.key(r.name), set))
	return set
}

// recorded are the states that the ApplicationSet controller has recorded, by Application.
func (r *rollout) recorded() map[string]string {
	recorded := map[string]string{}
	for _, s := range r.applicationSet().Status.ApplicationStatus {
		recorded[s.Application] = string(s.Status)
	}
	return recorded
}

// untilRecorded waits until the ApplicationSet controller has recorded a member as Healthy at the newest commit.
func (r *rollout) untilRecorded(m *member) {
	r.until("the commit recorded for "+m.name, func() bool {
		for _, s := range r.applicationSet().Status.ApplicationStatus {
			if s.Application == m.name {
				return s.Status == "Healthy" && len(s.TargetRevisions) == 1 && s.TargetRevisions[0] == m.revision
			}
		}
		return false
	})
}

// until waits until a condition holds. It fails when that takes longer than the scenario may. Argo CD may overlook an
// operation meanwhile, without the gate, too.
func (r *rollout) until(what string, condition func() bool) {
	r.untilWithin(r.scenario.within(), what, func() bool {
		r.refreshOverlooked()
		return condition()
	})
}

func (r *rollout) untilWithin(limit time.Duration, what string, condition func() bool) {
	if err := r.wait(limit, condition); err != nil {
		script.Fail("%s: %w: %s", what, err, r.summary())
	}
}

func (r *rollout) wait(limit time.Duration, condition func() bool) error {
	return eventually.SucceedsWithin(r.ctx, limit, func() error {
		if err := r.recorder.lost(); err != nil {
			return gomega.StopTrying(err.Error())
		}
		if !condition() {
			return errors.New("it did not happen")
		}
		return nil
	})
}

// untilEach waits until a condition holds for the Application of every member.
func (r *rollout) untilEach(what string, members []*member, condition func(*member, *argo.Application) bool) {
	r.until(what, func() bool {
		for _, m := range members {
			if app := r.live(m); app == nil || !condition(m, app) {
				return false
			}
		}
		return true
	})
}

// pause lets time pass where the time itself is played, such as the pause between two refreshes.
func (r *rollout) pause(d time.Duration) {
	select {
	case <-r.ctx.Done():
		script.Must(r.ctx.Err())
	case <-time.After(d):
	}
}

// summary is one line with the state of the Applications, at most 20. Those that are not at the newest state come
// first.
func (r *rollout) summary() string {
	text, most := "", 20
	behind := func(m *member) int {
		if app := r.live(m); app != nil && m.atNewest(app) {
			return 1
		}
		return 0
	}
	members := slices.Clone(r.members)
	slices.SortStableFunc(members, func(a, b *member) int { return behind(a) - behind(b) })
	for i, m := range members {
		if i == most {
			return fmt.Sprintf("%sand %d more", text, len(r.members)-most)
		}
		app := r.live(m)
		if app == nil {
			text += fmt.Sprintf("%s: absent; ", m.name)
			continue
		}
		phase := "none"
		if app.Status.OperationState != nil {
			phase = string(app.Status.OperationState.Phase)
		}
		text += fmt.Sprintf("%s: %s %s at %.7s %s, refresh %q, operation set %t, last %s; ", m.name,
			app.Status.Health.Status, app.Status.Sync.Status,
			app.Status.Sync.Revision, app.Status.Sync.ComparedTo.Source.Path, app.Annotations[argo.AnnotationKeyRefresh],
			app.Operation != nil, phase)
	}
	return text
}

// begin marks the beginning of the measured rollout.
func (r *rollout) begin() {
	r.began, r.overlooked = time.Now(), 0
	for _, m := range r.members {
		if app := r.live(m); app != nil {
			r.since = max(r.since, script.Get(observer.Observe(app, false, r.began)).ResourceVersion)
		}
	}
}

// judge asks the observer for the starts of the measured rollout.
func (r *rollout) judge() []observer.Start {
	var starts []observer.Start
	for _, s := range observer.Judge(r.observed()) {
		if s.ResourceVersion > r.since {
			starts = append(starts, s)
		}
	}
	return starts
}
