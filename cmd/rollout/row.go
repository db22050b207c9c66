// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"strings"

	"github.com/stepgate/stepgate/cmd/screen"
	"github.com/stepgate/stepgate/policy"
)

// broken reports whether somebody has to look at an Application.
func (a *Application) broken() bool {
	return a.Health == "Degraded" || a.Health == "Missing" || a.Reason == string(policy.OperationFailed) ||
		a.Reason != "" && a.Sync == "Unknown"
}

// urgency orders the rows: first those that need somebody.
func (a *Application) urgency() int {
	switch {
	case a.broken():
		return 0
	case a.Differs != "":
		return 1
	case a.Syncing:
		return 2
	}
	return 3
}

// Kind is what an Application is, at a glance.
type Kind string

// The kinds.
const (
	// KindDone is what later steps wait for.
	KindDone Kind = "done"
	// KindRunning is an Application that is being synced, or is not Healthy yet after that.
	KindRunning Kind = "running"
	// KindFailed is one that somebody has to look at.
	KindFailed Kind = "failed"
	// KindHeld is one whose own sync waits for a condition, or for itself.
	KindHeld Kind = "held"
	// KindWaits is one that waits for its turn.
	KindWaits Kind = "waits"
	// KindExcluded holds nobody up, whatever its state.
	KindExcluded Kind = "excluded"
)

// Kind is the first one that applies.
func (a *Application) Kind() Kind {
	switch {
	case a.NotCounted != "":
		return KindExcluded
	case a.Done:
		return KindDone
	case a.broken():
		return KindFailed
	case a.Syncing || a.Health == "Progressing":
		return KindRunning
	case a.Held != "" && !a.open:
		return KindHeld
	}
	return KindWaits
}

// Behind reports whether another one was compared with a newer revision of the same source.
func (a *Application) Behind() bool { return a.behind }

// cells are the row of an Application.
func (a *Application) cells() []screen.Cell {
	mark := screen.Cell{Text: screen.SignWaiting, Style: screen.Faint}
	switch a.Kind() {
	case KindDone, KindExcluded:
		mark = screen.Cell{Text: screen.SignGood, Style: screen.Good}
	case KindFailed:
		mark = screen.Cell{Text: screen.SignBad, Style: screen.Bad}
	case KindRunning:
		mark = screen.Cell{Text: screen.SignBusy, Style: screen.Busy}
	case KindHeld, KindWaits:
	}
	health := screen.Text(a.Health)
	if a.broken() {
		health.Style = screen.Bad
	}
	return []screen.Cell{
		mark, screen.Text(a.Name), health, screen.Text(a.Sync), screen.Text(shortAll(a.Revisions)), screen.Text(a.brief()),
	}
}

// brief is the state for the row of an Application, above which the conditions of its step are listed.
func (a *Application) brief() string {
	if state := a.Sentence(); !policy.Reason(a.Held).Condition() || a.Waits == "" || !strings.HasSuffix(state, a.Waits) {
		return state
	}
	return a.waits() + ": " + a.Held
}

// waits is the verb of what waits, or would if the gate held it.
func (a *Application) waits() string {
	if a.open {
		return "would wait"
	}
	return "waits"
}

// Sentence says in a few words what an Application does, or waits for.
func (a *Application) Sentence() string {
	switch {
	case a.NotCounted != "":
		return a.NotCounted
	case a.Syncing && a.Detail != "":
		return because("syncing"+in(a.Cluster), a.Detail)
	case a.Syncing:
		return "syncing"
	case a.Waits != "":
		return a.waits() + ": " + a.Waits
	case len(a.WaitsFor) > 0:
		text := a.waits() + " for " + a.WaitsFor[0]
		if more := len(a.WaitsFor) - 1 + a.WaitsForMore; more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		return text
	case a.Reason == string(policy.NotCompleted) && a.Sync == "Unknown":
		return because(a.Reason+in(a.Cluster), a.Detail)
	case a.Held != "":
		return a.waits() + ": " + a.Held
	case a.MayStart:
		return "may start"
	case a.Done:
		return "done"
	}
	return because(a.Reason+in(a.Cluster), a.Detail)
}
