package rollout

import (
	"fmt"
	"strings"

	"github.com/stepgate/stepgate/cmd/screen"
	"github.com/stepgate/stepgate/policy"
)

// broken reports whether somebody has to look at an Application.
func (a *Application) broken() bool {
	return a.Health == "Degraded" || a.Health == "Missing" || a.Reason == "OperationFailed" || a.Reason == "SyncUnknown"
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

// cells are the row of an Application.
func (a *Application) cells() []screen.Cell {
	mark := screen.Cell{Text: screen.SignWaiting, Style: screen.Faint}
	switch {
	case a.Done:
		mark = screen.Cell{Text: screen.SignGood, Style: screen.Good}
	case a.broken():
		mark = screen.Cell{Text: screen.SignBad, Style: screen.Bad}
	case a.Syncing || a.Health == "Progressing":
		mark = screen.Cell{Text: screen.SignBusy, Style: screen.Busy}
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
	if state := a.state(); a.Waits == "" || !strings.HasSuffix(state, a.Waits) {
		return state
	}
	return "waits: " + a.Held
}

// state says in a few words what an Application does, or waits for.
func (a *Application) state() string {
	switch {
	case a.NotCounted != "":
		return a.NotCounted
	case a.Syncing && a.Detail != "":
		return because("syncing"+in(a.Cluster), a.Detail)
	case a.Syncing:
		return "syncing"
	case a.Waits != "":
		return "waits: " + a.Waits
	case len(a.WaitsFor) > 0:
		text := "waits for " + a.WaitsFor[0]
		if more := len(a.WaitsFor) - 1; more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		return text
	case a.Reason == string(policy.SyncUnknown):
		return because(a.Reason+in(a.Cluster), a.Detail)
	case a.Held != "":
		return "waits: " + a.Held
	case a.MayStart:
		return "may start"
	case a.Done:
		return "done"
	}
	return because(a.Reason+in(a.Cluster), a.Detail)
}
