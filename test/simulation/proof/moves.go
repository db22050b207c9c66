// SPDX-License-Identifier: Apache-2.0

package proof

import (
	"fmt"
	"slices"
)

// gap is how much time passes between two events, unless they are of the same second.
const gap = 12

// kind is what happens.
type kind uint8

const (
	pushes kind = iota
	compares
	starts
	ends
	requests
	changes
	restarts
	stalls
	catchesUp
	dryRuns
)

// move is one event.
type move struct {
	kind kind
	app  int8
	how  uint8
	// revision is that of an operation.
	revision revision
}

// How Argo CD compares an Application.
const (
	// ofNewest asks git, and ofSame takes the revision that it was compared with before. One that began before somebody asked
	// for it leaves the request.
	ofNewest uint8 = iota
	ofSame
	// sameSecond is one in the second in which its operation ended, and sameSecondBefore one that has seen the cluster as it was
	// before that.
	sameSecond
	sameSecondBefore
	// overtaken is one that began while its operation ran, and is written after its end.
	overtaken
)

// How an operation ends.
const (
	well uint8 = iota
	onItsWay
	rejected
	inItsHooks
)

// How a watch catches up.
const (
	allOfIt uint8 = iota
	listing
)

var healths = []health{healthy, degraded}

// moves are the events that may come next, but for operations that start. Of the last step, nobody asks how well it is.
func (w *world) moves(plan *Plan) (all []move) {
	if w.git < revision(plan.Commits) {
		all = append(all, move{kind: pushes})
	}
	for i := range int8(len(names)) {
		app, op := w.apps[i], &w.apps[i].operation
		last := int(i) == len(names)-1
		all = append(all, move{kind: compares, app: i, how: ofNewest})
		if app.at != w.git || app.requested {
			all = append(all, move{kind: compares, app: i, how: ofSame})
		}
		if app.operates() {
			all = append(all, move{kind: ends, app: i, how: well})
		}
		if last {
			continue
		}
		if app.operates() {
			all = append(all, move{kind: ends, app: i, how: rejected}, move{kind: ends, app: i, how: inItsHooks})
			if w.cluster[i].revision != op.revision {
				all = append(all, move{kind: ends, app: i, how: onItsWay}) // what is there already, goes on as it was
			}
		} else {
			if plan.Wide {
				all = append(all, move{kind: dryRuns, app: i})
			}
			if plan.Wide || w.cluster[i].health != healthy {
				all = append(all, move{kind: changes, app: i, how: w.cluster[i].changes()})
			}
			if app.comparedAt <= op.finished && op.full {
				all = append(all, move{kind: compares, app: i, how: sameSecond},
					move{kind: compares, app: i, how: sameSecondBefore}, move{kind: compares, app: i, how: overtaken})
			}
		}
		if !app.requested {
			all = append(all, move{kind: requests, app: i})
		}
	}
	all = append(all, move{kind: restarts})
	switch {
	case w.stalled:
		all = append(all, move{kind: catchesUp, how: allOfIt}, move{kind: catchesUp, how: listing})
	case plan.Wide:
		all = append(all, move{kind: stalls})
	}
	return all
}

// changes is the health that comes next, by its place in healths.
func (c *target) changes() uint8 {
	if c.health == healthy {
		return 1
	}
	return 0
}

// after is the world after a move. An operation that starts is g's to write.
func (w *world) after(m move, g *gate) (next world) {
	next = *w
	app := w.apps[m.app].application
	c := &next.cluster[m.app]
	switch m.kind {
	case pushes:
		next.git++
	case compares:
		next.compare(&app, m.how)
	case starts:
		text := g.written(w, m)
		next.now += gap
		app.operation = operation{text: text, revision: m.revision, full: true, phase: running, started: next.now}
	case dryRuns:
		m.how, m.revision = uint8(dryRun), app.at
		text := g.written(w, m)
		next.now += gap
		app.operation = operation{text: text, revision: app.at, phase: succeeded, started: next.now, finished: next.now}
	case ends:
		next.now += gap
		next.end(&app, m.how)
	case requests:
		app.requested = true
	case changes:
		c.health = healths[m.how]
		next.look(&app, c.revision, c.health)
	case restarts:
		next.restart()
	case stalls:
		next.stalled = true
	case catchesUp:
		next.catchUp(m.how == allOfIt)
	}
	next.write(g.objects, app)
	next.ask()
	next.note()
	next.path = &step{w.path, m}
	return next
}

// compare is a comparison of the whole Application.
func (w *world) compare(app *application, how uint8) {
	c, op := &w.cluster[app.number], &app.operation
	deployed, found, at := c.revision, c.health, w.now+gap
	switch how {
	case ofNewest:
		app.at, app.requested = w.git, false
	case ofSame:
	case sameSecond:
		at = op.finished
	case sameSecondBefore:
		deployed, found, at = c.before, c.beforeHealth, op.finished
	case overtaken:
		deployed, found, at = c.before, c.beforeHealth, op.started
	}
	w.now = max(w.now, at)
	app.comparedAt = at
	w.look(app, deployed, found)
	if at > op.finished {
		c.before, c.beforeHealth = none, missing // nobody sees that any more
	}
}

// look writes down what is in the cluster.
func (w *world) look(app *application, deployed revision, found health) {
	if app.at == none {
		return
	}
	app.synced = deployed == app.at
	if app.health != found {
		app.health, app.since = found, w.now
	}
}

// end ends the operation of an Application.
func (w *world) end(app *application, how uint8) {
	op, c, t := &app.operation, &w.cluster[app.number], &w.truth[app.number]
	op.finished, op.phase = w.now, succeeded
	if how == rejected || how == inItsHooks {
		op.phase, op.applied = failed, how == inItsHooks
	}
	if !op.full {
		return
	}
	c.before, c.beforeHealth = c.revision, c.health
	if how == rejected {
		return
	}
	t.goesBack(op.revision)
	c.pending = op.phase == failed && (c.pending || c.revision != op.revision)
	if c.revision != op.revision {
		c.health = healthy
	}
	if c.revision = op.revision; how == onItsWay {
		c.health = progressing
	}
	if op.phase == succeeded {
		t.synced, t.ran = op.revision, t.ran|1<<op.revision
		app.record(entry{revision: op.revision, by: isPersons(op.text), started: op.started, at: w.now})
	}
}

// goesBack takes back what was completed after a revision that is deployed once more.
func (t *truth) goesBack(to revision) { t.completed &= 1<<(to+1) - 1 }

func (m move) String() string {
	who := names[m.app]
	switch m.kind {
	case pushes:
		return "a commit lands"
	case compares:
		return who + " is compared" + []string{
			" with the newest commit", " with the same commit again", " in the second in which its operation ended",
			" in that second, with the cluster before it", ", which began before its operation ended",
		}[m.how]
	case starts:
		return fmt.Sprintf("%s starts %s of %s", who, ask(m.how), m.revision.text())
	case ends:
		return "the operation of " + who + []string{
			" succeeds", " succeeds, and it is Progressing", " fails", " fails in its hooks",
		}[m.how]
	case requests:
		return "a refresh of " + who + " is requested"
	case changes:
		return who + " becomes " + string(healths[m.how])
	case restarts:
		return "stepgate restarts"
	case stalls:
		return "the watch of stepgate stalls"
	case catchesUp:
		return "the watch catches up" + []string{"", ", and brings the newest only"}[m.how]
	case dryRuns:
		return who + " has a dry run"
	}
	return ""
}

// texts are the moves of a path.
func texts(all []move) []string {
	said := make([]string, 0, len(all))
	for _, m := range all {
		said = append(said, m.String())
	}
	return slices.Clip(said)
}
