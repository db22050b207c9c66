// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/cluster"
	"github.com/stepgate/stepgate/webhook/judge"
	"github.com/stepgate/stepgate/webhook/ledger"
	"github.com/stepgate/stepgate/webhook/rollouts"
)

// kept are the ConfigMaps of the ledger, which outlive every replica. Who writes one, tells it to the others.
type kept struct {
	s       *stepgate
	objects map[ledger.ID]ledger.Object
	writes  int
}

// Write is ledger.Objects.
func (k *kept) Write(_ context.Context, o ledger.Object) (version string, err error) {
	if k.objects[o.ID].Version != o.Version {
		return "", fmt.Errorf("%w: %s", ledger.ErrConflict, o.Name())
	}
	k.writes++
	o.Version = strconv.Itoa(k.writes)
	k.objects[o.ID] = o
	for _, r := range k.s.replicas {
		k.s.w.after(k.s.w.delay(10*time.Millisecond), func() { r.remembered.ledger.Stored(o) })
	}
	return o.Version, nil
}

// RemovePart is ledger.Objects.
func (k *kept) RemovePart(_ context.Context, name string) error {
	for id := range k.objects {
		if id.Name() == name {
			delete(k.objects, id)
		}
	}
	return nil
}

// remembered is what a replica knows of the ledger: webhook/ledger in virtual time. It has none without the scenario's
// Ledger.
type remembered struct {
	ledger *ledger.Ledger
	writer *ledger.Writer
	// wroteAt is when it last wrote, and writeAt when it writes again; zero when it does not.
	wroteAt, writeAt time.Duration
}

// remember begins with what the ledger has.
func (r *replica) remember() {
	r.remembered = remembered{}
	if !r.w.scenario.Ledger {
		return
	}
	l := ledger.New(virtualClock{r.w}, r.follow)
	for _, o := range r.of.kept.sorted() {
		l.Stored(o)
	}
	r.Resume(l.Of)
	r.remembered.ledger = l
	r.remembered.writer = ledger.NewWriter(l, &r.of.kept, writes{r}, func(string) {})
}

// chronicle has it write the log of rollouts, too.
func (r *replica) chronicle(j *judge.Judge) {
	if m := &r.remembered; m.writer != nil {
		m.writer.ChronicleWith(rollouts.NewChronicler(j, known{r}, unheard{}))
	}
}

// unheard is rollouts.Told.
type unheard struct{}

func (unheard) Ended(ledger.Result)          {}
func (unheard) Completed(int, time.Duration) {}
func (unheard) Failed(int)                   {}
func (unheard) Repaired(int, time.Duration)  {}

// rollouts are those of the log of an ApplicationSet.
func (k *kept) rollouts(f *family) []ledger.Rollout {
	o := k.objects[ledger.ID{Set: f.uid}]
	if len(o.Rollouts) == 0 {
		return nil
	}
	log, err := ledger.DecodeLog(o.Rollouts, o.Set)
	if err != nil {
		panic(err)
	}
	return log.Rollouts
}

func (k *kept) sorted() (all []ledger.Object) {
	for _, o := range k.objects {
		all = append(all, o)
	}
	slices.SortFunc(all, func(a, b ledger.Object) int { return cmp.Compare(a.Name(), b.Name()) })
	return all
}

// follow takes what another replica has written.
func (r *replica) follow(set types.UID, all []cluster.Kept) {
	for _, p := range r.Owned(set) {
		for i := range all {
			if all[i].UID == p.UID {
				r.Follow(p, &all[i].Kept)
			}
		}
	}
}

// writeDown writes what has changed of an ApplicationSet some time later, if this replica leads.
func (r *replica) writeDown(f *family) {
	m := &r.remembered
	if m.writer == nil {
		return
	}
	m.writer.Changed(r.w.key(f))
	if m.writeAt > 0 || !r.Leads() {
		return
	}
	m.writeAt = r.w.now + ledger.Settle
	if m.wroteAt > 0 {
		m.writeAt = max(m.writeAt, m.wroteAt+ledger.Every)
	}
	life := r.starts
	r.w.after(m.writeAt-r.w.now, func() {
		if r.starts == life {
			m.writeAt, m.wroteAt = 0, r.w.now
			m.writer.Write(context.Background())
		}
	})
}

func (r *replica) writeDownAll() {
	for _, f := range r.w.families {
		r.writeDown(f)
	}
}

// end is what a replica does with its last breath: one that is told to end writes what is left, and one that is killed
// does not.
func (r *replica) end() {
	if m := &r.remembered; m.writer != nil && r.Leads() && r.w.delay(time.Second) < time.Second/2 {
		m.writer.Write(context.Background())
	}
}

// writes is a replica as ledger.Known.
type writes struct{ *replica }

// Sets is ledger.Known.
func (r writes) Sets() (all []*argocd.ApplicationSet) {
	for _, f := range r.w.families {
		all = append(all, r.of.setProjection(r.cache.sets[f.name]))
	}
	return all
}

// Kept is ledger.Known.
func (r writes) Kept(owner cluster.Owner) []cluster.Kept { return r.Histories.Kept(owner) }
