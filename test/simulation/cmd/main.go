// SPDX-License-Identifier: Apache-2.0

// Command cmd plays many random histories against the gate, or one from a file:
//
//	go run ./test/simulation/cmd -n 1000000
//	go run ./test/simulation/cmd -scenario cmd/simulation/testdata/a1.txt
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/stepgate/stepgate/cmd/simulation"
	"github.com/stepgate/stepgate/test/report"
	"github.com/stepgate/stepgate/test/simulation/random"
)

func main() {
	testing.Init() // rapid asks the testing package how much to do
	n := flag.Int("n", 100000, "how many histories")
	seed := flag.Int("seed", 1, "the seed of the first; the others follow")
	workers := flag.Int("workers", runtime.NumCPU(), "how many to play at a time")
	version := flag.String("argocd", "3.5", "the version of Argo CD that is modelled")
	file := flag.String("scenario", "", "play the scenario of this file, and say what happens")
	kind := flag.String("shrink", "", "shrink the history of -seed, which fails in this way (\"early A1\"), and print it")
	conditions := flag.Bool("conditions", false, "play histories in which the steps wait for more than the order")
	trains := flag.Bool("trains", false, "play histories in which commits land faster than rollouts complete, and "+
		"stepgate starts what is due")
	evidence := flag.Bool("evidence", false, "play histories of both kinds in which steps wait for evidence")
	chains := flag.Bool("chains", false, "play histories of all kinds in which ApplicationSets come after others")
	ledger := flag.Bool("ledger", false, "play histories of the other kinds with the ledger, and with replicas that end")
	first := flag.Bool("first", false, "stop at the first history that shows a violation")
	results := report.Flag(flag.CommandLine)
	show := flag.Int("show", 1, "how many counterexamples of each kind to shrink and print")
	flag.Parse()
	// A history leaves little behind: collecting late is cheap.
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(512 << 20)
	if *file != "" {
		os.Exit(replay(*file))
	}
	plan := random.Plan{
		Histories: *n, Seed: *seed, Workers: *workers, Version: *version, Conditions: *conditions, Trains: *trains,
		Evidence: *evidence, Chains: *chains, Ledger: *ledger, First: *first,
		Progress: os.Stderr,
	}
	if *kind != "" {
		fmt.Print(plan.Shrink(*seed, *kind))
		return
	}
	if err := search(plan, *show, results); err != nil {
		fmt.Fprintln(os.Stderr, "simulate:", err)
		os.Exit(1)
	}
}

// search plays a plan. Each kind of plan has a section of the page.
func search(plan random.Plan, show int, results *report.Results) error {
	section := "Histories of Argo CD " + plan.Version
	if plan.Ledger {
		section += ", with the ledger"
	}
	switch {
	case plan.Chains:
		section += ", chains of ApplicationSets"
	case plan.Evidence:
		section += ", with evidence"
	case plan.Trains:
		section += ", trains with start"
	case plan.Conditions:
		section += ", with conditions"
	}
	page, err := results.Page(report.Suite{
		Name: "simulation", Title: "random rollouts in virtual time, with Argo CD's own code and the real gate: does " +
			"something start early or hang?", Section: section,
	})
	if err != nil {
		return err
	}
	found := random.Search(plan)
	found.Report(page, show)
	page.Line("%s", found)
	if found.Early+found.Stuck+found.Late > 0 {
		err = fmt.Errorf("%d early, %d stuck and %d late of %d histories", found.Early, found.Stuck, found.Late, found.Played)
	}
	return errors.Join(err, page.Close(err))
}

// replay plays one scenario and prints its timeline.
func replay(file string) int {
	s, err := simulation.Read(file)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	result := simulation.NewPlayer().Play(s, func(at time.Duration, text string) {
		fmt.Printf("%10.3f  %s\n", at.Seconds(), text)
	})
	fmt.Print(result)
	if result.Wrong() {
		return 1
	}
	return 0
}
