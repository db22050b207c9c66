// SPDX-License-Identifier: Apache-2.0

// Package e2e rolls changes out through the real Argo CD, without stepgate, with it, and in its audit mode, and has an
// observer of its own judge the order. `make e2e` runs it. Without -short, its tests take hours: name one with -run.
package e2e

import (
	"context"
	"flag"
	"strings"
	"testing"
	"time"

	"github.com/stepgate/stepgate/test/argocd"
	"github.com/stepgate/stepgate/test/report"
)

// options are the flags.
type options struct {
	scenarios string
	modes     string
	argocd    string
	quick     bool
	atOnce    int
	busy      time.Duration
	liveness  bool
	automated bool
	keep      string
	// commandLine plays a rollout that the commands watch; recording is the folder for what get --watch draws.
	commandLine bool
	recording   string
	conditions  bool
	gitops      bool
	// grace is a flag of the ApplicationSet controller, in seconds; a negative one leaves its own default.
	grace int
	sizeOptions
	clusters bool
	results  *report.Results
	// out is the page of the results.
	out *report.Printer
}

// chosen are the flags of this run.
var chosen = register(flag.CommandLine)

func register(f *flag.FlagSet) *options {
	o := &options{results: report.Flag(f)}
	f.StringVar(&o.scenarios, "scenarios", "", "keys, or beginnings of keys, of the scenarios to play; all when empty")
	f.StringVar(&o.modes, "modes", "off,on,audit", "how to play each: off, on, audit")
	f.StringVar(&o.argocd, "argocd", argocd.Versions()[0],
		"version of Argo CD, or several, with commas: "+strings.Join(argocd.Versions(), ", "))
	f.BoolVar(&o.quick, "quick", false, "play only the subset that CI runs, and do not fail when it is slow")
	f.DurationVar(&o.busy, "busy", 0,
		"measure for so long how busy the ApplicationSet controller is while a sync has to wait")
	f.BoolVar(&o.liveness, "liveness", false, "play also the scenarios in which replicas of stepgate are killed")
	f.BoolVar(&o.automated, "automated", false,
		"play also the scenarios with automated sync, without progressive syncs in Argo CD")
	f.BoolVar(&o.commandLine, "command-line", false,
		"play also a rollout that stepgate get --watch, wait and explain look at")
	f.StringVar(&o.recording, "recording", "",
		"folder to write a recording of stepgate get --watch to; it needs -command-line")
	f.BoolVar(&o.conditions, "conditions", false, "play also the scenarios in which a step waits for a condition")
	f.BoolVar(&o.gitops, "gitops", false,
		"try also what docs/gitops.md says of an Application that deploys ApplicationSets")
	f.IntVar(&o.grace, "refresh-grace-period-seconds", -1,
		"this flag of the ApplicationSet controller, which Argo CD has from 3.6 on; its own default when negative")
	f.BoolVar(&o.clusters, "clusters", false,
		"play also the scenarios with two clusters, and with shards whose clocks differ")
	f.IntVar(&o.atOnce, "at-once", 3, "how many ApplicationSets to install at a time")
	f.StringVar(&o.keep, "keep", "",
		"folder to copy the logs to; a relative path begins at the root of the checkout, as for -recording")
	o.register(f)
	return o
}

// TestRollouts plays the scenarios and the parts that the flags choose.
func TestRollouts(t *testing.T) {
	p, err := chosen.plan()
	if err != nil {
		t.Fatal(err)
	}
	about := report.Suite{
		Name: "e2e", Title: "rollouts through the real Argo CD, without stepgate and with it: does something start out of order?",
	}
	if len(p.ordinary) == 0 && len(p.clusters)+len(p.outages) > 0 {
		about = report.Suite{Name: "e2e-clusters", Title: "rollouts over two clusters, through the real Argo CD"}
	}
	chosen.run(t, about, p.started(*chosen), func(ctx context.Context, t *testing.T, o options, s *suite) (string, error) {
		return s.measure(ctx, t, o, p)
	})
}

// TestControl plays scenarios with parts of stepgate switched off, and wants to notice it.
func TestControl(t *testing.T) {
	p, err := options{scenarios: chosen.scenarios, modes: chosen.modes, quick: chosen.quick, automated: true}.plan()
	if err != nil {
		t.Fatal(err)
	}
	about := report.Suite{
		Name: "e2e-control", Title: "rollouts through the real Argo CD with parts of stepgate switched off: does the suite notice?",
	}
	chosen.run(t, about, []mode{unreleased, refusing},
		func(ctx context.Context, _ *testing.T, _ options, s *suite) (string, error) {
			return "", s.control(ctx, p.ordinary, p.automated)
		})
}

// TestSize plays rollouts with many Applications, and reports their cost.
func TestSize(t *testing.T) {
	about := report.Suite{
		Name: "e2e-size", Title: "rollouts of many Applications through the real Argo CD, without stepgate and with it, and what they cost",
	}
	chosen.run(t, about, []mode{off, on}, func(ctx context.Context, _ *testing.T, _ options, s *suite) (string, error) {
		return "", s.measureSize(ctx, chosen.sizeOptions)
	})
}

// TestTimelines plays one rollout without stepgate and with it, and shows both as timelines: `make demo-argocd`.
func TestTimelines(t *testing.T) {
	chosen.run(t, report.Suite{}, []mode{off, on},
		func(ctx context.Context, _ *testing.T, _ options, s *suite) (string, error) {
			return "", demo(ctx, s)
		})
}
