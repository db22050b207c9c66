// SPDX-License-Identifier: Apache-2.0

package random

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"pgregory.net/rapid"

	"github.com/stepgate/stepgate/cmd/simulation"
)

// Plan is how many histories to play, and which.
type Plan struct {
	Histories, Seed, Workers int
	Version                  string
	// Conditions has histories in which the steps wait for more than the order.
	Conditions bool
	// Trains has histories in which commits land faster than rollouts complete, and stepgate starts what is due.
	Trains bool
	// Evidence has histories of both kinds in which steps wait for evidence.
	Evidence bool
	// Chains has histories of all kinds in which ApplicationSets come after others.
	Chains bool
	// Ledger has all of them with the ledger, and with replicas that end.
	Ledger bool
	// First ends the search with the first history that shows a violation.
	First bool
	// Progress is told of every violation.
	Progress io.Writer
}

// Found is what came of a Plan.
type Found struct {
	Plan
	// Played counts the histories.
	Played int
	// Early, Stuck and Late count histories.
	Early, Stuck, Late int
	// Waits are what came of conditions.
	Waits Waits
	// Kinds counts the histories in which a kind of counterexample was found, by its name: "early A1".
	Kinds map[string]*Kind
	Took  time.Duration
}

// Kind is one kind of counterexample. First is the lowest seed that gives it.
type Kind struct{ Count, First int }

// Search plays histories, several at a time. What it finds depends on the plan alone.
func Search(plan Plan) *Found {
	found := &Found{Plan: plan, Kinds: map[string]*Kind{}, Waits: newWaits()}
	began := time.Now()
	histories := plan.generator()
	var next, end atomic.Int64
	end.Store(int64(plan.Histories))
	var mu sync.Mutex
	var running sync.WaitGroup
	for range plan.Workers {
		running.Go(func() {
			player := simulation.NewPlayer()
			for i := next.Add(1); i <= end.Load(); i = next.Add(1) {
				seed := plan.Seed + int(i) - 1
				result := player.Play(histories.Example(seed), nil)
				mu.Lock()
				found.Played++
				found.note(seed, result)
				if plan.First && result.Wrong() {
					end.Store(0) // the histories before this one are under way: the lowest seed is among them
				}
				mu.Unlock()
			}
		})
	}
	running.Wait()
	found.Took = time.Since(began)
	return found
}

func (p Plan) generator() *rapid.Generator[*simulation.Scenario] {
	if p.Ledger {
		p.Ledger = false
		return Kept(p.generator())
	}
	switch {
	case p.Chains:
		return Chains(p.Version)
	case p.Evidence:
		return Evidence(p.Version)
	case p.Trains:
		return Trains(p.Version)
	case p.Conditions:
		return Conditions(p.Version)
	}
	return Histories(p.Version)
}

// note counts a result. The lock is held.
func (f *Found) note(seed int, r simulation.Result) {
	if len(r.Early) > 0 {
		f.Early++
	}
	if len(r.Stuck) > 0 {
		f.Stuck++
	}
	if len(r.Late) > 0 {
		f.Late++
	}
	f.Waits.note(r)
	for _, name := range r.Kinds() {
		k := f.Kinds[name]
		if k == nil {
			k = &Kind{First: seed}
			f.Kinds[name] = k
		}
		if f.Progress != nil && simulation.Wrong(name) {
			_, _ = fmt.Fprintf(f.Progress, "%s: seed %d\n", name, seed)
		}
		k.Count++
		k.First = min(k.First, seed)
	}
}

// Report prints the kinds, and of each violation some counterexamples, shrunk.
func (f *Found) Report(out io.Writer, show int) {
	names := slices.SortedFunc(maps.Keys(f.Kinds), func(a, b string) int {
		return cmp.Compare(f.Kinds[a].First, f.Kinds[b].First)
	})
	_, _ = fmt.Fprintf(out, "%-28s %10s %12s\n", "kind", "histories", "first seed")
	for _, name := range names {
		_, _ = fmt.Fprintf(out, "%-28s %10d %12d\n", name, f.Kinds[name].Count, f.Kinds[name].First)
	}
	f.Waits.report(out)
	if show == 0 {
		return
	}
	player := simulation.NewPlayer()
	for _, name := range names {
		if !simulation.Wrong(name) {
			continue
		}
		s := f.Shrink(f.Kinds[name].First, name)
		_, _ = fmt.Fprintf(out, "\n# %s, seed %d, shrunk\n%s%s", name, f.Kinds[name].First, s, player.Play(s, nil))
	}
}

// Shrink shrinks the history of a seed to the smallest that shows the same kind of counterexample.
func (p Plan) Shrink(seed int, kind string) *simulation.Scenario {
	player := simulation.NewPlayer()
	return Shrink(p.generator(), seed, func(s *simulation.Scenario) bool {
		return slices.Contains(player.Play(s, nil).Kinds(), kind)
	})
}

// String is the summary on one line.
func (f *Found) String() string {
	return fmt.Sprintf("simulate: histories=%d early=%d stuck=%d late=%d seed=%d per_second=%.0f",
		f.Played, f.Early, f.Stuck, f.Late, f.Seed, float64(f.Played)/max(f.Took.Seconds(), 0.001))
}
