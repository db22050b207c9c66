// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/stepgate/stepgate/test/argocd"
	"github.com/stepgate/stepgate/test/e2e/observer"
	"github.com/stepgate/stepgate/test/script"
)

const (
	shortResync = 30 * time.Second
	shortJitter = 5 * time.Second
)

// outcome is the result of one rollout.
type outcome struct {
	rollout *rollout
	starts  []observer.Start
	atOnce  atOnce
	// took is zero when it did not complete.
	took  time.Duration
	ended time.Time
	// history is what `stepgate audit` says of it afterwards.
	history *history
	// problem is why it could not even be played.
	problem error
}

func (o *outcome) completed() bool { return o.took > 0 }

func (o *outcome) outOfOrder() int {
	n := 0
	for _, s := range o.starts {
		if s.OutOfOrder() {
			n++
		}
	}
	return n
}

// play plays a prepared rollout.
func (o *outcome) play() {
	r := o.rollout
	if o.problem != nil {
		return
	}
	o.problem = script.Run(func() {
		r.scenario.play(r)
		r.complete()
		o.starts, o.atOnce = r.judge(), r.countAtOnce()
	})
	o.ended = time.Now()
	if o.problem == nil {
		o.problem = script.Run(o.readHistory)
	}
	if !r.finished.IsZero() {
		o.took = r.finished.Sub(r.began)
	}
}

// table is the outcome of every scenario in every mode.
type table map[string]map[mode]*outcome

// player plays scenarios in modes.
type player struct {
	*suite
	modes []mode
	// atOnce is how many ApplicationSets are installed at a time.
	atOnce int
}

// playAll plays first the scenarios that wait for periodic comparison, all at once. Then it plays the others, with a
// long timeout.reconciliation, so that nothing but refreshes makes Argo CD look at git; one at a time, because together
// they would slow each other.
func (p player) playAll(ctx context.Context, chosen []scenario) (table, error) {
	all := table{}
	var periodic, others []scenario
	for _, sc := range chosen {
		if sc.resync {
			periodic = append(periodic, sc)
		} else {
			others = append(others, sc)
		}
	}
	if len(periodic) > 0 {
		if err := p.playPeriodic(ctx, periodic, all); err != nil {
			return nil, err
		}
	}
	for _, sc := range others {
		var err error
		if all[sc.key], err = p.playOne(ctx, sc); err != nil {
			return nil, err
		}
	}
	return all, ctx.Err()
}

func (p player) playPeriodic(ctx context.Context, chosen []scenario, all table) error {
	if err := p.argo.Restart(ctx, argocd.Settings{Resync: shortResync, Jitter: shortJitter}); err != nil {
		return err
	}
	for _, sc := range chosen {
		all[sc.key] = map[mode]*outcome{}
	}
	if err := p.prepare(ctx, chosen, all); err != nil {
		return err
	}
	var group sync.WaitGroup
	for _, outcomes := range all {
		for _, o := range outcomes {
			group.Go(o.play)
		}
	}
	group.Wait()
	for _, outcomes := range all {
		for _, o := range outcomes {
			printOutcome(o)
		}
	}
	return p.argo.Restart(ctx, quietSettings())
}

// playOne plays one scenario in every mode, one after the other, and a second time with the gate and without if it was
// too slow: the machine may have been busy with something else. Twice in a row is not chance.
func (p player) playOne(ctx context.Context, sc scenario) (map[mode]*outcome, error) {
	outcomes, err := p.playOnce(ctx, sc)
	if err != nil || tooSlow(outcomes[off], outcomes[on]) == 0 {
		return outcomes, err
	}
	without, with := outcomes[off], outcomes[on]
	p.out.Line("%s: %.1fs with the gate and %.1fs without: played again", sc.key, with.took.Seconds(),
		without.took.Seconds())
	sc.key += "-again"
	again, err := player{p.suite, []mode{off, on}, p.atOnce}.playOnce(ctx, sc)
	if err != nil {
		return nil, err
	}
	// The starts of the first time still count.
	again[off].starts = append(again[off].starts, without.starts...)
	again[on].starts = append(again[on].starts, with.starts...)
	maps.Copy(outcomes, again)
	return outcomes, nil
}

func (p player) playOnce(ctx context.Context, sc scenario) (map[mode]*outcome, error) {
	all := table{sc.key: {}}
	if err := p.prepare(ctx, []scenario{sc}, all); err != nil {
		return nil, err
	}
	for _, m := range sc.in(p.modes) {
		all[sc.key][m].play()
		printOutcome(all[sc.key][m])
	}
	return all[sc.key], nil
}

// prepare installs the ApplicationSets of scenarios in every mode, and puts an outcome for each into the table.
func (p player) prepare(ctx context.Context, chosen []scenario, all table) error {
	var group errgroup.Group
	group.SetLimit(p.atOnce)
	for _, sc := range chosen {
		for _, m := range sc.in(p.modes) {
			o := &outcome{rollout: newRollout(ctx, p.suite, sc, m)}
			all[sc.key][m] = o
			group.Go(func() error {
				if err := script.Run(o.rollout.prepare); err != nil {
					o.problem = fmt.Errorf("set up: %w", err)
				}
				return ctx.Err()
			})
		}
	}
	return group.Wait()
}
