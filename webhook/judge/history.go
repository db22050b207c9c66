// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
)

// Histories know the past of Applications as watches have seen it. cluster.Cache is one.
type Histories interface {
	// Position is the position of the newest event.
	Position() uint64
	// Known reports whether an Application was seen.
	Known(app types.UID) bool
	// RequestedSince reports whether a refresh of an Application was seen to be requested after a position.
	RequestedSince(app types.UID, position uint64) bool
	// Changed is the position at which the change was first seen that is pending on an Application, compared with these
	// sources and revisions; the newest position if that was not seen.
	Changed(app types.UID, compared []policy.Source, fingerprint argocd.Fingerprint) uint64
	// Found is what an Application was found Synced with since its last operation, which started at a time; the zero
	// Content if that was not seen.
	Found(app types.UID, operatedAt time.Time) argocd.Content
	// ContentSince is since when an Application has had a spec of this content, now if that was not seen; whether somebody
	// else than the ApplicationSet controller has written that; and whether that has ended the pass, and the last one in
	// which it gave a sibling another spec.
	ContentSince(app types.UID, content argocd.Content) (since time.Time, byAnother, ended bool)
	// ComparedAt is the position at which the last comparison of an Application was seen, which was at a time; the
	// newest position if that was not seen.
	ComparedAt(app types.UID, reconciledAt time.Time) uint64
	// Past is what was seen of one Application, by its comparisons since the position of a change and that of a comparison.
	Past(app types.UID, changed, compared uint64) policy.Past
	// History is what was seen of the Applications of an ApplicationSet, by their comparisons since the position of a
	// change and that of a comparison.
	History(set *policy.ApplicationSet, changed, compared uint64) policy.History
}

const (
	// maxOverrides bounds the operations that named other revisions than the compared ones, and overrideTTL how long they
	// are remembered.
	maxOverrides = 2000
	overrideTTL  = 30 * time.Minute
)

// History is what the watches have seen of the siblings and the target. The target's spec is the one of the write: the
// watch may lag.
func (j *Judge) History(w *Write, set *policy.ApplicationSet) policy.History {
	history := j.Histories.History(set, j.changed(w), j.Histories.ComparedAt(w.UID, w.Target.ReconciledAt))
	deployed, deploys, spec, operatedAt := argocd.Deployed(w.App, w.Old)
	history.ContentSince, history.ByAnother, history.PassEnded = j.Histories.ContentSince(w.UID, spec)
	history.PassEnded = history.PassEnded && !set.Parent() // it was that of one ApplicationSet of several
	return deployedBefore(history, deploys, deployed, j.Histories.Found(w.UID, operatedAt))
}

// deployedBefore completes what is known of a target: what it is about to deploy, what its last full sync has deployed,
// and what it was found Synced with since.
func deployedBefore(history policy.History, deploys, deployed, found argocd.Content) policy.History {
	history.Altered, history.Unproven = deploys.Altered(deployed, found)
	history.Deployed = deploys.Revised != "" && (deploys.Revised == deployed.Revised || deploys.Revised == found.Revised)
	return history
}

// changed is the position at which the change that the operation deploys was first seen. Where the operation deploys
// something else than the target was compared with, that is when it first came here.
func (j *Judge) changed(w *Write) uint64 {
	compared := w.Target.Compared
	if w.Old != nil && w.Target.SpecCompared && !slices.ContainsFunc(w.Target.Wanted, func(s policy.Source) bool {
		return !slices.Contains(compared, s)
	}) {
		return j.Histories.Changed(w.UID, compared, argocd.NewFingerprint(&w.Old.Status.Sync))
	}
	wish := fmt.Sprintf("%s/%s %s %v", w.Namespace, w.Target.Name, w.UID, w.Target.Wanted)
	if first, known := j.overrides.Get(wish); known {
		position, _ := first.(uint64)
		return position
	}
	position := j.Histories.Position()
	if !w.DryRun && j.Histories.Known(w.UID) {
		j.overrides.Add(wish, position, overrideTTL)
	}
	return position
}
