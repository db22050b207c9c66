// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"cmp"
	"strings"
)

// row is what there is to say about a reason of the rule, beside when it holds. Each is in a file of its own,
// reason_*.go, and in one of the lists of evaluate.go.
type row struct {
	reason Reason
	// means and do are Reason.Advice.
	means, do string
	// level is the strictness from which on it counts.
	level Require
	// when is the condition, for the tables of docs/rule.md, and short the same of a sibling, for the one of
	// docs/decisions.md.
	when, short string
	// condition is Reason.Condition.
	condition bool
	// recorded says that operators hear of it although the write is not gated.
	recorded bool
	// next is what an operator can do about it, unless more is known; APP stands for the Application.
	next string
	// words say what a denial because of it is, and what to do next; nil for the usual sentence.
	words func(Decision) (text, next string)
}

// settling is a row that settles a write without a look at siblings.
type settling struct {
	row
	outcome Outcome
	// settles reports whether it does. step is the target's, and -1 where it has none.
	settles func(in *Input, step int) bool
	// says adds what is wrong to the decision; nil if there is no more to say.
	says func(in *Input, d Decision) Decision
}

// blocking is a row that says why a sibling of an earlier step is not done.
type blocking struct {
	row
	lacks []lack
}

// lack is one thing that a sibling may lack, and with it a case of a row.
type lack struct {
	// when is the condition, for docs/rule.md. It is empty where the row, or the case after it, says it.
	when string
	// next is what an operator can do about it; empty for that of the row.
	next string
	// ends is which comparison may end it.
	ends  Comparison
	holds func(in *Input, a *Application) (detail string, ok bool)
}

// waiting is a row that denies although every sibling is done. It completes the denial; its reason is added.
type waiting struct {
	row
	denies func(in *Input, d Decision) (denied Decision, ok bool)
}

// Row is one row of the tables of the rule, for those who write them down.
type Row struct {
	Reason Reason
	// When is the condition, and Lacks are its cases, if there are several. Short is the same of a sibling in one line, and empty for other rows.
	When, Short string
	Lacks       []string
	// Level is the strictness from which on it counts.
	Level Require
	// Outcome is what becomes of the write, and Recorded says that operators hear of it although it is not gated.
	Outcome  Outcome
	Recorded bool
}

// WriteRows are the rows that ask about a write and its target, in the order of the rule. Before those that deny by
// themselves, the siblings are asked: at is where.
func WriteRows() (rows []Row, at int) {
	for _, list := range [][]settling{writeRows, scopeRows} {
		for _, r := range list {
			rows = append(rows, r.shown(r.outcome))
		}
	}
	at = len(rows)
	for _, r := range stepRows {
		rows = append(rows, r.shown(Deny))
	}
	return append(rows, earlierStepsDone.shown(Allow), dependencyNotDone.shown(Deny), alreadySynced.shown(Deny)), at
}

// SiblingRows are the rows that ask whether a sibling of an earlier step is done, in the order of the rule.
func SiblingRows() (rows []Row) {
	for i := range siblingRows {
		r := &siblingRows[i]
		row := r.shown(Deny)
		for _, l := range r.lacks {
			if l.when != "" {
				row.Lacks = append(row.Lacks, l.when)
			}
		}
		rows = append(rows, row)
		if i == 0 {
			rows = append(rows, notCreated.shown(Deny))
		}
	}
	return append(rows, soaking.shown(Deny), dependencyNotFound.shown(Deny))
}

func (r *row) shown(o Outcome) Row {
	return Row{
		Reason: r.reason, When: r.when, Short: r.short, Level: r.level, Outcome: o, Recorded: r.recorded,
	}
}

// byReason are all rows. A reason with two of them has the first.
var byReason = func() map[Reason]*row {
	all := map[Reason]*row{
		earlierStepsDone.reason: &earlierStepsDone, notCreated.reason: &notCreated, soaking.reason: &soaking,
		dependencyNotDone.reason: &dependencyNotDone, dependencyNotFound.reason: &dependencyNotFound,
		alreadySynced.reason: &alreadySynced,
	}
	add := func(r *row) {
		if all[r.reason] == nil {
			all[r.reason] = r
		}
	}
	for i := range writeRows {
		add(&writeRows[i].row)
	}
	for i := range scopeRows {
		add(&scopeRows[i].row)
	}
	for i := range siblingRows {
		add(&siblingRows[i].row)
	}
	for i := range stepRows {
		add(&stepRows[i].row)
	}
	return all
}()

// rowOf is the row of a reason; an empty one for a reason that the rule does not have.
func rowOf(r Reason) *row {
	if found := byReason[r]; found != nil {
		return found
	}
	return &row{}
}

// Advice is what a reason means to an operator, and what he can do about it, as Markdown of docs/decisions.md; APP stands
// for the Application. do is empty for a reason that stops nobody, and both are for one that the rule does not have.
func (r Reason) Advice() (means, do string) {
	row := rowOf(r)
	return row.means, row.do
}

// wayOut says what an operator can do about something about an Application. It follows "Next: " in a denial. known is
// what is known beyond the row of the reason.
func (r Reason) wayOut(known, application string) string {
	next := cmp.Or(known, rowOf(r).next, "wait until APP is done")
	return strings.ReplaceAll(next, "APP", application)
}
