// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// arrivals wakes those who wait for an event.
type arrivals struct {
	mu   sync.Mutex
	next chan struct{}
}

// wait returns a channel that the next event closes.
func (a *arrivals) wait() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.next == nil {
		a.next = make(chan struct{})
	}
	return a.next
}

// arrived wakes them. The informer's store has the event already.
func (a *arrivals) arrived() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.next != nil {
		close(a.next)
		a.next = nil
	}
}

// Newest is the resourceVersion up to which all Applications are known; empty before the first list is complete, and
// where several watches give them: the order of their events is not known. The informer tells it only with client-go's
// feature AtomicFIFO, which is the default.
func (c *Cache) Newest() string {
	if len(c.stores) != 1 {
		return ""
	}
	return c.stores[0].applications.LastStoreSyncResourceVersion()
}

// Reached waits until all Applications are known up to a resourceVersion, as long as the watch gives any.
func (c *Cache) Reached(ctx context.Context, version string) error {
	for {
		next := c.arrivals.wait() // before the look at the store: an event after it closes next
		newest := c.Newest()
		if newest == "" {
			return errors.New("the watch does not tell how far it has come")
		}
		order, err := resourceversion.CompareResourceVersion(newest, version)
		if err != nil || order >= 0 {
			return err
		}
		select {
		case <-next:
		case <-time.After(watchSilence):
			return errSilent
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
