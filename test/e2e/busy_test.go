// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/installed"
	"github.com/stepgate/stepgate/test/script"
)

// busyModes are the modes in which the load of the ApplicationSet controller is measured.
func busyModes() []mode { return []mode{off, refusing, on} }

// busy is the load of the ApplicationSet controller with one ApplicationSet whose second step may not start.
type busy struct {
	*rollout
	// spec changes the spec of the later steps as well, while they wait.
	spec bool
	// halves are the loads of the first and of the second half of the time.
	halves [2]load
	// completed says that the rollout went on when the first step had recovered.
	completed bool
}

// load is what the ApplicationSet controller does in a time.
type load struct {
	lasted                  time.Duration
	reconciles              float64
	writes, refusals, holds int
	// texts are the different texts of the refusals.
	texts map[string]bool
}

func (l load) perMinute(n float64) string {
	if l.lasted == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f", n/l.lasted.Minutes())
}

// measureBusy has an Application of the first step stay Degraded while the second step wants to start, without a gate,
// with one that refuses, and with one that holds. It prints how busy that keeps the ApplicationSet controller, and
// fails if the rollout with the gate that holds does not complete in the end.
func (s *suite) measureBusy(ctx context.Context, lasting time.Duration) error {
	var all []*busy
	for _, spec := range []bool{false, true} {
		for _, m := range busyModes() {
			key := map[bool]string{false: "busy-operation", true: "busy-spec"}[spec]
			all = append(all, &busy{rollout: newRollout(ctx, s, scenario{key: key, each: 1}, m), spec: spec})
		}
	}
	var group sync.WaitGroup
	problems := make([]error, len(all))
	for i, b := range all {
		group.Go(func() {
			if err := script.Run(func() { b.play(lasting) }); err != nil {
				problems[i] = fmt.Errorf("%s, %s: %w", b.name, b.mode, err)
			}
		})
	}
	group.Wait()
	s.out.Line("\nThe ApplicationSet controller while a sync has to wait, per minute:")
	s.out.Line("| the write that waits | gate | reconciles | writes | refused | held | goes on afterwards " +
		"|\n|---|---|---|---|---|---|---|")
	for _, b := range all {
		b.print()
	}
	return errors.Join(problems...)
}

func (b *busy) play(lasting time.Duration) {
	r := b.rollout
	r.prepare()
	r.begin()
	dev, waits := r.one("dev"), r.keptWaiting()
	r.commitAhead(r.members)
	r.holdUp(dev)
	var half measurement
	begin := func() { half = r.startLoad() }
	if !b.spec {
		begin()
	}
	r.refreshLater(func() { r.untilKeptWaiting(waits) })
	if b.spec {
		begin()
		r.changeSpec(r.in("qa", "prod"))
	}
	for i := range b.halves {
		r.pause(time.Until(half.began.Add(lasting / 2)))
		b.halves[i], half = half.end(), r.startLoad()
	}
	r.untilKeptWaiting(waits)
	// A text that changes would be one more write of the ApplicationSet's conditions for every refusal.
	if texts := b.halves[1].texts; len(texts) > 1 {
		script.Fail("the text of the denials did not stay the same: %q", slices.Sorted(maps.Keys(texts)))
	}
	r.health(dev, "Healthy")
	r.complete()
	b.completed = !r.finished.IsZero()
	// A gate that refuses the spec together with the operation keeps Argo CD from comparing it, and so from going on.
	// Argo CD alone may leave a change of the spec lying (argo-cd#27949).
	if !b.completed && r.mode == on {
		script.Fail("the rollout did not complete when step 1 had recovered: %s", r.summary())
	}
}

// changeSpec changes the spec of members to what commitAhead has prepared.
func (r *rollout) changeSpec(members []*member) {
	for _, m := range members {
		m.path, m.version = m.name+"/two", "3"
	}
	r.changed()
	r.edit(nil)
}

// holdUp has a member of the first step complete the newest commit, waits until the ApplicationSet controller has
// recorded it as Healthy, and then makes it Degraded. From 3.3 on the ApplicationSet controller does not look at its
// health again, and starts the next step; up to 3.2 it may start the one after that (keptWaiting).
func (r *rollout) holdUp(m *member) {
	r.refresh(m)
	r.untilNewest(m)
	r.untilRecorded(m)
	r.health(m, "Degraded")
}

// untilKeptWaiting waits until a gate has held or refused a write of the ApplicationSet controller for a member.
func (r *rollout) untilKeptWaiting(m *member) {
	if r.mode == off {
		return
	}
	r.until("a held or refused operation of "+m.name, func() bool {
		for _, w := range script.Get(r.audit.writes()) {
			if r.owns(w) && w.ObjectRef.Name == m.name && !w.RequestReceivedTimestamp.Before(r.began) &&
				(w.held() || w.refused()) {
				return true
			}
		}
		return false
	})
}

// commitAhead commits version 2, and beside it the folders that a later change of the spec points to.
func (r *rollout) commitAhead(members []*member) {
	changed := files{}
	for _, m := range members {
		m.version = "2"
		maps.Copy(changed, m.file("Healthy"))
		next := *m
		next.path, next.version = m.name+"/two", "3"
		maps.Copy(changed, next.file("Healthy"))
	}
	r.commit(members[0].repo, changed)
}

// measurement is a load that is being measured.
type measurement struct {
	*rollout
	began      time.Time
	reconciled float64
}

// startLoad begins to measure what the ApplicationSet controller does for this rollout.
func (r *rollout) startLoad() measurement { return measurement{r, time.Now(), r.reconciles()} }

func (m measurement) end() load {
	l := load{lasted: time.Since(m.began), reconciles: m.reconciles() - m.reconciled, texts: map[string]bool{}}
	for _, w := range script.Get(m.audit.writes()) {
		at := w.RequestReceivedTimestamp
		if w.User.Username != cluster.ApplicationSetAccount || !m.owns(w) || at.Before(m.began) ||
			at.After(m.began.Add(l.lasted)) {
			continue
		}
		l.writes++
		if w.refused() {
			l.refusals++
			l.texts[w.ResponseStatus.Message] = true
		}
		if w.held() {
			l.holds++
		}
	}
	return l
}

// reconciles is how often the ApplicationSet controller has reconciled the ApplicationSet.
func (r *rollout) reconciles() float64 {
	return script.Get(installed.Metric(r.ctx, r.argo.ApplicationSetMetrics(), "argocd_appset_reconcile", "namespace",
		string(r.mode), "name", r.name))
}

// print is a row of the table: each figure is per minute, in the first and in the second half of the time.
func (b *busy) print() {
	variant := map[bool]string{false: "the operation alone", true: "spec and operation"}[b.spec]
	gate := map[mode]string{off: "none", refusing: "refuses (`--hold=false`)", on: "holds"}[b.mode]
	cells := func(count func(load) float64) string {
		return b.halves[0].perMinute(count(b.halves[0])) + ", then " + b.halves[1].perMinute(count(b.halves[1]))
	}
	after := map[bool]string{true: "yes", false: "no"}[b.completed]
	b.out.Line("| %s | %s | %s | %s | %s | %s | %s |", variant, gate,
		cells(func(l load) float64 { return l.reconciles }), cells(func(l load) float64 { return float64(l.writes) }),
		cells(func(l load) float64 {
			return float64(l.refusals)
		}), cells(func(l load) float64 { return float64(l.holds) }), after)
}
