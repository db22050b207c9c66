package main

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"
)

const (
	shortResync = 30 * time.Second
	shortJitter = 5 * time.Second
)

// playParts plays first the scenarios in which periodic comparison moves things, all at once, and then, with a long
// timeout.reconciliation, those in which nothing but refreshes does, one at a time, so that they do not slow each other.
func (s *stand) playParts(ctx context.Context, chosen []scenario, modes []mode, parallel int) (table, error) {
	var periodic, others []scenario
	for _, sc := range chosen {
		if sc.resync {
			periodic = append(periodic, sc)
		} else {
			others = append(others, sc)
		}
	}
	all := table{}
	if len(periodic) > 0 {
		if err := s.argo.Restart(ctx, shortResync, shortJitter); err != nil {
			return nil, err
		}
		part, err := s.prepareAll(ctx, periodic, modes, parallel)
		if err != nil {
			return nil, err
		}
		part.playTogether(ctx)
		maps.Copy(all, part)
		if err := s.argo.Restart(ctx, longResync, 0); err != nil {
			return nil, err
		}
	}
	for _, sc := range others {
		part, err := s.playOne(ctx, sc, modes, parallel)
		if err != nil {
			return nil, err
		}
		if without, with := part[off], part[on]; tooSlow(without, with) > 0 {
			// The machine may have been busy with something else just then; twice in a row is not chance.
			fmt.Printf("%s: %.1fs with the gate and %.1fs without: played again\n", sc.key, with.took.Seconds(), without.took.Seconds())
			again := sc
			again.key += "-again"
			second, err := s.playOne(ctx, again, []mode{off, on}, parallel)
			if err != nil {
				return nil, err
			}
			// What went out of order the first time stays in the account.
			second[off].starts = append(second[off].starts, without.starts...)
			second[on].starts = append(second[on].starts, with.starts...)
			maps.Copy(part, second)
		}
		all[sc.key] = part
	}
	return all, ctx.Err()
}

// playOne plays one scenario in every mode, one after the other.
func (s *stand) playOne(ctx context.Context, sc scenario, modes []mode, parallel int) (map[mode]*outcome, error) {
	part, err := s.prepareAll(ctx, []scenario{sc}, modes, parallel)
	if err != nil {
		return nil, err
	}
	for _, m := range modes {
		part[sc.key][m].play(ctx)
		printOutcome(part[sc.key][m])
	}
	return part[sc.key], nil
}

func (t table) playTogether(ctx context.Context) {
	var group sync.WaitGroup
	for _, modes := range t {
		for _, o := range modes {
			group.Go(func() { o.play(ctx) })
		}
	}
	group.Wait()
	for _, modes := range t {
		for _, o := range modes {
			printOutcome(o)
		}
	}
}
