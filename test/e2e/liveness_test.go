// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"

	"github.com/stepgate/stepgate/test/script"
)

// survivals are the scenarios in which replicas of the gate end while a sync is held.
func survivals() []scenario {
	return []scenario{
		{key: "kill-each", title: "each of two replicas is killed once while a sync is held", each: 1, quick: true, play: killEach},
		{key: "kill-both", title: "both replicas are killed while a sync is held, and start again", each: 1, play: killBoth},
		{
			key: "kill-both-early", title: "both replicas are killed while a sync is held; what it waits for is done before they start again", each: 1,
			play: killBothUntilOpen,
		},
	}
}

// measureLiveness plays these scenarios with two replicas. Each has to complete in order.
func (s *suite) measureLiveness(ctx context.Context, chosen []scenario) error {
	early, completed := 0, 0
	for _, sc := range chosen {
		outcomes, err := player{s, []mode{pair}, 1}.playOnce(ctx, sc)
		if err != nil {
			return err
		}
		o := outcomes[pair]
		early += o.outOfOrder()
		if o.completed() {
			completed++
		}
	}
	s.out.Line("liveness: rollouts=%d out_of_order=%d completed=%d", len(chosen), early, completed)
	if early > 0 || completed < len(chosen) {
		return fmt.Errorf("with replicas that are killed: %d starts out of order, %d of %d rollouts completed", early,
			completed, len(chosen))
	}
	return nil
}

// holdBack lets a commit wait in the second step, because the first step is Degraded.
func (r *rollout) holdBack(version string) {
	r.version(version, r.members)
	r.holdUp(r.one("dev"))
	before := r.heldWrites()
	r.refreshLater(func() {
		r.until("a held operation", func() bool { return r.heldWrites() > before })
	})
}

// heldWrites is the number of held operations of this rollout so far.
func (r *rollout) heldWrites() int {
	n := 0
	for _, w := range script.Get(r.audit.writes()) {
		if r.owns(w) && w.held() {
			n++
		}
	}
	return n
}

func (r *rollout) kill(i int) { r.gates[r.mode].Replicas()[i].Kill() }

func (r *rollout) restart(i int) { script.Must(r.gates[r.mode].Start(r.ctx, i)) }

func (r *rollout) untilReady() { script.Must(r.gates[r.mode].WaitReady(r.ctx)) }

func killEach(r *rollout) {
	r.begin()
	for i, version := range []string{"2", "3"} {
		r.holdBack(version)
		r.kill(i)
		r.health(r.one("dev"), "Healthy")
		r.until("the end of a rollout with one replica", r.isComplete)
		r.restart(i)
		r.untilReady()
		r.quiet()
	}
}

func killBoth(r *rollout) {
	r.begin()
	r.holdBack("2")
	for i := range pair.replicas() {
		r.kill(i)
	}
	for i := range pair.replicas() {
		r.restart(i)
	}
	r.untilReady()
	r.health(r.one("dev"), "Healthy")
}

func killBothUntilOpen(r *rollout) {
	r.begin()
	r.holdBack("2")
	for i := range pair.replicas() {
		r.kill(i)
	}
	r.health(r.one("dev"), "Healthy")
	for i := range pair.replicas() {
		r.restart(i)
	}
	r.untilReady()
}
