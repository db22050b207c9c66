// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Refreshes is a release.Refresher that remembers.
type Refreshes struct {
	mu    sync.Mutex
	asked []string
}

// Ask is release.Refresher.
func (r *Refreshes) Ask(app types.NamespacedName, why string, comparedAt time.Time, wait time.Duration) {
	text := strings.TrimSpace(app.String()+" "+why) + " at " + comparedAt.UTC().Format(time.TimeOnly)
	if wait > 0 {
		text += " after " + wait.String()
	}
	r.add(text)
}

// AskAgain is release.Refresher.
func (r *Refreshes) AskAgain(app types.NamespacedName, _ time.Time) { r.add(app.String() + " again") }

func (r *Refreshes) add(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, text)
}

// Take takes what was asked for since the last call, in its order.
func (r *Refreshes) Take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.asked
	r.asked = nil
	return all
}
