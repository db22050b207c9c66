// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/metadata"
	"k8s.io/utils/clock"
)

// BarrierAnnotation is what a Barrier writes, with another value each time.
const BarrierAnnotation = "stepgate.io/barrier"

const (
	barrierManager = "stepgate-barrier"
	// barrierTimeout bounds a barrier; no decision waits for so long. One that takes longer has failed.
	barrierTimeout = 10 * time.Second
	// barrierRest is for how long a barrier that has failed is not tried again.
	barrierRest = 10 * time.Second
	// watchSilence is how long the watch may give nothing while it owes a write. An API server that is slow gives others.
	watchSilence = time.Second
)

// Watch tells how far a watch of Applications has come. Cache is one.
type Watch interface {
	// Newest is the resourceVersion up to which everything is known; empty if that cannot be told.
	Newest() string
	// Reached waits until everything up to a resourceVersion is known. It is an error if that cannot be told, if the watch
	// gives nothing for watchSilence, or when ctx is done.
	Reached(ctx context.Context, resourceVersion string) error
	// Lending returns the ApplicationSets of a namespace whose Applications may be members of the order of a parent: those
	// of which that is known, and those that control a known Application and are not known themselves, which another watch
	// has to give.
	Lending(namespace string, order types.UID) []types.NamespacedName
}

// Barrier proves that the watch has seen everything that was written before a moment, whatever the number of
// Applications: it writes one small Application, and waits until the watch gives it that write.
//
// The resourceVersions of a resource are in the order of its writes, and a watch gives the events in that order,
// whichever API server it is connected to. Everything that was written before has therefore arrived before. The
// informer keeps the order, and tells the resourceVersion up to which its store is complete.
//
// A Barrier only ever says that it has proven this, or why not. Who asks has to read live then. That costs the API server
// more than the barrier, and one that is slow has enough to do. So a barrier that is only slow is waited for.
type Barrier struct {
	objects metadata.ResourceInterface
	name    string
	watch   Watch
	observe Observer
	writes  *batches[struct{}]

	mu sync.Mutex
	// rest is when a barrier that has failed is tried again.
	rest time.Time
	// owed is what a watch has not given that went silent; empty if the barrier failed otherwise.
	owed  string
	clock clock.PassiveClock
}

// NewBarrier returns a Barrier that writes the Application of a name, which has to exist.
func NewBarrier(objects metadata.Interface, name types.NamespacedName, watch Watch, observe Observer) *Barrier {
	return &Barrier{
		objects: objects.Resource(argo.SchemeGroupVersion.WithResource("applications")).Namespace(name.Namespace),
		name:    name.Name,
		watch:   watch, observe: observe, writes: newBatches[struct{}](), clock: clock.RealClock{},
	}
}

var (
	errResting = errors.New("the write barrier has failed a moment ago")
	errSilent  = errors.New("the watch is silent")
)

// Pass returns nil if the watch has seen everything that was written before Pass was called. Callers share a write that
// started after all of them had called.
func (b *Barrier) Pass(ctx context.Context) error {
	if b.resting() {
		return errResting
	}
	_, err := b.writes.do(ctx, "", "", b.run)
	return err
}

// run lets one barrier pass. It goes on when nobody waits for it any more: whether it fails has to be known.
func (b *Barrier) run(ctx context.Context) (struct{}, error) {
	if b.resting() {
		return struct{}{}, errResting
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), barrierTimeout)
	defer cancel()
	start := time.Now()
	written, err := b.pass(ctx)
	b.observe.ReadDone("application_barrier", time.Since(start), err)
	if err != nil {
		b.failed(ctx, written, err)
	}
	return struct{}{}, err
}

// pass writes, and waits for the watch. It returns the resourceVersion of the write, if that was made. The version before
// the write shows that the write is newer. After an etcd was restored from a backup, it is not, and the watch has seen a
// version that means nothing any more.
func (b *Barrier) pass(ctx context.Context) (written string, err error) {
	before := b.watch.Newest()
	written, err = b.write(ctx)
	if err != nil {
		return "", fmt.Errorf("write barrier: %w", err)
	}
	switch order, err := resourceversion.CompareResourceVersion(before, written); {
	case err != nil:
		return "", fmt.Errorf("write barrier: how far the watch has come is not known: %w", err)
	case order >= 0:
		return "", fmt.Errorf("write barrier: resourceVersion %s was written after %s", written, before)
	}
	if err := b.watch.Reached(ctx, written); err != nil {
		return written, fmt.Errorf("write barrier: the watch does not give the write: %w", err)
	}
	return written, nil
}

// write returns the resourceVersion of a write that was made now. An unchanged object would have the one of an older
// write: the annotation in the answer shows that this one has changed it.
func (b *Barrier) write(ctx context.Context) (string, error) {
	value := string(uuid.NewUUID())
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, BarrierAnnotation, value)
	stored, err := b.objects.Patch(ctx, b.name, types.MergePatchType, []byte(patch),
		metav1.PatchOptions{FieldManager: barrierManager})
	switch {
	case err != nil:
		return "", err
	case stored.Name != b.name || stored.Annotations[BarrierAnnotation] != value:
		return "", errors.New("the API server's answer is not what was written")
	}
	return stored.ResourceVersion, nil
}

// resting reports whether a barrier has failed a moment ago. After a silence, the rest ends when the watch gives what it owes.
func (b *Barrier) resting() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.owed != "" {
		if order, err := resourceversion.CompareResourceVersion(b.watch.Newest(), b.owed); err == nil && order >= 0 {
			return false
		}
	}
	return b.clock.Now().Before(b.rest)
}

// failed makes the Barrier rest.
func (b *Barrier) failed(ctx context.Context, written string, err error) {
	b.mu.Lock()
	b.rest, b.owed = b.clock.Now().Add(barrierRest), ""
	if errors.Is(err, errSilent) {
		b.owed = written
	}
	b.mu.Unlock()
	logr.FromContextOrDiscard(ctx).Info(
		"the write barrier has failed: stepgate lists the Applications instead, and tries it again later", "after",
		barrierRest.String(), "problem", err.Error(),
	)
}
