// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"bytes"
	"context"
	"errors"
	"hash/maphash"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/cluster"
)

const (
	// Settle is how long a Writer waits after a change: what follows at once is written with it.
	Settle = time.Second
	// Every is how often it writes at most.
	Every = 5 * time.Second
	// flushTime is how long the last write of a replica that ends may take.
	flushTime = 3 * time.Second
)

// Known is what the watches have seen. cluster.Cache is one.
type Known interface {
	Set(name types.NamespacedName) (*argocd.ApplicationSet, cluster.Version)
	Sets() []*argocd.ApplicationSet
	Kept(owner cluster.Owner) []cluster.Kept
}

// Chronicler writes the log of an ApplicationSet's rollouts. rollouts.Chronicler is one.
type Chronicler interface {
	// Next is the log with what is known now. before is what is stored; tell is called once the log is.
	Next(set *argocd.ApplicationSet, before []byte) (after []byte, tell func(), err error)
}

// Objects write and remove parts. ConfigMaps are these.
type Objects interface {
	Write(ctx context.Context, o Object) (version string, err error)
	RemovePart(ctx context.Context, name string) error
}

// Writer writes what has changed into the ledger, on the one replica that leads.
type Writer struct {
	ledger  *Ledger
	objects Objects
	known   Known
	// chronicler is nil if nobody writes a log.
	chronicler Chronicler
	count      func(result string)
	seed       maphash.Seed
	wake       chan struct{}

	mu      sync.Mutex
	changed map[types.NamespacedName]bool
}

// NewWriter returns a Writer. count is told the result of each write: written, conflict or failed.
func NewWriter(l *Ledger, objects Objects, known Known, count func(result string)) *Writer {
	return &Writer{
		ledger: l, objects: objects, known: known, count: count, seed: maphash.MakeSeed(),
		wake: make(chan struct{}, 1), changed: map[types.NamespacedName]bool{},
	}
}

// ChronicleWith has the Writer write a log of rollouts, too.
func (w *Writer) ChronicleWith(c Chronicler) { w.chronicler = c }

// Changed says that something of an ApplicationSet has changed. It does not block.
func (w *Writer) Changed(set types.NamespacedName) {
	w.mu.Lock()
	w.changed[set] = true
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Run writes until ctx is done, and then once more what is left. All ApplicationSets may have changed before.
func (w *Writer) Run(ctx context.Context, clock clock.Clock) {
	for _, set := range w.known.Sets() {
		w.Changed(types.NamespacedName{Namespace: set.Namespace, Name: set.Name})
	}
	for waits(ctx, w.wake) && waits(ctx, clock.After(Settle)) {
		w.Write(ctx)
		if !waits(ctx, clock.After(Every-Settle)) {
			break
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTime)
	defer cancel()
	w.Write(last)
}

// waits returns once there is something, or ctx is done: then it is false.
func waits[T any](ctx context.Context, something <-chan T) bool {
	select {
	case <-something:
		return true
	case <-ctx.Done():
		return false
	}
}

// Write writes the ApplicationSets that have changed. One that fails is tried again with the next ones.
func (w *Writer) Write(ctx context.Context) {
	w.mu.Lock()
	changed := w.changed
	w.changed = map[types.NamespacedName]bool{}
	w.mu.Unlock()
	for name := range changed {
		if err := w.write(ctx, name); err != nil {
			logr.FromContextOrDiscard(ctx).Error(err, "the ledger was not written", "applicationset", name.String())
			w.Changed(name)
		}
	}
}

func (w *Writer) write(ctx context.Context, name types.NamespacedName) error {
	found, _ := w.known.Set(name)
	if found == nil {
		return nil
	}
	set := Set{UID: types.UID(found.UID), Namespace: found.Namespace, Name: found.Name}
	members := w.known.Kept(cluster.OwnerOf(&found.ApplicationSet))
	if len(members) == 0 {
		return nil
	}
	parts := split(members)
	for i, members := range parts {
		log, tell, err := w.log(found, set.id(i))
		if err != nil {
			return err
		}
		if err := w.part(ctx, set, i, members, log); err != nil {
			return err
		}
		tell()
	}
	for _, id := range w.ledger.beyond(set.UID, len(parts)) {
		if err := w.objects.RemovePart(ctx, id.Name()); err != nil {
			return err
		}
		w.ledger.forget(id)
	}
	return nil
}

// log is the log of rollouts that a part has: the first one, as it is now.
func (w *Writer) log(set *argocd.ApplicationSet, id ID) (log []byte, tell func(), err error) {
	log = w.ledger.part(id).rollouts
	if w.chronicler == nil || id.Part > 0 {
		return log, func() {}, nil
	}
	return w.chronicler.Next(set, log)
}

// part writes a part, unless what is stored says the same or is of another version: a newer stepgate may still need that.
func (w *Writer) part(ctx context.Context, set Set, number int, members []cluster.Kept, log []byte) error {
	id := set.id(number)
	last, sum := w.ledger.part(id), material(w.seed, members)
	same := last.material == sum && bytes.Equal(last.rollouts, log)
	if last.version != "" && same || errors.Is(last.problem, ErrVersion) {
		return nil
	}
	completions, err := Encode(set, number, members)
	if err != nil {
		return err
	}
	o := Object{
		ID: id, Of: set.Namespace + "/" + set.Name, Version: last.version, Completions: completions, Rollouts: log,
	}
	version, err := w.objects.Write(ctx, o)
	switch {
	case errors.Is(err, ErrConflict):
		w.count("conflict")
		return err
	case err != nil:
		w.count("failed")
		return err
	}
	w.count("written")
	w.ledger.written(id, part{
		version: version, size: len(completions) + len(o.Rollouts), material: sum, rollouts: log,
	})
	return nil
}
