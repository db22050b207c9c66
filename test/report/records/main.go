// SPDX-License-Identifier: Apache-2.0

// Command records says which records in test/results are older than the code that they are about, and runs the suites
// that write those anew:
//
//	go run ./test/report/records [--mark] [--run] [--only NAME,...]
//
// A record is older if a commit after its own changes policy or webhook. Without a flag, it prints a table. --mark also
// says so in the first line of each such file. --run runs one suite after the other, each for at most half an hour. A
// record that a suite has written is not older any more, so the next call goes on where this one has stopped.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/stepgate/stepgate/test/checkout"
	"github.com/stepgate/stepgate/test/report"
)

// longest is how long one suite may take.
const longest = 30 * time.Minute

// shorter are what make is told so that a suite takes no longer. Without it, e2e takes more than an hour and a half, and simulate hours.
var shorter = map[string][]string{
	"e2e":          {"E2E_FLAGS=-modes off,on -quick"},
	"e2e-versions": {"E2E_FLAGS=-quick"},
	"simulate": {
		"HISTORIES=20000", "HISTORIES_36=5000", "CONDITIONS=5000", "TRAINS=1000", "EVIDENCE=1000", "CHAINS=1000",
	},
	"prove":            {"WITHIN=10m"},
	"simulate-control": {"CONTROL_FLAGS=-parts A5,NamedPin,AutomatedSources,Unrecorded,Evidence,After"},
	"bench":            {"BENCH_FLAGS=--samples 50"},
	"bench-size":       {"BENCH_FLAGS=--sizes 10000 --window 15s"},
}

func main() {
	mark := flag.Bool("mark", false, "say in the first line of each older record that it is older")
	run := flag.Bool("run", false, "run the suites that write the older records")
	only := flag.String("only", "", "names of records, such as faults,bench; all when empty")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := records(ctx, *mark, *run, strings.FieldsFunc(*only, func(r rune) bool { return r == ',' }))
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "records:", err)
		os.Exit(1)
	}
}

func records(ctx context.Context, mark, run bool, only []string) error {
	root, err := checkout.Root()
	if err != nil {
		return err
	}
	all, err := report.Records(root)
	if err != nil {
		return err
	}
	for _, name := range only {
		if !slices.ContainsFunc(all, func(r report.Record) bool { return r.Name == name }) {
			return fmt.Errorf("there is no record %s in test/results", name)
		}
	}
	fmt.Println("| record | commit | changes of policy and webhook since | written by |\n|---|---|---|---|")
	var problems []error
	for _, r := range all {
		if len(only) > 0 && !slices.Contains(only, r.Name) {
			continue
		}
		fmt.Printf("| %s | %s | %s | %s |\n", r.Name, r.Commit, r.Since(), strings.Join(r.Targets, ", "))
		if mark {
			problems = append(problems, r.Mark(time.Now()))
		}
		if run && r.Older() && ctx.Err() == nil {
			problems = append(problems, again(ctx, root, r))
		}
	}
	return errors.Join(append(problems, ctx.Err())...)
}

// again runs the suites that write a record.
func again(ctx context.Context, root string, r report.Record) error {
	log, err := os.Create(filepath.Join(root, "bin", "records-"+r.Name+".log"))
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	for _, target := range r.Targets {
		began := time.Now()
		limited, cancel := context.WithTimeout(ctx, longest)
		args := append([]string{"-C", root, target, "RESULTS=test/results"}, shorter[target]...)
		command := exec.CommandContext(limited, "make", args...)
		command.Stdout, command.Stderr = log, log
		// The whole group gets the signal, as from a terminal: the suite ends what it has started, and writes its page.
		command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGINT) }
		command.WaitDelay = time.Minute
		err := command.Run()
		cancel()
		fmt.Printf("make %s: %s after %s\n", target, outcome(err), time.Since(began).Round(time.Second))
		if err != nil {
			return fmt.Errorf("make %s: %w: see %s", target, err, log.Name())
		}
	}
	return nil
}

func outcome(err error) string {
	if err != nil {
		return "failed"
	}
	return "passed"
}
