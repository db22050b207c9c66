package simulation

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"
)

func TestShrinkSome(t *testing.T) {
	from, _ := strconv.Atoi(os.Getenv("FROM"))
	want, _ := strconv.Atoi(os.Getenv("WANT"))
	what := os.Getenv("WHAT")
	p := NewPlayer()
	g := Histories("3.5")
	fails := func(s *Scenario) bool {
		r := p.Play(s, nil)
		switch what {
		case "stuck":
			return len(r.Stuck) > 0
		case "held":
			return len(r.Held) > 0
		case "stranded":
			return len(r.Stranded) > 0
		}
		return slices.ContainsFunc(r.Early, func(e Early) bool { return what == "" || e.Kind == what }) ||
			slices.ContainsFunc(r.Stuck, func(e Stuck) bool { return e.Kind == what })
	}
	for seed := max(from, 1); want > 0; seed++ {
		if !fails(g.Example(seed)) {
			continue
		}
		want--
		s := Shrink(g, seed, fails)
		fmt.Printf("=== seed %d\n%s\n", seed, s)
		if os.Getenv("TRACE") != "" {
			r := p.Play(s, func(at time.Duration, text string) { fmt.Printf("%10s  %.260s\n", seconds(at), text) })
			fmt.Printf("%+v\n", r)
		}
	}
}
