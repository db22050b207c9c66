// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// controlLimit is how long a rollout, and the installation before it, may take in the control before it counts as
// standing still.
const controlLimit = 20 * time.Second

// control plays scenarios with parts of the gate switched off, and reports what becomes of them. It fails unless that
// makes a difference: a suite that notices nothing here would notice nothing elsewhere. The order has to hold all the
// same.
func (s *suite) control(ctx context.Context, chosen, automated []scenario) error {
	c := &controlled{suite: s}
	err := c.play(ctx, chosen)
	if err == nil {
		err = s.unordered(ctx)
	}
	if err == nil {
		err = c.play(ctx, automated)
	}
	if err != nil {
		return err
	}
	var sums totals
	writes, err := s.audit.writes()
	if err != nil {
		return err
	}
	sums.refused(writes, refusing)
	s.out.Line("control: without release, %d of %d rollouts stand still: %s", len(c.still), c.played,
		strings.Join(c.still, ", "))
	s.out.Line("control: without hold, the ApplicationSet controller was refused %d times", sums.onRefused)
	s.out.Line("control: out_of_order=%d", c.outOfOrder)
	switch {
	case c.outOfOrder > 0:
		return fmt.Errorf("%d starts out of order without release or without hold", c.outOfOrder)
	case len(c.still) == 0 || sums.onRefused == 0:
		return errors.New("nothing was different with the parts switched off, so the suite would not notice that they fail")
	}
	return nil
}

// controlled is the result of the scenarios that the control has played.
type controlled struct {
	*suite
	played, outOfOrder int
	// still are the keys of those that stood still without release.
	still []string
}

func (c *controlled) play(ctx context.Context, chosen []scenario) error {
	for _, sc := range chosen {
		if sc.resync {
			// A periodic comparison goes on without release.
			continue
		}
		sc.limit, sc.setup, sc.beside = controlLimit, controlLimit, nil
		outcomes, err := player{c.suite, []mode{unreleased, refusing}, 2}.playOnce(ctx, sc)
		if err != nil {
			return err
		}
		c.played++
		c.outOfOrder += outcomes[unreleased].outOfOrder() + outcomes[refusing].outOfOrder()
		if !outcomes[unreleased].completed() {
			c.still = append(c.still, sc.key)
		}
	}
	return nil
}
