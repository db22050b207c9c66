package main

import (
	"context"
	"fmt"
	"time"

	"github.com/stepgate/stepgate/test/load"
)

const (
	// Short lives, with a third of each left for what has to be done in it: a leaf is replaced after 16 s, a CA after 40 s.
	leafDuration = 24 * time.Second
	caDuration   = time.Minute

	// wipes is how often the bundle is emptied.
	wipes = 10
	// restartEvery is after how many CA rotations one goes on while a replica is restarted.
	restartEvery = 5
)

// soakCerts rotates CAs in every way in which that happens, and leaves all the time.
func soakCerts(ctx context.Context, s *stand, o options) error {
	if err := s.install(ctx, "--cert-leaf-duration="+leafDuration.String(), "--cert-ca-duration="+caDuration.String(),
		"--shutdown-delay="+o.shutdownDelay.String()); err != nil {
		return err
	}
	tally := &load.Tally{}
	sender, err := s.load(ctx, "certs", o, tally)
	if err != nil {
		return err
	}
	r := &rotations{stand: s, counts: map[string]int{}}
	began, connections := time.Now(), s.release.Balancer.Connections()
	watch := newObserver(s)
	err = during(ctx, sender, func(ctx context.Context) error {
		watching, stop := context.WithCancel(ctx)
		defer stop()
		seen := make(chan error, 1)
		go func() { seen <- watch.run(watching) }()
		if err := r.all(ctx, o, tally, watch); err != nil {
			return err
		}
		stop()
		return <-seen
	})
	if err != nil {
		return err
	}
	took := time.Since(began)
	outside, inside := r.apart(tally.Failures())
	fmt.Printf("soak-certs: calls=%d failed=%d wrong_allows=%d wrong_denies=%d other_writes=%d leaf_rotations=%d ca_rotations=%d%s "+
		"bundle_wipes=%d failed_while_wiped=%d bundle_restored_within=%s handshakes=%d handshakes_failed=%d connections=%d rate=%.0f/s took=%s p50=%s p99=%s max=%s\n",
		tally.Calls(), outside, tally.Count(load.WrongAllow), tally.Count(load.WrongDeny), tally.Others(), watch.leaves, r.rotated, r,
		len(r.wiped), inside, r.slowest.Round(time.Millisecond), watch.handshakes, len(watch.refused),
		s.release.Balancer.Connections()-connections, float64(tally.Calls())/took.Seconds(), took.Round(time.Second),
		tally.Percentile(50).Round(time.Millisecond/10), tally.Percentile(99).Round(time.Millisecond/10), tally.Percentile(100).Round(time.Millisecond/10))
	report(tally)
	for _, text := range watch.refused {
		progress("handshake: %s", text)
	}
	var g goals
	g.common(tally, o)
	g.require(outside == 0, "0 failed calls while the bundle is there")
	g.require(r.slowest <= wipeRestored, "a wiped bundle restored within %s", wipeRestored)
	g.require(len(watch.refused) == 0, "0 handshakes that the bundle of the moment does not verify")
	g.require(r.rotated >= o.caRotations, "%d CA rotations", o.caRotations)
	g.require(watch.leaves >= o.leafRotations, "%d leaf rotations", o.leafRotations)
	return g.err()
}

// all rotates until there was enough of everything.
func (r *rotations) all(ctx context.Context, o options, tally *load.Tally, watch *observer) error {
	deployed := r.stand.release
	kinds := []rotation{
		{"secret_deletions", deployed.DeleteCA}, {"near_expiry", deployed.AgeCA}, {"secret_emptied", deployed.EmptyCA}, {"secret_garbled", deployed.GarbleCA},
		{"expired", func(context.Context) error { return nil }}, // by itself, after two thirds of its life
	}
	gates := len(deployed.Replicas())
	for r.rotated < o.caRotations || watch.count() < o.leafRotations || tally.Calls() < o.calls {
		kind := kinds[r.rotated%len(kinds)]
		restarted := make(chan error, 1)
		if restart := r.rotated%restartEvery == restartEvery-3; restart {
			go func() { restarted <- deployed.Restart(ctx, r.rotated%gates) }()
		} else {
			restarted <- nil
		}
		if err := r.rotate(ctx, kind); err != nil {
			return err
		}
		if err := <-restarted; err != nil {
			return err
		}
		if r.rotated*wipes > len(r.wiped)*o.caRotations && len(r.wiped) < wipes {
			if err := r.wipe(ctx); err != nil {
				return err
			}
		}
		progress("CA rotation %d, %d leaf rotations: %s", r.rotated, watch.count(), tally)
	}
	return nil
}
