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

// longer are suites that take longer. A shorter form of them would say less than the record that there is.
var longer = map[string]bool{"e2e": true, "e2e-versions": true}

// shorter are what make is told so that a suite takes no longer. Without it, these take hours.
var shorter = map[string][]string{
	"simulate": {
		"HISTORIES=20000", "HISTORIES_36=5000", "CONDITIONS=5000", "TRAINS=1000", "EVIDENCE=1000", "CHAINS=1000",
	},
	"prove":            {"WITHIN=5m"}, // for each of four kinds of histories
	"simulate-control": {"CONTROL_FLAGS=-parts A5,NamedPin,AutomatedSources,Unrecorded,Evidence,After"},
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
	done := map[string]error{}
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
		if run && r.Older() && !r.ByHand {
			problems = append(problems, again(ctx, root, r, done))
		}
	}
	return errors.Join(append(problems, ctx.Err())...)
}

// again runs the suites that write a record, unless they are done: one suite writes several records.
func again(ctx context.Context, root string, r report.Record, done map[string]error) error {
	for _, target := range r.Targets {
		if longer[target] {
			fmt.Printf("make %s takes longer than %s: run it alone, with RESULTS=test/results\n", target, longest)
			continue
		}
		if ctx.Err() != nil {
			return nil
		}
		if _, ran := done[target]; !ran {
			done[target] = suite(ctx, root, target)
		}
		if done[target] != nil {
			return done[target]
		}
	}
	return nil
}

// suite runs one suite.
func suite(ctx context.Context, root, target string) error {
	log, err := os.Create(filepath.Join(root, "bin", "records-"+target+".log"))
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	began := time.Now()
	limited, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	args := append([]string{"-C", root, target, "RESULTS=test/results"}, shorter[target]...)
	command := exec.CommandContext(limited, "make", args...)
	command.Stdout, command.Stderr = log, log
	// The whole group gets the signal, as from a terminal: the suite ends what it has started, and writes its page.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGINT) }
	command.WaitDelay = time.Minute
	err = command.Run()
	took := time.Since(began).Round(time.Second)
	switch {
	case errors.Is(limited.Err(), context.DeadlineExceeded):
		err = fmt.Errorf("make %s was ended after %s: run it alone, or less of it; its output is in %s",
			target, longest, log.Name())
	case err != nil:
		err = fmt.Errorf("make %s failed after %s: %w; its output is in %s", target, took, err, log.Name())
	default:
		fmt.Printf("make %s: passed after %s\n", target, took)
	}
	return err
}
