// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/clock"

	"github.com/stepgate/stepgate/cmd/serve"
	"github.com/stepgate/stepgate/webhook/cluster"
	"github.com/stepgate/stepgate/webhook/ledger"
	"github.com/stepgate/stepgate/webhook/rollouts"
	"github.com/stepgate/stepgate/webhook/slots"
)

// readLedger is how long a replica waits at its start until it has read the ledger. After that it goes on without.
const readLedger = 5 * time.Second

// keeping is what --ledger runs.
type keeping struct {
	ledger  *ledger.Ledger
	watch   cache.Controller
	writer  *ledger.Writer
	lock    resourcelock.Interface
	sweeper *slots.Sweeper
	known   *cluster.Cache
	// leads says that this replica writes.
	leads atomic.Bool
}

// keep makes what keeps the ledger.
func (b *builder) keep(sets slots.Sets) (err error) {
	maps := b.cluster.Clientset.CoreV1().ConfigMaps(b.options.Installation.Namespace())
	objects := ledger.ConfigMaps{Client: maps}
	k := &keeping{known: b.known, sweeper: &slots.Sweeper{Kept: objects, Sets: sets}}
	k.ledger = ledger.New(clock.RealClock{}, b.known.Follow)
	metrics := ledger.NewMetrics(k.ledger, b.registry)
	k.watch = ledger.NewWatch(maps, k.ledger)
	k.writer = ledger.NewWriter(k.ledger, objects, b.known, metrics.Written)
	k.writer.ChronicleWith(rollouts.NewChronicler(b.judge, b.known, rollouts.NewMetrics(b.registry)))
	b.known.Resume(k.ledger.Of)
	k.lock, err = serve.NewLock(b.cluster.Clientset, "--ledger", b.options.Installation.Ledger(), b.hostname)
	b.keeping = k
	return err
}

// read watches the ledger, and returns once it was read, or after a while.
func (k *keeping) read(ctx context.Context) {
	go k.watch.RunWithContext(ctx)
	soon, cancel := context.WithTimeout(ctx, readLedger)
	defer cancel()
	if !cache.WaitForCacheSync(soon.Done(), k.watch.HasSynced) && ctx.Err() == nil {
		logr.FromContextOrDiscard(ctx).Info("the ledger cannot be read: what was completed before is not known")
	}
}

// run writes while this replica holds the Lease, until ctx is done, and then what is left.
func (k *keeping) run(ctx context.Context) {
	if !cache.WaitForCacheSync(ctx.Done(), k.known.Synced, k.watch.HasSynced) {
		return
	}
	k.ledger.Listed()
	go k.sweeper.Run(ctx)
	var writing sync.WaitGroup
	serve.Lead(ctx, k.lock, "ledger", func(ctx context.Context) {
		writing.Add(1)
		defer writing.Done()
		k.leads.Store(true)
		k.writer.Run(ctx, clock.RealClock{})
	}, func() { k.leads.Store(false) })
	writing.Wait()
}

// changed is told the ApplicationSet of every event.
func (k *keeping) changed(set types.NamespacedName) {
	if k != nil {
		k.writer.Changed(set)
	}
}
