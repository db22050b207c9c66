package simulation

import (
	"context"
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/webhook/places"
)

// The values of Scenario.MaxUpdate.
const (
	keepMaxUpdate  = "keep"
	countMaxUpdate = "count"
)

// objects are places.Objects of the world's API server.
type objects struct {
	version int
	stored  map[types.UID]places.Stored
}

// Read is places.Objects.
func (o *objects) Read(_ context.Context, of types.UID) (places.Stored, error) {
	return o.stored[of], nil
}

// Write is places.Objects.
func (o *objects) Write(_ context.Context, of types.UID, s places.Stored) error {
	if s.Version != o.stored[of].Version {
		return places.ErrConflict
	}
	o.version++
	o.stored[of] = places.Stored{Text: s.Text, Version: strconv.Itoa(o.version)}
	return nil
}

// countPlaces looks whether more Applications of a step are being synced, with one that is about to be stored, than its
// maxUpdate says, within its track by the generator. It counts the operations that there are, and knows nothing of places. A maxUpdate of 0 limits nobody
// who syncs by hand, a second operation of an Application is not one more, and a bypass stops nothing.
func (w *world) countPlaces(m *member, v Verdict) {
	most, taken, _ := w.placesAmong(m, func(other *member) bool { return !w.apart(other, m) })
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
