// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"errors"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/cluster"
	"github.com/stepgate/stepgate/webhook/history"
)

// Ledger is what is stored, as this replica has seen it.
type Ledger struct {
	clock  clock.PassiveClock
	follow func(set types.UID, all []cluster.Kept)

	mu    sync.Mutex
	parts map[ID]part
	// kept are the Applications, by the UID of their ApplicationSet and their own; nil once the Applications were listed.
	kept map[types.UID]map[types.UID]*history.Kept
	// lost counts the objects that somebody has deleted, and that this replica has written again.
	lost int
}

// part is an object as it was last seen or written.
type part struct {
	version string
	size    int
	// problem is why nothing of it counts; nil if it does.
	problem error
	// log is why its Log does not count.
	log error
	// material stands for what this replica has written last; 0 if that was another one.
	material uint64
	rollouts []byte
	// gone says that somebody has deleted it.
	gone bool
}

// New returns a Ledger that has seen nothing. follow is told what another replica has written of some Applications of
// an ApplicationSet, once Listed was called.
func New(clock clock.PassiveClock, follow func(set types.UID, all []cluster.Kept)) *Ledger {
	return &Ledger{
		clock: clock, follow: follow, parts: map[ID]part{}, kept: map[types.UID]map[types.UID]*history.Kept{},
	}
}

// Stored is told an object as a watch has seen it.
func (l *Ledger) Stored(o Object) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.parts[o.ID].version == o.Version {
		return // this replica has written it
	}
	now := l.clock.Now()
	d, err := Decode(o.Completions, o.Set, o.Part, now)
	l.parts[o.ID] = part{
		version: o.Version, size: len(o.Completions) + len(o.Rollouts), problem: err, log: o.logProblem(),
		rollouts: o.Rollouts,
	}
	if err != nil {
		return
	}
	members := d.Members(now)
	if l.kept == nil {
		l.follow(o.Set, members)
		return
	}
	if l.kept[o.Set] == nil {
		l.kept[o.Set] = map[types.UID]*history.Kept{}
	}
	for i := range members {
		l.kept[o.Set][members[i].UID] = &members[i].Kept
	}
}

// Gone is told that an object is not there any more.
func (l *Ledger) Gone(id ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, stored := l.parts[id]; stored {
		l.parts[id] = part{gone: true}
	}
}

// Of is what is kept of an Application; nil if that is nothing. It is cluster.Histories.Resume.
func (l *Ledger) Of(p *argocd.Projection) *history.Kept {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.kept[p.Owner][p.UID]
}

// Listed says that all Applications were listed: what is kept of them is not needed any more.
func (l *Ledger) Listed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept = nil
}

// Problems counts the objects of which nothing counts: of another version, unreadable, or lost.
func (l *Ledger) Problems() (version, unreadable, lost int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.parts {
		switch {
		case errors.Is(p.problem, ErrVersion), errors.Is(p.log, ErrVersion):
			version++
		case p.problem != nil, p.log != nil:
			unreadable++
		}
	}
	return version, unreadable, l.lost
}

// Size is how many bytes all objects have.
func (l *Ledger) Size() (bytes int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.parts {
		bytes += p.size
	}
	return bytes
}

func (l *Ledger) part(id ID) part {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.parts[id]
}

func (l *Ledger) written(id ID, p part) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.parts[id].gone {
		l.lost++
	}
	l.parts[id] = p
}

// beyond are the numbers of the parts of an ApplicationSet from parts on.
func (l *Ledger) beyond(set types.UID, parts int) (all []ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id := range l.parts {
		if id.Set == set && id.Part >= parts {
			all = append(all, id)
		}
	}
	return all
}

// forget forgets a part that this replica has removed.
func (l *Ledger) forget(id ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.parts, id)
}
