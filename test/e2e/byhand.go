package main

import (
	"context"
	"fmt"
	"strings"
)

// installByHand syncs the step that has maxUpdate 0 during the installation, when it is its turn.
func (r *rollout) installByHand(ctx context.Context) error {
	if err := r.settled(ctx, r.in("dev")[0]); err != nil {
		return err
	}
	return r.sync(ctx, r.in(r.scenario.byHand)[0])
}

// byHand has somebody sync qa before dev has even been compared, and again when it is its turn.
func byHand(ctx context.Context, r *rollout) error {
	dev, qa := r.in("dev")[0], r.in("qa")[0]
	r.begin()
	if err := r.version("2", healthy, r.members...); err != nil {
		return err
	}
	if err := r.refresh(ctx, between, qa); err != nil {
		return err
	}
	if err := r.tooEarly(ctx, qa); err != nil {
		return err
	}
	if err := r.refresh(ctx, between, append(r.in("prod"), dev)...); err != nil {
		return err
	}
	if err := r.settled(ctx, dev); err != nil {
		return err
	}
	return r.sync(ctx, qa)
}

// tooEarly syncs with the CLI before it is the turn of the member: it has to be refused where there is a gate, in words
// that say why, and works where there is none.
func (r *rollout) tooEarly(ctx context.Context, m *member) error {
	text, err := r.clis[r.mode].Sync(ctx, m.name)
	switch {
	case r.mode != on && err != nil:
		return fmt.Errorf("argocd app sync %s: %w: %s", m.name, err, text)
	case r.mode == on && err == nil:
		return fmt.Errorf("argocd app sync %s was not refused: %s", m.name, text)
	case r.mode == on && !strings.Contains(text, "PermissionDenied") || r.mode == on && !strings.Contains(text, "may not sync yet"):
		return fmt.Errorf("argocd app sync %s was refused in other words than the gate's: %s", m.name, text)
	}
	return nil
}

// sync syncs with the CLI. What has just been done may not have been compared yet, so it is tried until it works.
func (r *rollout) sync(ctx context.Context, m *member) error {
	text := ""
	err := until(ctx, r.scenario.within(), func() (bool, error) {
		var err error
		text, err = r.clis[r.mode].Sync(ctx, m.name)
		return err == nil, nil
	})
	if err != nil {
		return fmt.Errorf("argocd app sync %s: %w: %s", m.name, err, text)
	}
	return nil
}

// settled waits until a member has the newest state.
func (r *rollout) settled(ctx context.Context, m *member) error {
	err := until(ctx, r.scenario.within(), func() (bool, error) {
		app := r.recorder.app(string(r.mode), m.name)
		return app != nil && m.settled(app), nil
	})
	if err != nil {
		return fmt.Errorf("%s at the newest state: %w", m.name, err)
	}
	return nil
}
