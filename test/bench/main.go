// SPDX-License-Identifier: Apache-2.0

// Command bench measures the cost of a decision on a real etcd and kube-apiserver: against no webhook, a webhook that
// always allows, and the reader that reads every sibling whole; under concurrency; and in memory. It prints the goals
// and whether they are reached. Only a wrong answer of the gate, or no answer, makes it fail.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/stepgate/stepgate/test/cluster"
	"github.com/stepgate/stepgate/test/environment"
	"github.com/stepgate/stepgate/test/report"
	"github.com/stepgate/stepgate/test/script"
)

// options are the flags.
type options struct {
	siblings     []int
	samples      int
	applications int
	parts        []int
	// burst is how many siblings the concurrent decisions have, and rest how long an instance rests before its memory
	// is measured a second time.
	burst int
	rest  time.Duration
	// asked is how many Applications the ApplicationSet has that the command line is asked about.
	asked int
	// cases names the cases of part 1 to measure; empty means all.
	cases []string
	// profiles is the folder for CPU profiles of the kube-apiserver (part 1) and of stepgate (parts 1 and 5); empty for
	// none.
	profiles string
	// features are the feature gates of the kube-apiserver.
	features string
	// crowd are how many Applications ApplicationSets have that share a namespace in part 6, beside small ones.
	crowd []int
	small int
	// tracked is how many Applications each namespace has in part 7.
	tracked int
	// sizes are how many Applications there are in part 5, in so many namespaces. Argo CD compares each once in
	// compared, and each measurement under load takes a window.
	sizes            []int
	namespaces       int
	compared, window time.Duration
	// rolling is how many Applications of the smallest fleet roll out.
	rolling int
	// memoryLimit is GOMEMLIMIT of the instances of part 5.
	memoryLimit string
	// barrier says that the instance of part 5 that watches all namespaces has the write barrier.
	barrier bool
	// ledger says that an instance of part 5 that watches all namespaces is measured with the ledger, too.
	ledger  bool
	results *report.Results
}

func main() {
	o, err := parse()
	var page *report.Page
	if err == nil {
		page, err = o.results.Page(o.suite())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	}
	// the processes that it has started end with it
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err = run(ctx, o, page.Printer)
	err = errors.Join(err, ctx.Err())
	err = errors.Join(err, page.Close(err))
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func parse() (options, error) {
	o := options{
		siblings: []int{10, 100, 1000, 5000}, burst: 1000, rest: 10 * time.Second, asked: 2000,
		crowd: []int{10, 1000, 5000}, small: 100, tracked: 1000, sizes: []int{20000, 50000},
	}
	flag.Func("siblings", "numbers of Applications of one ApplicationSet (default 10,100,1000,5000)", numbers(&o.siblings))
	flag.Func("parts", "1: cost of a decision; 2: 100 concurrent decisions; 3: memory; 4: the command line; 5: many "+
		"Applications that Argo CD writes; 6: all Applications in one namespace; 7: Applications that "+
		"Argo CD tracks, with waves and without (default 1,2,3,4,6; with --quick all)",
		numbers(&o.parts))
	flag.IntVar(&o.samples, "samples", 200, "samples of every case; of the plain reader fewer, where it is slow")
	flag.IntVar(&o.applications, "applications", 10000, "Applications in the cluster in part 3")
	flag.StringVar(&o.features, "feature-gates", "", "feature gates of the kube-apiserver, such as WatchList=false")
	flag.Func("cases", "cases of part 1, such as floor,write-allow (default: all)", func(text string) error {
		o.cases = strings.Split(text, ",")
		return nil
	})
	flag.StringVar(&o.profiles, "profiles", "",
		"folder for CPU profiles of the kube-apiserver and of stepgate in part 1, and for profiles of stepgate in part 5 "+
			"(default: none)")
	flag.Func("sizes", "numbers of Applications in part 5, of 20 each in an ApplicationSet (default 20000,50000)",
		numbers(&o.sizes))
	flag.IntVar(&o.namespaces, "namespaces", 10, "namespaces of the Applications in part 5; two instances share them")
	flag.DurationVar(&o.compared, "compared", 150*time.Second,
		"how often Argo CD compares an Application in part 5: timeout.reconciliation, and half of its jitter")
	flag.DurationVar(&o.window, "window", time.Minute, "how long the load of part 5 is measured")
	flag.StringVar(&o.memoryLimit, "memory-limit", "off", "GOMEMLIMIT of the instances of part 5")
	flag.BoolVar(&o.ledger, "ledger", true,
		"measure the instance of part 5 that watches all namespaces with the ledger as well")
	flag.IntVar(&o.rolling, "rolling", 1000,
		"how many Applications of the smallest fleet of part 5 roll out, without stepgate and with it")
	flag.BoolVar(&o.barrier, "barrier", true, "give the instance of part 5 that watches all namespaces the write barrier")
	o.results = report.Flag(flag.CommandLine)
	quick := flag.Bool("quick", false, "every part, with one sample and few Applications: does it run?")
	flag.Parse()
	if *quick {
		o.siblings, o.samples, o.burst, o.applications, o.rest, o.asked = []int{10}, 1, 10, 50, time.Second, 10
		o.crowd, o.small, o.tracked = []int{10, 101}, 2, 20
		o.sizes, o.namespaces, o.compared, o.window, o.rolling = []int{400}, 2, 10*time.Second, 2*time.Second, 40
	}
	if o.parts == nil {
		o.parts = []int{1, 2, 3, 4, 6}
		if *quick {
			o.parts = append(o.parts, 5, 7)
		}
	}
	if o.samples < 1 || slices.Min(o.siblings) < 3 {
		return o, errors.New("--samples must be at least 1, and --siblings at least 3: one for each step")
	}
	return o, nil
}

// suite says which page the results are for.
func (o options) suite() report.Suite {
	if slices.Equal(o.parts, []int{5}) {
		return report.Suite{
			Name: "bench-size", Title: "what stepgate needs with tens of thousands of Applications whose statuses Argo CD " +
				"writes",
		}
	}
	return report.Suite{Name: "bench", Title: "what a decision costs, in time and in reads, and the memory of an instance"}
}

// numbers parses numbers with commas between them.
func numbers(into *[]int) func(string) error {
	return func(text string) error {
		*into = nil
		for word := range strings.SplitSeq(text, ",") {
			n, err := strconv.Atoi(word)
			if err != nil {
				return err
			}
			*into = append(*into, n)
		}
		return nil
	}
}

func run(ctx context.Context, o options, out *report.Printer) (err error) {
	if o.profiles != "" {
		if err := os.MkdirAll(o.profiles, 0o755); err != nil {
			return fmt.Errorf("--profiles: %w", err)
		}
	}
	progress("starting etcd and kube-apiserver, building stepgate")
	e, err := environment.Start(ctx, environment.Options{
		Options: cluster.Options{FeatureGates: o.features, Large: slices.Contains(o.parts, 5)}, OnlyArgoCD: true,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Stop()) }()
	return script.Run(func() {
		s := newSuite(e, o, out)
		defer s.stop()
		s.users(ctx)
		if !slices.Equal(o.parts, []int{5}) {
			s.start(ctx)
		}
		began := time.Now()
		var goals []goal
		parts := []func(context.Context, *suite) []goal{decisions, burst, memory, commandLine, fleets, shared, tracked}
		// The command line goes first: it lists all Applications of the cluster, and each part creates more of them.
		for _, part := range []int{4, 6, 7, 1, 2, 3, 5} {
			if slices.Contains(o.parts, part) {
				goals = append(goals, parts[part-1](ctx, s)...)
			}
		}
		s.out.Line("\n%s", machine(began))
		for _, g := range goals {
			s.out.Line("%s", g)
		}
	})
}

// progress prints a line about the progress to stderr.
func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "bench: %s %s\n", time.Now().Format(time.TimeOnly), fmt.Sprintf(format, args...))
}
