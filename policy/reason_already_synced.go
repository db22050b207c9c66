// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"slices"
	"strings"
)

// AlreadySynced means that the operation repeats a sync. The rule has nothing against that: the Mutator holds it.
const AlreadySynced Reason = "AlreadySynced"

var alreadySynced = row{
	reason: AlreadySynced,
	means: "The ApplicationSet controller asks for a sync that the Application has already had in its turn. It " +
		"decides from a cache that is a moment old, and stepgate holds it. Or somebody has terminated that " +
		"sync.",
	do: "nothing; the controller goes on without another sync. To start a terminated one again: `argocd app " +
		"sync APP`.",
	when: "the ApplicationSet controller repeats a sync that ran in its turn, or was terminated (`--hold`)",
	words: func(d Decision) (text, next string) {
		if d.Detail != "" {
			return d.of() + " may not sync again: " + d.Application + ": " + d.Detail,
				strings.ReplaceAll(d.Next, "APP", d.Application)
		}
		return d.of() + " may not sync again: the Application has been synced in its turn", ""
	},
}

// Again is the decision about an operation that repeats a sync: it is denied. stopped is Target.Stopped.
func (d Decision) Again(stopped bool) Decision {
	d.Outcome, d.Reason = Deny, AlreadySynced
	if stopped {
		d.Detail = "somebody has terminated its sync"
		d.Next = "start it: argocd app sync APP; another commit starts by itself"
	}
	return d
}

// Repeated reports whether the ApplicationSet controller asks again for a sync that has already run. It decides from a
// cache that is a moment old, and does so several times in each rollout. It does not need another sync to go on: it
// takes an Application from Pending to Progressing when an operation has started since the Application became Pending,
// and makes it Pending before it asks for the next one (argo-cd v3.5.7,
// applicationset/progressivesync/progressive_sync.go).
//
// A sync of something else than what is compared now is none that it asks for again: a user may have deployed another
// revision. Nor is one after which the Application was found OutOfSync again: up to argo-cd v3.2 the controller mends
// drift.
//
// A sync that somebody has terminated is repeated as well, whatever the controller records: it stays stopped.
func Repeated(in Input) bool {
	if in.Target.Stopped && in.Target.Operation.Automated {
		return true
	}
	t, recorded := &in.Target, in.ApplicationSet.Recorded[in.Target.Name]
	inTurn := recorded.Started || !recorded.TransitionedAt.IsZero() && t.SyncStartedAt.After(recorded.TransitionedAt)
	return t.Operation.Automated && !t.SyncStartedAt.IsZero() && inTurn && !in.ranOther()
}

// ranOther reports whether the target has run something else than the operation and the comparison are of, or was found
// OutOfSync after that. Without a history nothing tells.
func (in *Input) ranOther() bool {
	t := &in.Target
	return t.OutOfSyncSince || len(t.Ran) > 0 && (in.changed() || slices.ContainsFunc(t.Compared, func(s Source) bool {
		running, known := t.running(s.Key)
		return known && running != s
	}))
}
