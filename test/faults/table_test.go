package faults

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/stepgate/stepgate/test/load"
)

// table prints a row for each fault, and the notes.
func (s *suite) table() {
	if len(s.rows) == 0 {
		return
	}
	fmt.Println("| fault | injections | operation writes and questions | other writes | wrong allows | wrong denies | no decision | slowest answer, of the webhook's timeout | recovery |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|")
	var injections, calls, others, allows, denies int
	for _, f := range s.rows {
		slowest := "-"
		if f.share > 0 {
			slowest = fmt.Sprintf("%.0f %%", math.Ceil(100*f.share))
		}
		of := func(outcome load.Outcome) int { return f.writes.Count(outcome) + f.questions.Count(outcome) }
		asked := f.writes.Calls() + f.questions.Calls()
		fmt.Printf("| %s | %d | %d | %d | %d | %d | %d | %s | %s |\n", f.name, f.injections, asked, f.writes.Others(),
			of(load.WrongAllow), of(load.WrongDeny), of(load.Failed), slowest, f.recovery.Round(time.Millisecond))
		injections += f.injections
		calls += asked
		others += f.writes.Others()
		allows += of(load.WrongAllow)
		denies += of(load.WrongDeny)
	}
	fmt.Printf("| all | %d | %d | %d | %d | %d | | | |\n\n", injections, calls, others, allows, denies)
	for _, f := range s.rows {
		number, _, _ := strings.Cut(f.name, " ")
		for _, note := range f.notes {
			fmt.Printf("%s: %s\n", number, note)
		}
	}
	peak, worst := 0.0, ""
	for _, f := range s.rows {
		if f.peak > peak {
			peak, worst = f.peak, f.name
		}
	}
	fmt.Printf("anonymous memory of one replica: %.0f MiB at most, in %s\n", peak, worst)
}
