package judge

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
)

// Watch knows the past of Applications as watches have seen it. siblings.Cache is one.
type Watch interface {
	// Position is the position of the newest event.
	Position() uint64
	// Observed reports whether an Application was seen.
	Observed(app types.UID) bool
	// RequestedSince reports whether a refresh of an Application was seen to be requested after a position.
	RequestedSince(app types.UID, position uint64) bool
	// Changed is the position at which the change was first seen that is pending on an Application, compared with these
	// sources and revisions; the newest position where that was not seen.
	Changed(app types.UID, compared []policy.Source, fingerprint argocd.Fingerprint) uint64
	// Deployed reports whether an Application was seen Synced with exactly what this fingerprint stands for, and no
	// operation of it since. operatedAt is when its last one started.
	Deployed(app types.UID, compared argocd.Fingerprint, operatedAt time.Time) bool
	// DeployedWith is what was around the sources of an Application when it was last seen to be deployed, or, where
	// that is not known, what was first seen to be; empty when nothing was seen.
	DeployedWith(app types.UID) (around string, known bool)
	// ContentSince is since when an Application has had a spec of this content; now where that was not seen.
	ContentSince(app types.UID, content argocd.Fingerprint) time.Time
	// ComparedAt is the position at which the last comparison of an Application was seen, which was at a time; the
	// newest position where that was not seen.
	ComparedAt(app types.UID, reconciledAt time.Time) uint64
	// Seen is what was seen of the Applications of an ApplicationSet, by their comparisons since the position of a
	// change and that of a comparison.
	Seen(set *policy.ApplicationSet, changed, compared uint64) policy.Seen
}

const (
	// wishMemory bounds the operations that named other revisions than the compared ones, and wishTTL how long they are
	// remembered.
	wishMemory = 2000
	wishTTL    = 30 * time.Minute
)

// Seen is what the watches have seen of the siblings and the target. The target's spec is the one of the write: the
// watch may lag.
func (j *Judge) Seen(w *Write, set *policy.ApplicationSet) policy.Seen {
	seen := j.Watch.Seen(set, j.changed(w), j.Watch.ComparedAt(w.UID, w.Target.ReconciledAt))
	around, content := w.App.Deploys()
	was, known := j.Watch.DeployedWith(w.UID)
	seen.Altered, seen.Unproven = was != "" && was != around, !known
	seen.ContentSince = j.Watch.ContentSince(w.UID, content)
	if compared, operatedAt, is := argocd.DeploysCompared(w.App, w.Old); is {
		seen.Deployed = j.Watch.Deployed(w.UID, compared, operatedAt)
	}
	return seen
}

// changed is the position at which the change that the operation deploys was first seen. Where the operation deploys
// something else than the target was compared with, that is when it first came here.
func (j *Judge) changed(w *Write) uint64 {
	compared := w.Target.Compared
	if w.Old != nil && w.Target.SpecCompared && !slices.ContainsFunc(w.Target.Wanted, func(s policy.Source) bool { return !slices.Contains(compared, s) }) {
		return j.Watch.Changed(w.UID, compared, argocd.NewFingerprint(&w.Old.Status.Sync))
	}
	wish := fmt.Sprintf("%s/%s %s %v", w.Namespace, w.Target.Name, w.UID, w.Target.Wanted)
	if first, known := j.wishes.Get(wish); known {
		position, _ := first.(uint64)
		return position
	}
	position := j.Watch.Position()
	if !w.DryRun && j.Watch.Observed(w.UID) {
		j.wishes.Add(wish, position, wishTTL)
	}
	return position
}
