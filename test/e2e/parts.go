package main

import (
	"context"
	"maps"
	"time"
)

const (
	shortResync = 30 * time.Second
	shortJitter = 15 * time.Second
)

// playParts plays the scenarios in which only refreshes move things, and then, with a short timeout.reconciliation, those
// in which periodic comparison does.
func (s *stand) playParts(ctx context.Context, chosen []scenario, modes []mode, parallel int) (map[string]map[mode]*outcome, error) {
	var first, second []scenario
	for _, sc := range chosen {
		if sc.resync {
			second = append(second, sc)
		} else {
			first = append(first, sc)
		}
	}
	all, err := s.playAll(ctx, first, modes, parallel, printOutcome)
	if err != nil || len(second) == 0 {
		return all, err
	}
	if err := s.argo.Restart(ctx, shortResync, shortJitter); err != nil {
		return nil, err
	}
	more, err := s.playAll(ctx, second, modes, parallel, printOutcome)
	maps.Copy(all, more)
	return all, err
}
