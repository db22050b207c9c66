// SPDX-License-Identifier: Apache-2.0

package slots

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
)

// Slot is a slot of a step that an Application has taken.
type Slot struct {
	Application string    `json:"application"`
	UID         types.UID `json:"uid"`
	Step        int       `json:"step"`
	Track       string    `json:"track,omitempty"`
	// Operation stands for the operation as it was admitted.
	Operation argocd.Fingerprint `json:"operation,string"`
	// Version is the resourceVersion of the Application when the write was judged.
	Version string `json:"version"`
	// OutOfSync says that it was OutOfSync then: once it is Synced, Argo CD has compared it since.
	OutOfSync bool `json:"outOfSync,omitempty"`
	// LastStarted is when the last operation had started that it had before it took the slot.
	LastStarted time.Time `json:"lastStarted,omitzero"`
	// At is when the write was judged last.
	At time.Time `json:"at"`
}

// repeats reports whether a slot is the one of the same write: a webhook that is called again, or a request that is
// tried again. It has to be a recent one: see confirmedWithin.
func (p *Slot) repeats(c *Claim, now time.Time) bool {
	return p.UID == c.UID && p.Step == c.Step && p.Track == c.Track && p.Operation == c.Operation &&
		p.Version == c.Version && now.Sub(p.At).Abs() < renewedAfter
}

// settled reports whether a slot is kept for an Application, which is nil if there is none, although its state seems not
// to need it. What is live confirms a slot, or frees it:
//
//   - The Application is gone, or another one of its name is there.
//   - It has changed since the write was judged. An API server stores a write only on the very object that it was
//     judged on, or has it judged again. So the operation was stored, which confirms the slot, or it never will be.
//   - It has not changed, and the time is over in which that had to be confirmed.
func (p *Slot) settled(
	app *argocd.Projection, recorded policy.Recorded, now time.Time,
) (why policy.Reason, under bool) {
	switch {
	case app == nil:
		return "", false
	case app.UID != p.UID:
		return UnderWay(&app.Application, recorded)
	case app.ResourceVersion == p.Version && now.Sub(p.At).Abs() < confirmedWithin:
		return policy.MaxUpdateReached, true
	}
	return p.needs(&app.Application, recorded)
}

// table is what the object of an ApplicationSet holds.
type table struct {
	// Set is the namespace and the name of the ApplicationSet.
	Set   string `json:"applicationSet"`
	Slots []Slot `json:"slots"`
}

func parse(text string) (t table, err error) {
	if text == "" {
		return t, nil
	}
	if err := json.Unmarshal([]byte(text), &t); err != nil {
		return t, fmt.Errorf("slots: %w", err)
	}
	return t, nil
}

func (t *table) text() (string, error) {
	text, err := json.Marshal(t)
	return string(text), err
}

// of is the slot of an Application; nil if it has none.
func (t *table) of(application string) *Slot {
	if i := slices.IndexFunc(t.Slots, func(p Slot) bool { return p.Application == application }); i >= 0 {
		return &t.Slots[i]
	}
	return nil
}

// with is the table after a claim: without the slots that are free, and with the claimed one. An Application that
// still needs the slot that it has needs it until the operation of that one is over, too.
func (t *table) with(c *Claim, l *lives, now time.Time) table {
	next := table{Set: c.Set.Namespace + "/" + c.Set.Name}
	claimed := Slot{
		Application: c.Application, UID: c.UID, Step: c.Step, Track: c.Track, Operation: c.Operation, Version: c.Version,
		OutOfSync:   l.target.Application.SyncStatus == "OutOfSync",
		LastStarted: l.target.Application.LastOperation.StartedAt, At: now,
	}
	if own := c.slotOf(c.Application, t); own != nil && l.has[c.Application] {
		claimed.LastStarted = own.LastStarted
	}
	for _, p := range t.Slots {
		if p.Application != c.Application && !l.free[p.Application] {
			next.Slots = append(next.Slots, p)
		}
	}
	next.Slots = append(next.Slots, claimed)
	slices.SortFunc(next.Slots, func(a, b Slot) int { return strings.Compare(a.Application, b.Application) })
	return next
}

// Claim is a write that wants a slot: the rule allows it.
type Claim struct {
	// Set is the ApplicationSet as it was read live.
	Set *argocd.ApplicationSet
	// Application, UID and Version are those of the object before the write, as the request has it. Version is empty
	// where the write creates it.
	Application string
	UID         types.UID
	Version     string
	Step        int
	// Tracks is the key of the label that tells the tracks of the ApplicationSet apart, and Track its value on the
	// Application; empty where there is none. Slots are counted within a track, with those that are in every track.
	Tracks, Track string
	// Moved says that it was in another track a moment ago: it is in every track, and its own may be as small as can be.
	Moved     bool
	Operation argocd.Fingerprint
	// ByHand says that no controller asks for the sync.
	ByHand bool
}

// Within is the claim in the track of an Application: by its labels, by those that it has before the write, unless that
// creates it or writes none, and by what was seen of it. To change the label is no way to another track's slots.
func (c Claim) Within(s *policy.Settings, before, labels map[string]string, seen policy.Past) Claim {
	c.Tracks, c.Track = s.Track, s.TrackOf(labels)
	if s.Track != "" && (seen.Relabelled || before != nil && before[s.Track] != labels[s.Track]) {
		c.Track, c.Moved = "", true
	}
	return c
}

// isOf reports whether an Application is the one that a claim is about, at the version that the write was judged on.
func (c *Claim) isOf(app *argocd.Projection) bool {
	return app != nil && app.UID == c.UID && app.ResourceVersion == c.Version
}

// counts reports whether a slot is one of those among which one is claimed.
func (c *Claim) counts(p *Slot) bool { return p.Step == c.Step && c.shares(p.Track) }

// shares reports whether an Application of a track counts among those of the claim's.
func (c *Claim) shares(track string) bool { return c.Track == "" || track == "" || track == c.Track }

// slotOf is the slot of an Application among those; nil if it has none.
func (c *Claim) slotOf(application string, t *table) *Slot {
	if p := t.of(application); p != nil && c.counts(p) {
		return p
	}
	return nil
}

// Limited reports whether a step has a maxUpdate.
func Limited(set *argocd.ApplicationSet, step int) bool {
	_, limited := set.AtOnce(step, 0)
	return limited
}

// neverByItself reports whether a step has a maxUpdate of none: Argo CD then leaves its syncs to people, and counts
// nothing.
func neverByItself(set *argocd.ApplicationSet, step int) bool {
	most, limited := set.AtOnce(step, 1)
	return limited && most == 0
}

// inStep reports whether a sibling counts as one of the claim's step, and of its track: by its labels, or by what the
// ApplicationSet records.
func (c *Claim) inStep(s *policy.Sibling) bool {
	return !s.Orphan() && (s.Step == c.Step || s.RecordedStep == c.Step+1) &&
		(c.Track == "" || c.shares(s.Labels[c.Tracks]))
}

// state is why a sibling takes a slot of the claimed step by its state.
func (c *Claim) state(sibling *policy.Sibling, t *table) (why policy.Reason, under bool) {
	recorded := c.Set.Recorded[sibling.Name]
	if own := c.slotOf(sibling.Name, t); own != nil {
		return own.needs(sibling.Application, recorded)
	}
	if !c.inStep(sibling) {
		return "", false
	}
	return UnderWay(sibling.Application, recorded)
}
