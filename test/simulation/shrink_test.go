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
	what := os.Getenv("WHAT")
	if what == "" {
		t.Skip()
	}
	seed, _ := strconv.Atoi(os.Getenv("SEED"))
	p := NewPlayer()
	g := Histories("3.5")
	fails := func(s *Scenario) bool { return slices.Contains(p.Play(s, nil).kinds(), what) }
	s := Shrink(g, seed, fails)
	fmt.Printf("=== seed %d\n%s\n", seed, s)
	r := p.Play(s, func(at time.Duration, text string) { fmt.Printf("%10s  %.330s\n", seconds(at), text) })
	fmt.Printf("%+v\n", r)
}
