// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// plan is everything that a run plays.
type plan struct {
	modes []mode
	// ordinary are the scenarios that are played in the modes; the others have parts of the run of their own.
	ordinary, survivals, automated []scenario
	conditions                     []condition
	parents                        []parent
	clusters                       []clusterPlay
	outages                        []outage
}

// plan reads the flags.
func (o options) plan() (plan, error) {
	p := plan{ordinary: choose(scenarios(), o.scenarios, o.quick)}
	for m := range strings.SplitSeq(o.modes, ",") {
		if !slices.Contains([]mode{off, on, audit}, mode(m)) {
			return p, fmt.Errorf("--modes: %q is not one of off, on, audit", m)
		}
		p.modes = append(p.modes, mode(m))
	}
	if o.liveness {
		p.survivals = choose(survivals(), o.scenarios, o.quick)
	}
	if o.automated {
		p.automated = choose(automatedSyncs(), o.scenarios, o.quick)
	}
	if o.conditions {
		p.conditions = chooseConditions(conditionScenarios(), o.scenarios, o.quick)
	}
	if o.gitops {
		p.parents = parents(o.quick)
	}
	if o.clusters {
		p.clusters, p.outages = chooseClusters(o.scenarios, o.quick)
	}
	all := len(p.ordinary) + len(p.survivals) + len(p.automated) + len(p.conditions) + len(p.parents) +
		len(p.clusters) + len(p.outages)
	if all == 0 && o.busy == 0 && !o.commandLine {
		return p, fmt.Errorf("no scenario is named %q", o.scenarios)
	}
	return p, nil
}

// started are all modes that a run needs.
func (p plan) started(o options) []mode {
	needed := slices.Clone(p.modes)
	for _, sc := range p.ordinary {
		needed = append(needed, sc.in(p.modes)...)
	}
	if o.busy > 0 {
		needed = append(needed, busyModes()...)
	}
	if len(p.survivals) > 0 {
		needed = append(needed, pair)
	}
	if len(p.automated) > 0 {
		needed = append(needed, off, on)
	}
	if o.commandLine {
		needed = append(needed, on)
	}
	if len(p.clusters)+len(p.outages) > 0 {
		needed = append(needed, off, on)
	}
	if len(p.conditions)+len(p.parents) > 0 {
		needed = append(needed, conditionModes(p.modes)...)
	}
	slices.Sort(needed)
	return slices.Compact(needed)
}

// measure plays all parts of a plan, each as a test of its own, and reports them. A part that fails does not end the
// others. It returns the line with the totals.
func (s *suite) measure(ctx context.Context, t *testing.T, o options, p plan) (line string, err error) {
	var problems []error
	run := func(name string, chosen bool, play func() error) {
		if !chosen || ctx.Err() != nil {
			return
		}
		t.Run(name, func(t *testing.T) {
			if err := play(); err != nil {
				t.Error(err)
				problems = append(problems, err)
			}
		})
	}
	var outcomes table
	run("rollouts", true, func() (err error) {
		outcomes, err = player{s, p.modes, o.atOnce}.playAll(ctx, p.ordinary)
		return err
	})
	run("busy", o.busy > 0, func() error { return s.measureBusy(ctx, o.busy) })
	run("command-line", o.commandLine, func() error { return s.measureCommandLine(ctx, o.recording) })
	run("gitops", len(p.parents) > 0, func() error { return s.measureGitOps(ctx, p.parents, conditionModes(p.modes)) })
	run("clusters", len(p.clusters)+len(p.outages) > 0, func() error {
		return s.measureClusters(ctx, p.clusters, p.outages)
	})
	run("conditions", len(p.conditions) > 0, func() error {
		return s.measureConditions(ctx, p.conditions, conditionModes(p.modes), !o.quick)
	})
	run("liveness", len(p.survivals) > 0, func() error { return s.measureLiveness(ctx, p.survivals) })
	run("automated", len(p.automated) > 0, func() error { return s.measureAutomated(ctx, p.automated, p.modes, !o.quick) })
	run("totals", outcomes != nil, func() error {
		line, err = results{s, p.ordinary, outcomes, !o.quick}.print()
		return errors.Join(err, printHistory(s.out, p.ordinary, outcomes))
	})
	return line, errors.Join(append(problems, ctx.Err())...)
}
