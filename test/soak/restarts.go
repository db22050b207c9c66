package main

import (
	"context"
	"fmt"
	"time"

	"github.com/stepgate/stepgate/test/load"
)

// recovery is how soon after a SIGKILL every call has to be answered again.
const recovery = time.Second

// soakRestarts restarts every replica in turn, over and over, and then kills them.
func soakRestarts(ctx context.Context, s *stand, o options) error {
	if err := s.install(ctx, "--shutdown-delay="+o.shutdownDelay.String()); err != nil {
		return err
	}
	if err := rolling(ctx, s, o); err != nil {
		return err
	}
	return killing(ctx, s, o)
}

func rolling(ctx context.Context, s *stand, o options) error {
	tally := &load.Tally{}
	sender, err := s.load(ctx, "rolling", o, tally)
	if err != nil {
		return err
	}
	began, connections, restarted := time.Now(), s.release.Balancer.Connections(), 0
	err = during(ctx, sender, func(ctx context.Context) error {
		for round := 0; round < o.restarts || tally.Calls() < o.calls; round++ {
			for i := range s.release.Replicas() {
				if err := s.release.Restart(ctx, i); err != nil {
					return err
				}
				restarted++
			}
			progress("rolling restart %d: %s", round+1, tally)
		}
		return nil
	})
	if err != nil {
		return err
	}
	took := time.Since(began)
	fmt.Printf("soak-restarts: SIGTERM %s rolling_restarts=%d replicas_restarted=%d connections=%d rate=%.0f/s took=%s\n",
		tally, restarted/len(s.release.Replicas()), restarted, s.release.Balancer.Connections()-connections,
		float64(tally.Calls())/took.Seconds(), took.Round(time.Second))
	report(tally)
	var g goals
	g.common(tally, o)
	g.require(tally.Count(load.Failed) == 0, "0 failed calls")
	return g.err()
}

func killing(ctx context.Context, s *stand, o options) error {
	tally := &load.Tally{}
	sender, err := s.load(ctx, "killing", o, tally)
	if err != nil {
		return err
	}
	var kills []time.Time
	began := time.Now()
	err = during(ctx, sender, func(ctx context.Context) error {
		for len(kills) < o.kills {
			i := len(kills) % len(s.release.Replicas())
			if err := s.release.WaitReady(ctx); err != nil {
				return err
			}
			kills = append(kills, time.Now())
			s.release.Replicas()[i].Kill()
			if err := s.release.Start(ctx, i); err != nil {
				return err
			}
			// Watched for longer than the goal, and each at another moment between two bursts.
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(2*recovery + time.Duration(len(kills))*37*time.Millisecond):
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	slowest := slowestRecovery(kills, tally.Failures())
	took := time.Since(began)
	fmt.Printf("soak-restarts: SIGKILL %s kills=%d recovered_within=%s rate=%.0f/s took=%s\n",
		tally, len(kills), slowest.Round(time.Millisecond), float64(tally.Calls())/took.Seconds(), took.Round(time.Second))
	report(tally)
	var g goals
	g.require(tally.Count(load.WrongAllow) == 0, "nothing wrongly admitted")
	g.require(tally.Count(load.WrongDeny) == 0, "nothing wrongly denied")
	g.require(slowest <= recovery, "recovered within %s of every SIGKILL", recovery)
	return g.err()
}

// slowestRecovery is the longest time from a SIGKILL to the last failure that came before the next one.
func slowestRecovery(kills []time.Time, failures []load.Failure) time.Duration {
	var slowest time.Duration
	for i, kill := range kills {
		for _, f := range failures {
			if f.Ended.After(kill) && (i+1 == len(kills) || f.Ended.Before(kills[i+1])) {
				slowest = max(slowest, f.Ended.Sub(kill))
			}
		}
	}
	return slowest
}

// common are the goals of every soak.
func (g *goals) common(tally *load.Tally, o options) {
	g.require(tally.Calls() >= o.calls, "at least %d calls", o.calls)
	g.require(tally.Count(load.WrongAllow) == 0, "nothing wrongly admitted")
	g.require(tally.Count(load.WrongDeny) == 0, "nothing wrongly denied")
}

// report tells on stderr what went wrong.
func report(tally *load.Tally) {
	for _, f := range tally.Failures() {
		progress("failed at %s after %s: %v", f.Ended.Format("15:04:05.000"), f.Ended.Sub(f.Began).Round(time.Millisecond), f.Err)
	}
	for _, text := range tally.Texts() {
		progress("error: %s", text)
	}
}
