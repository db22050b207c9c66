// Command e2e rolls changes out through the real Argo CD, without stepgate, with it, and in its audit mode, and has an
// observer of its own judge the order. `make e2e` runs it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
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
	parallel  int
	busy      time.Duration
	liveness  bool
	automated bool
	control   bool
	demo      bool
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

func main() {
	var o options
	flag.StringVar(&o.scenarios, "scenarios", "", "keys, or beginnings of keys, of the scenarios to play; all when empty")
	flag.StringVar(&o.modes, "modes", "off,on,audit", "how to play each: off, on, audit")
	flag.StringVar(&o.argocd, "argocd", argocd.Versions()[0], "version of Argo CD, or several, with commas: "+strings.Join(argocd.Versions(), ", "))
	flag.BoolVar(&o.quick, "quick", false, "play only the subset that CI runs, and do not fail when it is slow")
	flag.DurationVar(&o.busy, "busy", 0, "measure for so long how busy the ApplicationSet controller is while a sync has to wait")
	flag.BoolVar(&o.liveness, "liveness", false, "play also the scenarios in which replicas of stepgate are killed")
	flag.BoolVar(&o.automated, "automated", false, "play also the scenarios with automated sync, without progressive syncs in Argo CD")
	flag.BoolVar(&o.control, "control", false, "play the scenarios with parts of stepgate switched off instead, and report which of them stand still")
	flag.BoolVar(&o.demo, "demo", false, "play one rollout without the gate and with it, and show both as timelines")
	flag.BoolVar(&o.commandLine, "command-line", false, "play also a rollout that stepgate get --watch, wait and explain look at")
	flag.StringVar(&o.recording, "recording", "", "folder to write a recording of stepgate get --watch to; it needs --command-line")
	flag.BoolVar(&o.conditions, "conditions", false, "play also the scenarios in which a step waits for a condition")
	flag.BoolVar(&o.gitops, "gitops", false, "try also what docs/gitops.md says of an Application that deploys ApplicationSets")
	flag.IntVar(&o.grace, "refresh-grace-period-seconds", -1, "this flag of the ApplicationSet controller, which Argo CD has from 3.6 on; its own default when negative")
	o.register()
	flag.BoolVar(&o.clusters, "clusters", false, "play also the scenarios with two clusters, and with shards whose clocks differ")
	flag.IntVar(&o.parallel, "parallel", 3, "how many ApplicationSets to install at a time")
	flag.StringVar(&o.keep, "keep", "", "folder to copy the logs to")
	o.results = report.Flag(flag.CommandLine)
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := o.run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		os.Exit(1)
	}
}
