// SPDX-License-Identifier: Apache-2.0

package proof

import (
	"github.com/stepgate/stepgate/webhook/history"
)

// target is what is deployed of an Application.
type target struct {
	// revision is what is there, and pending says that no sync has succeeded that has deployed it.
	revision revision
	pending  bool
	health   health
	// before is what was there before the last operation: for a moment, Argo CD may still see that.
	before       revision
	beforeHealth health
}

// truth is how far an Application has come in truth.
type truth struct {
	// completed are the revisions, by their bits, that were deployed by a sync that succeeded, and Healthy, and from which
	// nobody has gone back since.
	completed uint8
	// ran are those, by their bits, that a sync that succeeded has deployed.
	ran uint8
	// synced is what the last sync that succeeded has deployed.
	synced revision
}

// world is a state of everything: of git, Argo CD, the clusters, the watch of stepgate and its memory. It is copied, and
// what it points to is never changed.
type world struct {
	now second
	// git is the newest commit.
	git     revision
	apps    [3]*object
	cluster [3]target
	truth   [3]truth
	// seen are the Applications as the watch of stepgate has brought them. Where it is stalled, late are the writes that it
	// has not brought, oldest first.
	seen    [3]*object
	stalled bool
	late    []*object
	memory  [3]*memory
	// position is that of the newest event of the watch.
	position uint64
	// asked are the positions at which somebody first asked for a revision that an Application is not compared with, by
	// both. Somebody asks for everything as soon as it is there: the earlier that was, the more may pass for newer.
	asked [3][4]uint64
	// log is what stepgate was told since its start, newest first.
	log *told
	// path is what has happened.
	path *step
}

// memory is what stepgate remembers of an Application, and its form.
type memory struct {
	record *history.Record
	form   form
}

// told is one thing that stepgate was told.
type told struct {
	before *told
	at     second
	// app is what the watch has brought, or, if a revision was asked for in vain, what it was then.
	app   *object
	asked bool
	// listed says that the watch has listed it, as at a start.
	listed bool
	// revision is the one that was asked for.
	revision revision
}

// step is one event of a path.
type step struct {
	before *step
	move
}

// moves are those of a path, oldest first.
func (s *step) moves() (all []move) {
	for ; s != nil; s = s.before {
		all = append([]move{s.move}, all...)
	}
	return all
}

// restart begins the memory of stepgate anew: it lists everything.
func (w *world) restart() {
	w.log, w.position, w.stalled, w.late = nil, 0, false, nil
	w.asked = [3][4]uint64{}
	w.memory = [3]*memory{}
	for _, app := range w.apps {
		w.tell(app)
	}
}

// ask notes what somebody asks for, whatever is compared.
func (w *world) ask() {
	for i := range int8(len(names)) {
		for r := range w.git + 1 {
			if app := w.apps[i]; i > 0 && app.at != r && w.asked[i][r] == 0 {
				w.asked[i][r] = w.position
				w.log = &told{before: w.log, at: w.now, app: app, asked: true, revision: r}
			}
		}
	}
}

// write stores an Application, and tells the watch of stepgate.
func (w *world) write(o *objects, a application) {
	app := o.of(a)
	if app == w.apps[a.number] {
		return
	}
	w.apps[a.number] = app
	if w.stalled {
		w.late = append(w.late[:len(w.late):len(w.late)], app)
		return
	}
	w.tell(app)
}

// tell brings an Application to stepgate.
func (w *world) tell(app *object) {
	w.position++
	var before *history.Record
	if m := w.memory[app.number]; m != nil {
		before = m.record
	}
	record, _ := before.Next(app.projection, history.Event{Position: w.position, At: w.now.time()})
	w.memory[app.number] = &memory{record, remembered(record, app.number)}
	w.seen[app.number] = app
	w.log = &told{before: w.log, at: w.now, app: app, listed: before == nil}
}

// catchUp ends a stall. The watch has broken if all is false: then it brings the newest of each only.
func (w *world) catchUp(all bool) {
	late := w.late
	w.stalled, w.late = false, nil
	for _, app := range late {
		if all || app == w.apps[app.number] {
			w.tell(app)
		}
	}
}

// note brings up to date what the Applications have completed.
func (w *world) note() {
	for i := range w.cluster {
		if c := &w.cluster[i]; c.health == healthy && !c.pending && c.revision != none {
			w.truth[i].completed |= 1 << c.revision
		}
	}
}

// keys are what a state is, once for stepgate and once for everything.
type keys struct{ j joined }

// visible stands for what stepgate can know.
func (k *keys) visible(w *world) key {
	k.common(w)
	return k.j.key()
}

// whole stands for everything that decides about the future.
func (k *keys) whole(w *world) key {
	k.common(w)
	j := &k.j
	j.number(uint64(w.git))
	for i := range w.cluster {
		c, t := &w.cluster[i], &w.truth[i]
		j.text = append(j.text, byte(c.revision), asByte(c.pending), c.health[0], byte(c.before), c.beforeHealth[0],
			t.completed, t.ran, byte(t.synced))
	}
	j.text = append(j.text, asByte(w.stalled))
	for _, late := range w.late {
		j.add(&late.form)
	}
	j.rank()
	return j.key()
}

func (k *keys) common(w *world) {
	j := &k.j
	j.reset()
	for i := range w.apps {
		j.add(&w.apps[i].form)
		j.text = append(j.text, asByte(w.seen[i] == w.apps[i]))
		if w.seen[i] != w.apps[i] {
			j.add(&w.seen[i].form)
		}
		j.place(i, &w.memory[i].form, w.asked[i][:])
		j.rank()
	}
}
