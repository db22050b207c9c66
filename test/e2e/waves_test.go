// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/eventually"
	"github.com/stepgate/stepgate/test/report"
	"github.com/stepgate/stepgate/test/script"
)

// wavesRound is what is played at the same time, while Argo CD tracks in one way.
type wavesRound struct {
	// tracking is application.resourceTrackingMethod; when empty, Argo CD's default, which is by annotation.
	tracking string
	families []waveFamily
	modes    []mode
}

func wavesRounds() []wavesRound {
	return []wavesRound{
		{families: []waveFamily{platformFamily(), peopleFamily()}, modes: []mode{off, waving}},
		{families: []waveFamily{undoneFamily()}, modes: []mode{waving, wavingOn}},
		{tracking: "label", families: []waveFamily{repositoriesFamily()}, modes: []mode{off, waving}},
		{tracking: "annotation+label", families: []waveFamily{sixtyFamily()}, modes: []mode{off, waving}},
	}
}

// chosenWaves are the rounds with the plays that -scenarios names, or with all.
func chosenWaves(list string) (rounds []wavesRound) {
	for _, round := range wavesRounds() {
		var families []waveFamily
		for _, f := range round.families {
			f.plays = slices.DeleteFunc(f.plays, func(p wavesPlay) bool {
				return len(choose([]scenario{{key: p.key}}, list, false)) == 0
			})
			if len(f.plays) > 0 {
				families = append(families, f)
			}
		}
		if round.families = families; len(families) > 0 {
			rounds = append(rounds, round)
		}
	}
	return rounds
}

// TestWaves lets parent Applications install children in sync waves, and then changes what the children deploy. All is
// played without stepgate and with it, side by side.
func TestWaves(t *testing.T) {
	about := report.Suite{
		Name: "e2e-waves", Title: "parent Applications whose children have sync waves (`stepgate.io/waves`)",
	}
	modes, rounds := []mode{off, waving, wavingOn}, chosenWaves(chosen.scenarios)
	if len(rounds) == 0 {
		t.Fatalf("no scenario is named %q", chosen.scenarios)
	}
	chosen.run(t, about, modes, func(ctx context.Context, _ *testing.T, _ options, s *suite) (string, error) {
		if err := s.argo.LinkHelm(); err != nil {
			return "", err
		}
		s.out.Line("Both are played at the same time.\n")
		s.out.Line("| what happens | stepgate | starts out of order | complete | time |\n|---|---|---|---|---|")
		out, problems := map[mode]int{}, []error(nil)
		for _, round := range rounds {
			if err := s.trackBy(ctx, round.tracking); err != nil {
				return "", errors.Join(append(problems, err)...)
			}
			for _, p := range s.playWavesRound(ctx, round) {
				p.print()
				out[p.mode] += p.outOfOrder()
				problems = append(problems, p.problem)
			}
		}
		line := fmt.Sprintf("e2e-waves: argocd=%s off_out_of_order=%d waving_out_of_order=%d", s.argo.Version, out[off],
			out[waving]+out[wavingOn])
		if out[waving]+out[wavingOn] > 0 {
			problems = append(problems, errors.New("out of order with stepgate"))
		}
		without := func(r wavesRound) bool { return slices.Contains(r.modes, off) }
		if out[off] == 0 && slices.ContainsFunc(rounds, without) {
			problems = append(problems, errors.New("nothing was out of order without stepgate"))
		}
		return line, errors.Join(problems...)
	})
}

// trackBy has Argo CD track in some way. What was played before that is removed.
func (s *suite) trackBy(ctx context.Context, tracking string) error {
	if err := s.removeApplications(ctx); err != nil || tracking == "" {
		return err
	}
	settings := quietSettings()
	settings.Tracking = tracking
	return s.argo.Restart(ctx, settings)
}

// removeApplications deletes everything that is Argo CD's. A parent that syncs creates its children again.
func (s *suite) removeApplications(ctx context.Context) error {
	return eventually.Succeeds(ctx, func() error {
		left := 0
		for m := range s.clis {
			for _, namespace := range []string{string(m), m.team()} {
				sets, apps := &argo.ApplicationSetList{}, &argo.ApplicationList{}
				in := client.InNamespace(namespace)
				err := errors.Join(
					s.Admin.DeleteAllOf(ctx, &argo.ApplicationSet{}, in), s.Admin.DeleteAllOf(ctx, &argo.Application{}, in),
					s.Admin.List(ctx, sets, in), s.Admin.List(ctx, apps, in),
				)
				if err != nil {
					return err
				}
				left += len(sets.Items) + len(apps.Items)
			}
		}
		if left > 0 {
			return fmt.Errorf("%d Applications and ApplicationSets are left", left)
		}
		return nil
	})
}

// playWavesRound plays all families of a round in all its modes at the same time.
func (s *suite) playWavesRound(ctx context.Context, round wavesRound) (all []*wavesPlayed) {
	var group sync.WaitGroup
	for _, m := range round.modes {
		for _, f := range round.families {
			p := &wavesPlayed{suite: s, waveFamily: f, ctx: ctx, mode: m}
			all = append(all, p)
			group.Go(func() {
				if err := script.Run(p.play); err != nil {
					p.problem = errors.Join(p.problem, fmt.Errorf("%s, %s: %w", p.parent, m, err))
				}
			})
		}
	}
	group.Wait()
	return all
}
