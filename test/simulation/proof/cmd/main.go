// SPDX-License-Identifier: Apache-2.0

// Command cmd goes through all histories of a small world, for both ways to pin, and with more kinds of events:
//
//	go run ./test/simulation/proof/cmd -events 8 -wide 6
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/stepgate/stepgate/test/report"
	"github.com/stepgate/stepgate/test/simulation/proof"
	"github.com/stepgate/stepgate/webhook/settings"
)

func main() {
	events := flag.Int("events", 8, "how many events a history has at most")
	wide := flag.Int("wide", 6, "the same, with dry runs, broken Applications and a watch that stalls")
	commits := flag.Int("commits", 2, "how many commits land after the one that all Applications run")
	within := flag.Duration("within", 0, "how long to go on with each kind of histories; 0 is no bound")
	results := report.Flag(flag.CommandLine)
	flag.Parse()
	page, err := results.Page(report.Suite{
		Name: "proof", Title: "all histories of a small world, on the real rule: does something start early?",
	})
	if err == nil {
		err = explore(page, proof.Plan{Events: *events, Commits: *commits, Within: *within, Progress: os.Stderr}, *wide)
		err = errors.Join(err, page.Close(err))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "proof:", err)
		os.Exit(1)
	}
}

// explore explores each kind of histories, up to one with an early start.
func explore(page *report.Page, plan proof.Plan, wide int) error {
	page.Line("%-10s %-5s %7s %5s %10s %12s %12s %10s %10s %6s", "pin", "wide", "events", "of", "states", "for stepgate",
		"judged", "confirmed", "took", "early")
	for _, p := range []proof.Plan{
		plan.With(settings.PinCompared, false, plan.Events), plan.With(settings.PinCandidate, false, plan.Events),
		plan.With(settings.PinCompared, true, wide), plan.With(settings.PinCandidate, true, wide),
	} {
		f := proof.Explore(p)
		early := 0
		if f.Early != nil {
			early = 1
		}
		page.Line("%-10s %-5t %7d %5d %10d %12d %12d %10d %10s %6d", p.Pin, p.Wide, f.Events, p.Events, f.States, f.Visible,
			f.Judged, f.Confirmed, f.Took.Round(time.Second), early)
		if f.Early != nil {
			page.Line("%s", f.Early)
			return errors.New("something starts early")
		}
	}
	return nil
}
