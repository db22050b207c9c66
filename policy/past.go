// SPDX-License-Identifier: Apache-2.0

package policy

import "time"

// History is the part of a decision's input that comes from the events of the watches and not from objects as they are
// now. An event that was seen stays true, however old the watches are. What they have missed makes a decision stricter.
type History struct {
	// Deployed says that the operation deploys just what the target's last full sync has, or what it was found Synced
	// with since.
	Deployed bool
	// Altered says that the target's destination, or another part of its spec beside the sources that changes what a
	// sync does, has changed since it was last synced. Unproven says that nothing tells.
	Altered, Unproven bool
	// ContentSince is since when the target has had its spec; zero if nothing was seen of it.
	ContentSince time.Time
	// ByAnother says that somebody else than the ApplicationSet controller has written that: others do not change with it.
	ByAnother bool
	// PassEnded says that the ApplicationSet controller has ended the pass in which it wrote that spec, and the last one in
	// which it gave a sibling another spec: all others have theirs.
	PassEnded bool
	// AroundSince is when more than the sources of one was last seen to change in such a pass; zero if that was not seen.
	// No comparison shows that it was made with the new one: Argo CD keeps no more than the sources and the destination.
	AroundSince time.Time
	// Joined is when an Application of the ApplicationSet was last seen to appear or to come to another step, or its
	// steps to change, and Respecified when the spec of one was last seen to change; zero if that was not seen.
	Joined, Respecified time.Time
	// Of returns what was seen of a sibling, by its name; nil if nothing was seen of any. It answers as of one
	// moment, before the siblings were read.
	Of func(name string) Past
}

// Past is what was seen of a sibling. Its zero value is nothing.
type Past struct {
	// Step is the latest step, 1-based, that it was seen in less than SettlingTime ago; 0 if it was seen in none. One that
	// has just appeared was in the one that the ApplicationSet's status records.
	Step int
	// Relabelled says that its labels were seen to change less than SettlingTime ago.
	Relabelled bool
	// Freshness says how new its last comparison is.
	Freshness Freshness
	// Completions are what it has completed, oldest first, as far as that was seen.
	Completions []Completion
	// Applied is the start of the last operation that was seen to apply everything. A later attempt of the same
	// operation may show less.
	Applied time.Time
	// OperatedAt is when the last operation that was seen had started, and Idle says that it had ended, or that there was
	// none; zero and false if nothing was seen.
	OperatedAt time.Time
	Idle       bool
	// Altered and Unproven mean the same as for the target.
	Altered, Unproven bool
	// Respecified says that what an agent reports may be of the spec before the present one.
	Respecified bool
	// Runs is the newest entry of its history, and RunsFrom the position at which that was first seen.
	Runs     Source
	RunsFrom uint64
	// Broken is when it was last seen Degraded, Missing or failed, or to come back from that; zero if it was not.
	Broken time.Time
}

// Past is what was seen of a sibling, by its name.
func (s *History) Past(name string) Past {
	if s.Of == nil {
		return Past{}
	}
	return s.Of(name)
}

// Freshness is how new a comparison of a sibling is, as far as the watches have seen a request for it, and the answer:
// with uncached revisions, it is newer than what the request has followed.
type Freshness int

const (
	// Unknown is a comparison that may be older than the change that the target deploys.
	Unknown Freshness = iota
	// Fresh is one that was requested after that change was seen.
	Fresh
	// Newest is one that was also requested after the target's own last comparison was seen.
	Newest
)

// Completion is something that an Application has completed: a full sync that succeeded, with all hooks, deployed it,
// or the Application was found Synced with it without a sync, and in both cases it was then found Healthy. Something at
// which it was last seen not to be Healthy, it has not completed.
type Completion struct {
	// Sources are all its sources at their revisions. They have the parameters that the Application was compared with
	// last.
	Sources []Source
	// OperatedAt is when its last operation had started.
	OperatedAt time.Time
	// Since is since when it was deployed and Healthy: the later one of the two; zero when neither is known.
	Since time.Time
	// Seen is when it was last seen so: deployed and Healthy, without an operation, and compared with its spec.
	Seen time.Time
	// From is the position at which the Application was first seen to be compared with it; zero if that is not known, as for
	// an older revision than the compared one.
	From uint64
	// By is who has started the sync, if that was a person; else empty.
	By string
	// Altered says that it was completed without what is around the sources now, such as the destination, or that this
	// is not known.
	Altered bool
	// Doubted says that it may have been unhealthy with it while nobody watched. It has not completed it, for all that is
	// known, but this still tells the order of what it has completed.
	Doubted bool
}
