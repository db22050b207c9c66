// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/webhook/slots"
)

// The values of Scenario.MaxUpdate.
const (
	keepMaxUpdate  = "keep"
	countMaxUpdate = "count"
)

// objects are slots.Objects of the world's API server.
type objects struct {
	version int
	stored  map[types.UID]slots.Stored
}

// Read is slots.Objects.
func (o *objects) Read(_ context.Context, of types.UID) (slots.Stored, error) {
	return o.stored[of], nil
}

// Write is slots.Objects.
func (o *objects) Write(_ context.Context, of types.UID, s slots.Stored) error {
	if s.Version != o.stored[of].Version {
		return slots.ErrConflict
	}
	o.version++
	o.stored[of] = slots.Stored{Text: s.Text, Version: strconv.Itoa(o.version)}
	return nil
}

// countSlots looks whether more Applications of a step are being synced, with one that is about to be stored, than its
// maxUpdate says, within its track by the generator. It counts the operations that there are, and knows nothing of slots. A maxUpdate of 0 limits nobody
// who syncs by hand, a second operation of an Application is not one more, and a bypass stops nothing.
func (w *world) countSlots(m *member, v Verdict) {
	most, taken, _ := w.slotsAmong(m, func(other *member) bool { return !w.apart(other, m) })
	app := w.api.apps[m.name]
	again := app != nil && app.Operation != nil
	if w.scenario.MaxUpdate == "" || most == 0 || taken < most || again || w.bypassed() {
		return
	}
	e := Early{
		At: w.now, Target: m.name, Condition: true, Kind: "over", Reason: string(v.Reason),
		Missing: fmt.Sprintf("%d of %d Applications of the step are being synced", taken, most),
	}
	w.early = append(w.early, e)
	w.logf("%s", e)
}
