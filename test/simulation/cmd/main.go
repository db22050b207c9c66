// Command cmd plays many random histories against the gate, or one from a file:
//
//	go run ./test/simulation/cmd -n 1000000
//	go run ./test/simulation/cmd -scenario test/simulation/testdata/a1.txt
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/stepgate/stepgate/test/simulation"
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
	first := flag.Bool("first", false, "stop at the first history that shows a violation")
	show := flag.Int("show", 1, "how many counterexamples of each kind to shrink and print")
	flag.Parse()
	// A history leaves little behind: collecting late is cheap.
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(512 << 20)
	if *file != "" {
		os.Exit(replay(*file))
	}
	if *kind != "" {
		fmt.Print(random.Plan{Version: *version, Conditions: *conditions}.Shrink(*seed, *kind))
		return
	}
	found := random.Search(random.Plan{Histories: *n, Seed: *seed, Workers: *workers, Version: *version, Conditions: *conditions, First: *first, Progress: os.Stderr})
	found.Report(os.Stdout, *show)
	fmt.Println(found)
	if found.Early+found.Stuck+found.Late > 0 {
		os.Exit(1)
	}
}

// replay plays one scenario and prints its timeline.
func replay(file string) int {
	s, err := simulation.Read(file)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	result := simulation.NewPlayer().Play(s, func(at time.Duration, text string) { fmt.Printf("%10.3f  %s\n", at.Seconds(), text) })
	fmt.Print(result)
	if result.Wrong() {
		return 1
	}
	return 0
}
