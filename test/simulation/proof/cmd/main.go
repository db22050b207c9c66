// Command cmd goes through all histories of a small world:
//
//	go run ./test/simulation/proof/cmd -events 8
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime/pprof"

	"github.com/stepgate/stepgate/test/simulation/proof"
	"github.com/stepgate/stepgate/webhook/settings"
)

func main() {
	events := flag.Int("events", 4, "")
	commits := flag.Int("commits", 2, "")
	pin := flag.String("pin", "compared", "")
	start := flag.Bool("start", false, "")
	prof := flag.String("prof", "", "")
	within := flag.Duration("within", 0, "")
	wide := flag.Bool("wide", false, "")
	from := flag.Int("from", 0, "")
	to := flag.Int("to", 3, "")
	flag.Parse()
	if *prof != "" {
		f, _ := os.Create(*prof)
		pprof.StartCPUProfile(f)
		defer pprof.StopCPUProfile()
	}
	p, err := settings.ParsePin(*pin)
	if err != nil {
		panic(err)
	}
	f := proof.Explore(proof.Plan{Rule: proof.Rule{Pin: p, Start: *start}, Events: *events, Commits: *commits, Progress: os.Stderr, Within: *within, Wide: *wide, From: *from, To: *to})
	fmt.Println(f.States, f.Complete, f.Took)
	if f.Early != nil {
		fmt.Println(f.Early)
	}
}
