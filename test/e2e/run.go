package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
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
	if o.automated || o.control {
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
	if len(p.ordinary)+len(p.survivals)+len(p.automated)+len(p.conditions)+len(p.parents)+len(p.clusters)+len(p.outages) == 0 && o.busy == 0 && !o.commandLine {
		return p, fmt.Errorf("no scenario is named %q", o.scenarios)
	}
	return p, nil
}

// started are all modes that a run needs.
func (p plan) started(o options) []mode {
	switch {
	case o.demo, o.size:
		return []mode{off, on}
	case o.control:
		return []mode{unreleased, refusing}
	}
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

// runOne runs everything with one version of Argo CD, and returns the line with the totals.
func (o options) runOne(ctx context.Context) (line string, err error) {
	began := time.Now()
	p, err := o.plan()
	if err != nil {
		return "", err
	}
	if !o.demo {
		o.out.Line("\n## Argo CD %s\n", o.argocd)
	}
	fmt.Printf("starting etcd, kube-apiserver, Argo CD %s and stepgate (about half a minute)\n", o.argocd)
	s, err := start(ctx, o, p.started(o), len(p.parents) > 0)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	fmt.Printf("all up after %.0fs\n", time.Since(began).Seconds())
	if o.keep != "" {
		defer func() { err = errors.Join(err, s.keep(o.keep)) }()
	}
	switch {
	case o.demo:
		return "", demo(ctx, s)
	case o.size:
		return "", s.measureSize(ctx, o.sizeOptions)
	case o.control:
		return "", s.control(ctx, p.ordinary, p.automated)
	}
	return s.measure(ctx, o, p)
}

// measure plays all parts of a plan, and reports them. A part that fails does not end the others. It returns the line
// with the totals.
func (s *suite) measure(ctx context.Context, o options, p plan) (line string, err error) {
	outcomes, err := player{s, p.modes, o.parallel}.playAll(ctx, p.ordinary)
	if err != nil {
		return "", err
	}
	var problems []error
	if o.busy > 0 {
		problems = append(problems, s.measureBusy(ctx, o.busy))
	}
	if o.commandLine {
		problems = append(problems, s.measureCommandLine(ctx, o.recording))
	}
	if len(p.parents) > 0 {
		problems = append(problems, s.measureGitOps(ctx, p.parents, conditionModes(p.modes)))
	}
	if len(p.clusters)+len(p.outages) > 0 {
		problems = append(problems, s.measureClusters(ctx, p.clusters, p.outages))
	}
	if len(p.conditions) > 0 {
		problems = append(problems, s.measureConditions(ctx, p.conditions, conditionModes(p.modes), !o.quick))
	}
	if len(p.survivals) > 0 {
		problems = append(problems, s.measureLiveness(ctx, p.survivals))
	}
	if len(p.automated) > 0 {
		problems = append(problems, s.measureAutomated(ctx, p.automated, p.modes, !o.quick))
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	line, err = results{s, p.ordinary, outcomes, !o.quick}.print()
	problems = append(problems, err, printHistory(s.out, p.ordinary, outcomes))
	return line, errors.Join(problems...)
}
