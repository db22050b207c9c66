package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/stepgate/stepgate/test/load"
)

const (
	// wipeRestored is how soon a wiped bundle has to be there again.
	wipeRestored = 5 * time.Second
	// informed is how long the API server may take to see the registration that is stored.
	informed = time.Second
)

// rotations are what was done to the CA and its bundle.
type rotations struct {
	stand   *stand
	rotated int
	counts  map[string]int
	// wiped are the times in which the API server could not verify anything.
	wiped []load.Failure
	// slowest is the longest that a wiped bundle was away.
	slowest time.Duration
}

// rotation is one way in which a CA comes to be replaced.
type rotation struct {
	name    string
	trigger func(context.Context) error
}

// rotate waits until every replica serves a leaf of a CA that is new.
func (r *rotations) rotate(ctx context.Context, kind rotation) error {
	before, err := r.stand.release.CA(ctx)
	if err != nil {
		return err
	}
	if err := kind.trigger(ctx); err != nil {
		return fmt.Errorf("%s: %w", kind.name, err)
	}
	if err := r.stand.release.WaitRotated(ctx, before); err != nil {
		return fmt.Errorf("CA rotation %d, %s: %w", r.rotated+1, kind.name, err)
	}
	r.rotated++
	r.counts[kind.name]++
	return nil
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
func (r *rotations) wipe(ctx context.Context) error {
	wiped, back, err := r.stand.release.WipeBundle(ctx)
	if err != nil {
		return err
	}
	progress("bundle wiped at %s, back after %s", wiped.Format("15:04:05.000"), back.Sub(wiped).Round(time.Millisecond))
	r.slowest = max(r.slowest, back.Sub(wiped))
	r.wiped = append(r.wiped, load.Failure{Began: wiped, Ended: back.Add(informed)})
	return nil
}

// apart counts the failures outside of the times without a bundle, and inside.
func (r *rotations) apart(failures []load.Failure) (outside, inside int) {
	for _, f := range failures {
		if slices.ContainsFunc(r.wiped, func(w load.Failure) bool { return f.Ended.After(w.Began) && f.Began.Before(w.Ended) }) {
			inside++
		} else {
			outside++
		}
	}
	return outside, inside
}
