// SPDX-License-Identifier: Apache-2.0

package slots

import (
	"context"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

const (
	// recently is how long what was read counts: any number of people may look.
	recently = 2 * time.Second
	// listTimeout bounds a read.
	listTimeout = 5 * time.Second
)

// Recent reads all objects at once, and not again for a moment, also where that has failed. It is for somebody who looks
// at rollouts, not for decisions.
type Recent struct {
	maps  ConfigMaps
	clock clock.PassiveClock

	mu    sync.Mutex
	at    time.Time
	texts map[types.UID]string
	err   error
}

var _ Texts = (*Recent)(nil)

// NewRecent returns a Recent that has read nothing yet.
func NewRecent(maps ConfigMaps, clock clock.PassiveClock) *Recent {
	return &Recent{maps: maps, clock: clock}
}

// Text implements Texts.
func (r *Recent) Text(set types.UID) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := r.clock.Now(); r.at.IsZero() || now.Sub(r.at).Abs() >= recently {
		ctx, cancel := context.WithTimeout(context.Background(), listTimeout)
		defer cancel()
		r.texts, r.err = r.maps.Texts(ctx)
		r.at = r.clock.Now()
	}
	return r.texts[set], r.err
}

// Texts are what all objects hold, by the UIDs of their ApplicationSets.
func (m ConfigMaps) Texts(ctx context.Context) (map[types.UID]string, error) {
	list, err := m.Client.List(ctx, metav1.ListOptions{LabelSelector: Label})
	if err != nil {
		return nil, fmt.Errorf("list the ConfigMaps of slots: %w", err)
	}
	all := map[types.UID]string{}
	for i := range list.Items {
		if uid, ours := cutPrefix(list.Items[i].Name); ours {
			all[uid] = list.Items[i].Data[key]
		}
	}
	return all, nil
}
