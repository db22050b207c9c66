// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/stepgate/stepgate/test/load"
)

const (
	// A leaf is replaced after two thirds of its life, which is 16 s, and a CA after 40 s.
	leafDuration = 24 * time.Second
	caDuration   = time.Minute
	// restartEvery is after how many CA rotations a replica is restarted in the middle of one.
	restartEvery = 5
	// informed is how long the API server may take to see the registration that is stored.
	informed = time.Second
)

// TestCertificates replaces the CA in every way in which that happens, while leaves rotate all the time.
func TestCertificates(t *testing.T) {
	s := start(t, "Certificates", "--cert-leaf-duration="+leafDuration.String(), "--cert-ca-duration="+caDuration.String())
	r := &rotations{soak: s, counts: map[string]int{}, watch: newHandshaker(s.release)}
	calls, cas, leaves, wipes := full(10000, 100), full(20, 4), full(100, 8), full(10, 1)
	m := s.during("certs", func(tally *load.Tally) {
		watching, stop := context.WithCancel(s.ctx)
		watched := make(chan error, 1)
		go func() { watched <- r.watch.run(watching) }()
		defer stop()
		for r.done < cas || r.watch.count() < leaves || tally.Calls() < calls {
			r.rotate()
			if r.done*wipes > len(r.wiped)*cas && len(r.wiped) < wipes {
				r.wipe()
			}
			t.Logf("CA rotation %d, %d leaf rotations: %s", r.done, r.watch.count(), tally)
		}
		stop()
		s.Expect(<-watched).To(Succeed())
	})
	excused := m.Excuse(r.whileWiped)
	s.page.Line("soak-certs: %s leaf_rotations=%d ca_rotations=%d%s bundle_wipes=%d failed_while_wiped=%d "+
		"bundle_restored_within=%s "+
		"handshakes=%d handshakes_failed=%d", m, r.watch.leaves, r.done, r, len(r.wiped), excused,
		r.slowest.Round(time.Millisecond), r.watch.handshakes, len(r.watch.refused))
	goals := load.Goals(s.t)
	m.ExpectNoneWrong(goals)
	goals.Expect(m.Calls()).To(BeNumerically(">=", calls), "calls")
	goals.Expect(m.Count(load.Failed)).To(BeZero(), "failed calls while the bundle is there")
	goals.Expect(r.watch.refused).To(BeEmpty(), "handshakes that the bundle of the moment does not verify")
	goals.Expect(r.watch.leaves).To(BeNumerically(">=", leaves), "leaf rotations")
}

// rotations counts what was done to the CA and its bundle.
type rotations struct {
	*soak
	watch  *handshaker
	done   int
	counts map[string]int
	// wiped are the times in which the API server could not verify anything.
	wiped []load.Failure
	// slowest is the longest time for which a wiped bundle was missing.
	slowest time.Duration
}

// rotate replaces the CA, each time in another way.
func (r *rotations) rotate() {
	kinds := []struct {
		name    string
		trigger func(context.Context) error
	}{
		{"secret_deletions", r.release.DeleteCA}, {"near_expiry", r.release.AgeCA}, {"secret_emptied", r.release.EmptyCA},
		{"secret_garbled", r.release.GarbleCA},
		{"expired", func(context.Context) error { return nil }}, // by itself, after two thirds of its life
	}
	kind := kinds[r.done%len(kinds)]
	restarted := make(chan error, 1)
	if i := r.done % len(r.release.Replicas()); r.done%restartEvery == restartEvery-3 {
		go func() { restarted <- r.release.Restart(r.ctx, i) }()
	} else {
		restarted <- nil
	}
	r.Expect(r.release.Rotate(r.ctx, kind.trigger)).To(Succeed(), "CA rotation %d, %s", r.done+1, kind.name)
	r.Expect(<-restarted).To(Succeed())
	r.done++
	r.counts[kind.name]++
}

// String counts the rotations by kind.
func (r *rotations) String() string {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(r.counts)) {
		fmt.Fprintf(&text, " %s=%d", name, r.counts[name])
	}
	return text.String()
}

// wipe empties the bundle and waits until it is there again.
func (r *rotations) wipe() {
	wiped, back, err := r.release.WipeBundle(r.ctx)
	r.Expect(err).NotTo(HaveOccurred())
	r.t.Logf("bundle wiped at %s, back after %s", wiped.Format("15:04:05.000"), back.Sub(wiped).Round(time.Millisecond))
	r.slowest = max(r.slowest, back.Sub(wiped))
	r.wiped = append(r.wiped, load.Failure{Began: wiped, Ended: back.Add(informed)})
}

// whileWiped reports whether a call failed while there was no bundle.
func (r *rotations) whileWiped(f load.Failure) bool {
	return slices.ContainsFunc(r.wiped, func(w load.Failure) bool {
		return f.Ended.After(w.Began) && f.Began.Before(w.Ended)
	})
}
