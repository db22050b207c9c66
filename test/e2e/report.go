package main

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// slower is by how much a rollout may take longer with the gate than without.
const slower = 5 * time.Second

// printReport prints the table and the final line, and returns an error when the gate did not keep its promise.
func printReport(s *suite, chosen []scenario, all table) error {
	writes, err := readAudited(s.AuditLog)
	if err != nil {
		return err
	}
	fmt.Println()
	printTable(chosen, all, writes)
	printBeside(chosen, all, writes)
	t := total(chosen, all)
	if t.audited > 0 {
		if err := s.compareAudit(chosen, all); err != nil {
			return err
		}
	}
	t.print()
	return t.verdict()
}

// totals are the sums over all rollouts.
type totals struct {
	rollouts, offOutOfOrder, onOutOfOrder, onCompleted, audited int
	off, on                                                     []time.Duration
	problems                                                    []error
}

func total(chosen []scenario, all table) *totals {
	t := &totals{}
	for _, sc := range chosen {
		t.rollouts++
		without, with := all[sc.key][off], all[sc.key][on]
		for _, o := range all[sc.key] {
			if o.problem != nil {
				t.problems = append(t.problems, fmt.Errorf("%s, %s: %w", sc.key, o.rollout.mode, o.problem))
			}
		}
		if without != nil {
			t.offOutOfOrder += without.outOfOrder()
			t.off = append(t.off, without.took)
		}
		if all[sc.key][audit] != nil {
			t.audited++
		}
		if with != nil {
			t.add(sc, without, with)
		}
		if o := all[sc.key][proven]; o != nil {
			t.onOutOfOrder += o.outOfOrder()
			if !o.completed() {
				t.problems = append(t.problems, fmt.Errorf("%s did not complete with --pin proven: %s", sc.key, o.rollout.summary()))
			}
		}
	}
	return t
}

// add counts a rollout with the gate, against the one without, if there was one.
func (t *totals) add(sc scenario, without, with *outcome) {
	t.onOutOfOrder += with.outOfOrder()
	if !with.completed() {
		t.problems = append(t.problems, fmt.Errorf("%s did not complete with the gate: %s", sc.key, with.rollout.summary()))
		return
	}
	t.onCompleted++
	t.on = append(t.on, with.took)
	if tooSlow(without, with) > 0 {
		t.problems = append(t.problems, fmt.Errorf("%s took %.1fs with the gate and %.1fs without", sc.key, with.took.Seconds(), without.took.Seconds()))
	}
}

// tooSlow is by how much a rollout took longer with the gate than it may; zero when it did not, or cannot be compared.
func tooSlow(without, with *outcome) time.Duration {
	if without == nil || with == nil || !without.completed() || !with.completed() || with.rollout.overlooked > 0 {
		return 0
	}
	allowed := without.took + slower*time.Duration(max(1, with.rollout.scenario.rounds))
	if with.rollout.scenario.resync {
		// The moment of the periodic comparison varies by this much.
		allowed += shortJitter
	}
	if with.rollout.scenario.twice {
		allowed += without.took
	}
	return max(0, with.took-allowed)
}

func (t *totals) print() {
	fmt.Printf("e2e: rollouts=%d off_out_of_order=%d on_out_of_order=%d on_completed=%d median_off=%.1fs median_on=%.1fs\n",
		t.rollouts, t.offOutOfOrder, t.onOutOfOrder, t.onCompleted, median(t.off).Seconds(), median(t.on).Seconds())
}

func (t *totals) verdict() error {
	problems := t.problems
	if t.onOutOfOrder > 0 {
		problems = append(problems, fmt.Errorf("%d starts out of order with the gate", t.onOutOfOrder))
	}
	if len(t.off) > 0 && t.offOutOfOrder == 0 {
		problems = append(problems, errors.New("nothing went out of order without the gate, so this run tests nothing"))
	}
	return errors.Join(problems...)
}

// median leaves out the rollouts that did not complete.
func median(all []time.Duration) time.Duration {
	done := slices.DeleteFunc(slices.Clone(all), func(d time.Duration) bool { return d == 0 })
	if len(done) == 0 {
		return 0
	}
	slices.Sort(done)
	return (done[(len(done)-1)/2] + done[len(done)/2]) / 2
}

func printTable(chosen []scenario, all table, writes []write) {
	fmt.Println("| rollout | out of order off / on | seconds off / on | denials | refreshes | controller writes per minute off / on |")
	fmt.Println("|---|---|---|---|---|---|")
	for _, sc := range chosen {
		without, with := all[sc.key][off].row(writes), all[sc.key][on].row(writes)
		fmt.Printf("| %s (`%s`) | %s / %s | %s / %s | %s | %s | %s / %s |\n", sc.title, sc.key, without.outOfOrder, with.outOfOrder,
			without.took, with.took, with.denials, with.refreshes, without.perMinute, with.perMinute)
	}
	fmt.Println()
}

// printBeside prints the rollouts in other modes than off, on and audit, with those beside them.
func printBeside(chosen []scenario, all table, writes []write) {
	header := "| rollout | mode | starts | out of order | seconds | denials | note |\n|---|---|---|---|---|---|---|\n"
	for _, sc := range chosen {
		if len(sc.beside) == 0 {
			continue
		}
		for _, m := range append([]mode{off}, append(sc.beside, on)...) {
			o := all[sc.key][m]
			if o == nil {
				continue
			}
			r := o.row(writes)
			fmt.Printf("%s| `%s` | %s | %d | %s | %s | %s | %s |\n", header, sc.key, m, len(o.starts), r.outOfOrder, r.took, r.denials, o.rollout.note)
			header = ""
		}
	}
	fmt.Println()
}

type row struct{ outOfOrder, took, denials, refreshes, perMinute string }

func (o *outcome) row(writes []write) row {
	if o == nil {
		return row{"-", "-", "-", "-", "-"}
	}
	t, took := o.counts(writes), "never"
	if o.completed() {
		took = fmt.Sprintf("%.1f", o.took.Seconds())
	}
	return row{
		outOfOrder: fmt.Sprint(o.outOfOrder()), took: took, denials: fmt.Sprint(t.denials), refreshes: fmt.Sprint(t.refreshes),
		perMinute: fmt.Sprintf("%.0f", t.perMinute(o.ended.Sub(o.rollout.began))),
	}
}

// printOutcome is a line as soon as a rollout has ended.
func printOutcome(o *outcome) {
	r := o.rollout
	fmt.Printf("%-24s %-8s  starts %2d, out of order %2d, ", r.scenario.key, r.mode, len(o.starts), o.outOfOrder())
	switch {
	case o.problem != nil:
		fmt.Printf("not played: %v\n", o.problem)
	case o.completed():
		fmt.Printf("complete after %.1fs\n", o.took.Seconds())
	default:
		fmt.Printf("not complete: %s\n", r.summary())
	}
	if r.note != "" {
		fmt.Printf("  %s\n", r.note)
	}
	for _, s := range o.starts {
		if s.OutOfOrder() && r.mode.keepsOrder() {
			fmt.Printf("  out of order at +%.1fs: %s, change %d, before %v\n", s.At.Sub(r.began).Seconds(), s.Application, s.Change, s.Behind)
		}
	}
}
