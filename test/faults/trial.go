package main

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/stepgate/stepgate/test/eventually"
	"github.com/stepgate/stepgate/test/load"
)

const (
	// webhookTimeout is timeoutSeconds of config/.
	webhookTimeout = 5 * time.Second
	// mostMemory is in MiB, for each replica.
	mostMemory = 192
)

// trial is one fault and what came of it.
type trial struct {
	*stand
	fault

	// writes went through the API server, questions straight to a replica.
	writes, questions load.Tally
	injections        int
	mu                sync.Mutex // of what follows
	// share is the largest part of the webhook's time that an answer took; unanswered is how many came not at all.
	share      float64
	unanswered int
	// recovery is the longest that it took until everything was right again.
	recovery time.Duration
	// notes are what else was measured; problems are goals of this fault that were missed.
	notes, problems []string
}

// try runs one fault from a state in which all is well to one in which all is well again.
func (s *stand) try(ctx context.Context, f fault) (*trial, error) {
	t := &trial{stand: s, fault: f}
	s.writer.Count(&t.writes)
	if err := f.run(ctx, t); err != nil {
		return t, err
	}
	return t, t.recover(ctx)
}

// recover heals everything, and measures how long it takes until every replica is ready and every answer right: of the
// API server and of each replica, a denial and an admission.
func (t *trial) recover(ctx context.Context) error {
	for _, proxy := range t.proxies {
		proxy.Heal()
	}
	t.release.Balancer.Heal()
	healed := time.Now()
	scratch := &load.Tally{}
	t.writer.Count(scratch)
	defer t.writer.Count(&t.writes)
	err := eventually.Succeeds(ctx, func() error {
		for i, gate := range t.release.Replicas() {
			if err := gate.Ready(ctx); err != nil {
				return fmt.Errorf("replica %d: %w", i, err)
			}
		}
		for _, degraded := range []bool{true, false} {
			if err := t.allRight(ctx, scratch, degraded); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("no recovery: %w: %s", err, strings.Join(scratch.Texts(), "; "))
	}
	if wrong := scratch.Count(load.WrongAllow); wrong > 0 {
		t.problem("%d wrong allows while it recovered", wrong)
	}
	t.recovery = max(t.recovery, time.Since(healed))
	return nil
}

func (t *trial) allRight(ctx context.Context, tally *load.Tally, degraded bool) error {
	if t.probe.SetDegraded(ctx, degraded) != load.Right || t.probe.Sync(ctx) != load.Right {
		return fmt.Errorf("the API server's answer is not right with degraded=%t", degraded)
	}
	for i, gate := range t.release.Replicas() {
		asker := load.NewAsker(gate, tally)
		outcome, _, err := asker.Ask(ctx, t.probe, webhookTimeout)
		asker.Close()
		if outcome != load.Right {
			return fmt.Errorf("the answer of replica %d is not right with degraded=%t: %w", i, degraded, err)
		}
	}
	return nil
}

// ask asks one replica, and sees whether the answer came in time.
func (t *trial) ask(ctx context.Context, asker *load.Asker, r *load.Rollout, timeout time.Duration) load.Outcome {
	ctx, cancel := context.WithTimeout(ctx, 2*timeout)
	defer cancel()
	outcome, took, err := asker.Ask(ctx, r, timeout)
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		t.unanswered++
		t.notes = append(t.notes, fmt.Sprintf("unanswered: %v", err))
		return outcome
	}
	t.share = max(t.share, took.Seconds()/timeout.Seconds())
	return outcome
}

// inject counts injections.
func (t *trial) inject(n int) { t.injections += n }

func (t *trial) note(format string, args ...any) {
	t.notes = append(t.notes, fmt.Sprintf(format, args...))
}

func (t *trial) problem(format string, args ...any) {
	t.problems = append(t.problems, fmt.Sprintf(format, args...))
}

// missed are the goals that this fault missed.
func (t *trial) missed() []string {
	missed := t.problems
	require := func(reached bool, goal string) {
		if !reached {
			missed = append(missed, goal)
		}
	}
	require(t.injections > 0, "at least one injection")
	require(t.wrong(load.WrongAllow) == 0, "no wrong allow")
	require(t.wrong(load.WrongDeny) == 0, "no wrong deny")
	require(t.share <= 0.8, fmt.Sprintf("every answer within 80 %% of the webhook's time (%.1f %%)", 100*t.share))
	require(t.unanswered == 0, "every question answered")
	for i := range missed {
		missed[i] = t.number + ": " + missed[i]
	}
	return missed
}

func (t *trial) wrong(outcome load.Outcome) int {
	return t.writes.Count(outcome) + t.questions.Count(outcome)
}

// table prints the rows.
func table(rows []*trial) {
	fmt.Println("| fault | injections | operation writes and questions | other writes | wrong allows | wrong denies | no decision | slowest answer, of the webhook's time | recovery |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|")
	var injections, judged, others, allows, denies int
	for _, t := range rows {
		slowest := "-"
		if t.share > 0 {
			slowest = fmt.Sprintf("%.0f %%", math.Ceil(100*t.share))
		}
		calls := t.writes.Calls() + t.questions.Calls()
		fmt.Printf("| %s %s | %d | %d | %d | %d | %d | %d | %s | %s |\n", t.number, t.name, t.injections, calls, t.writes.Others(),
			t.wrong(load.WrongAllow), t.wrong(load.WrongDeny), t.wrong(load.Failed), slowest, t.recovery.Round(time.Millisecond))
		injections += t.injections
		judged += calls
		others += t.writes.Others()
		allows += t.wrong(load.WrongAllow)
		denies += t.wrong(load.WrongDeny)
	}
	fmt.Printf("| all | %d | %d | %d | %d | %d | | | |\n", injections, judged, others, allows, denies)
	for _, t := range rows {
		for _, note := range t.notes {
			fmt.Printf("%s: %s\n", t.number, note)
		}
		if t.wrong(load.WrongDeny) > 0 || t.wrong(load.WrongAllow) > 0 {
			for _, text := range append(t.writes.Texts(), t.questions.Texts()...) {
				fmt.Printf("%s: error: %s\n", t.number, text)
			}
		}
	}
}
