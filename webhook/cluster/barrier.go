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
	// barrierTimeout bounds a write and its way back through the watch. A LIST then proves what the barrier did not. Of a
	// large namespace, that takes as long, and an API server that is busy would have more to do.
	barrierTimeout = time.Second
	// barrierRest is for how long a barrier that has failed is not tried again: each failure costs a decision
	// barrierTimeout.
	barrierRest = 10 * time.Second
)

// Watch tell how far a watch of Applications has come. Cache is one.
type Watch interface {
	// Newest is the resourceVersion up to which everything is known; empty if that cannot be told.
	Newest() string
	// Reached waits until everything up to a resourceVersion is known. It is an error if that cannot be told, or
	// when ctx is done.
	Reached(ctx context.Context, resourceVersion string) error
}

// Barrier proves that the watch has seen everything that was written before a moment, whatever the number of
// Applications: it writes one small Application, and waits until the watch gives it that write.
//
// The resourceVersions of a resource are in the order of its writes, and a watch gives the events in that order,
// whichever API server it is connected to. Everything that was written before has therefore arrived before. The
// informer keeps the order, and tells the resourceVersion up to which its store is complete.
//
// A Barrier only ever says that it has proven this, or why not. Who asks has to read live then.
type Barrier struct {
	objects metadata.ResourceInterface
	name    string
	watch   Watch
	observe Observer
	writes  *batches[struct{}]

	mu sync.Mutex
	// rest is when a barrier that has failed is tried again.
	rest  time.Time
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

var errResting = errors.New("the write barrier has failed a moment ago")

// Pass returns nil if the watch has seen everything that was written before Pass was called. Callers share a write that
// started after all of them had called.
func (b *Barrier) Pass(ctx context.Context) error {
	if b.resting() {
		return errResting
	}
	_, err := b.writes.do(ctx, "", "", func(ctx context.Context) (struct{}, error) {
		if b.resting() {
			return struct{}{}, errResting
		}
		ctx, cancel := context.WithTimeout(ctx, barrierTimeout)
		defer cancel()
		start := time.Now()
		err := b.pass(ctx)
		b.observe.ReadDone("application_barrier", time.Since(start), err)
		if err != nil {
			b.failed(ctx, err)
		}
		return struct{}{}, err
	})
	return err
}

// pass writes, and waits for the watch. The version before the write shows that the write is newer. After an etcd was
// restored from a backup, it is not, and the watch has seen a version that means nothing any more.
func (b *Barrier) pass(ctx context.Context) error {
	before := b.watch.Newest()
	written, err := b.write(ctx)
	if err != nil {
		return fmt.Errorf("write barrier: %w", err)
	}
	switch order, err := resourceversion.CompareResourceVersion(before, written); {
	case err != nil:
		return fmt.Errorf("write barrier: how far the watch has come is not known: %w", err)
	case order >= 0:
		return fmt.Errorf("write barrier: resourceVersion %s was written after %s", written, before)
	}
	if err := b.watch.Reached(ctx, written); err != nil {
		return fmt.Errorf("write barrier: the watch does not give the write: %w", err)
	}
	return nil
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

func (b *Barrier) resting() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.clock.Now().Before(b.rest)
}

// failed makes the Barrier rest, unless nobody waits for it any more.
func (b *Barrier) failed(ctx context.Context, err error) {
	if errors.Is(context.Cause(ctx), context.Canceled) {
		return
	}
	b.mu.Lock()
	b.rest = b.clock.Now().Add(barrierRest)
	b.mu.Unlock()
	logr.FromContextOrDiscard(ctx).Info(
		"the write barrier has failed: stepgate lists the Applications instead, and tries it again later", "after",
		barrierRest.String(), "problem", err.Error(),
	)
}
