// Command faults breaks what is around two replicas of stepgate, on a real etcd and kube-apiserver: their API server, their
// callers, their certificates and the processes themselves. In enforce mode nothing may be wrongly admitted or wrongly
// denied, every question is answered within 80 % of the webhook's time, and everything works again afterwards. It prints
// a table, and fails when that does not hold. F1 and so on are the numbers in docs/reliability.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

// fault is one row of the table.
type fault struct {
	number, name string
	// quick ones are part of --quick.
	quick bool
	run   func(context.Context, *trial) error
}

func main() {
	quick := flag.Bool("quick", false, "the quick ones only, and fewer injections")
	only := flag.String("only", "", "numbers of faults, such as F4,F7")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *quick, *only)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		os.Exit(1)
	}
}

// chosen are the faults to run.
func chosen(quick bool, only string) []fault {
	all := slices.Concat(apiFaults(), processFaults(), certificateFaults(), clientFaults())
	return slices.DeleteFunc(all, func(f fault) bool {
		if only != "" {
			return !slices.Contains(strings.Split(only, ","), f.number)
		}
		return quick && !f.quick
	})
}

func run(ctx context.Context, quick bool, only string) (err error) {
	began := time.Now()
	s, err := start(ctx, quick)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	var rows []*trial
	for _, f := range chosen(quick, only) {
		progress("%s %s", f.number, f.name)
		t, err := s.try(ctx, f)
		if err != nil {
			table(rows)
			return fmt.Errorf("%s %s: %w", f.number, f.name, err)
		}
		rows = append(rows, t)
	}
	table(rows)
	memory := s.memory.most()
	fmt.Printf("\nmemory of one replica: %.0f MiB at most\ntook %s\n", memory, time.Since(began).Round(time.Second))
	var missed []string
	for _, t := range rows {
		missed = append(missed, t.missed()...)
	}
	if memory > mostMemory {
		missed = append(missed, fmt.Sprintf("memory under %d MiB", mostMemory))
	}
	if len(missed) > 0 {
		return errors.New("missed: " + strings.Join(missed, "; "))
	}
	return nil
}

// progress tells on stderr what is going on.
func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "faults: %s %s\n", time.Now().Format(time.TimeOnly), fmt.Sprintf(format, args...))
}
