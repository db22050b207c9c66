package main

import (
	"context"
	"errors"
	"time"
)

const (
	pollEvery     = 100 * time.Millisecond
	refreshWithin = 10 * time.Second
	refreshTries  = 3
	// overlooked is how long an operation is set before it counts as overlooked by the application controller.
	overlooked = 8 * time.Second
)

var errTimeout = errors.New("it did not happen in time")

// until polls until the condition holds; errTimeout when it does not in time.
func until(ctx context.Context, within time.Duration, condition func() (bool, error)) error {
	deadline := time.After(within)
	for {
		if ok, err := condition(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-deadline:
			return errTimeout
		case <-time.After(pollEvery):
		}
	}
}

// wait lets time pass where the time itself is what is played, such as the pause between two refreshes.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
