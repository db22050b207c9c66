// SPDX-License-Identifier: Apache-2.0

package policy

import "time"

// Input is everything that a decision is made from.
type Input struct {
	Target Target
	// ApplicationSet is the target's controlling ApplicationSet, read live. Nil means that it does not exist (or no
	// longer has the UID of the ownerReference); Scope alone may be called before it was read.
	ApplicationSet *ApplicationSet
	// Siblings are the live Applications of the same ApplicationSet, each name once. The target may be among them and
	// is ignored. Evaluate only reads them, so decisions may share them.
	Siblings []Sibling
	// Now is the moment of the decision. Only conditions that end by themselves depend on it.
	Now time.Time
	// Window is the target's sync window.
	Window Window
	// StartedBy is who starts the sync, if that is a person; else empty.
	StartedBy string
	// History is what the watches have seen of the siblings and the target.
	History History
	// Slots says who has the slots of the target's step. It is nil without --max-update, and before a slot is asked for.
	Slots *Slots
	// Evidence is what objects of the cluster say about revisions.
	Evidence Evidence
	Settings Settings

	// pending says which of the Target's Wanted are a change of it, and behind that it deploys a change of its spec at
	// another revision than it was compared with: a sibling at that revision may have been compared before the change.
	// Both are computed once for a decision, by foresee.
	pending []bool
	behind  bool
	// contents group the siblings where many decisions are made with them, and found is what this decision has asked of
	// each group; nil for a single one.
	contents map[*Application]int
	found    []found
}

// Sibling is an Application with its step of the ApplicationSet. ApplicationSet.Sibling finds that: it takes most of the
// time of a decision with thousands of siblings, so it may be kept as long as neither of the two changes.
type Sibling struct {
	*Application
	// Step is ApplicationSet.StepOf its labels.
	Step int
	// RecordedStep is the Step of its entry in Recorded; 0 if it has none.
	RecordedStep int
}

// Sibling returns an Application with its step.
func (set *ApplicationSet) Sibling(a *Application) Sibling {
	return Sibling{Application: a, Step: set.StepOf(a.Labels), RecordedStep: set.Recorded[a.Name].Step}
}

// Settings is how the gate is configured for one ApplicationSet.
type Settings struct {
	Require Require
	// Off is the mode "off" on the ApplicationSet.
	Off bool
	// Bypassed is a valid bypass, by annotation or in the operation itself.
	Bypassed bool
	// GateRollbacks makes rollbacks gated like any other sync.
	GateRollbacks bool
	// AllowFailedOperations switches the row OperationFailed off.
	AllowFailedOperations bool
	// Follows says that the target comes after others: then its step has to say what it deploys, like a step that waits for
	// a condition.
	Follows bool
	// Stamped says that every operation says what it deploys: where nothing tells what was around the sources when an
	// Application was deployed, that has changed.
	Stamped bool
	// Candidates makes every revision a candidate that the earlier steps have completed: an Application may deploy one while
	// they are on their way to a newer one. Without it, only the compared revision is.
	Candidates bool
	// Settling is how long the ApplicationSet controller may take from one write of an Application to the next; zero is
	// SettlingTime, and with a negative time nobody waits for it.
	Settling time.Duration
	// Track is the key of the label by whose value the Applications of a step are told apart: steps, and what is counted
	// in them, hold within those that share it. Empty for one order of all.
	Track string
	// Excluded are siblings, by name, that do not hold others up for now.
	Excluded map[string]bool
	// Conditions are what steps wait for beside the order.
	Conditions Conditions
}

// Target is the Application whose operation is being written, as it will be after the write, with its status from
// before. Its fields are exactly those that package argocd decodes from an admission request: a row of the rule cannot
// ask for more by accident.
type Target struct {
	Name string
	// Labels are its labels after the write.
	Labels map[string]string
	// OldLabels are its labels before the write; nil when it is being created.
	OldLabels map[string]string
	// Managed says that an ApplicationSet controls it, before or after the write.
	Managed bool
	// Deleting says that it is being deleted.
	Deleting bool
	// Reported means the same as for an Application.
	Reported  bool
	Operation Operation
	// Wanted are the sources and revisions that the operation will deploy. A Revision is empty when it is not known.
	Wanted []Source
	// SpecCompared says that the comparison in its status came to an end, and was made with the spec that it has after
	// the write.
	SpecCompared bool
	// ReconciledAt is when Argo CD last compared it; zero means never.
	ReconciledAt time.Time
	// Compared are the sources and revisions of the last comparison.
	Compared []Source
	// Hydration means the same as for an Application. Unless it is Hydrated, the dry source of Compared and Wanted may
	// be at a newer commit than the one that the hydrated revision was made of.
	Hydration string
	// SyncStartedAt and SyncFinishedAt are when its last operation started and ended, if that was a full sync and
	// succeeded; else zero.
	SyncStartedAt, SyncFinishedAt time.Time
	// Stopped says that somebody has terminated its last full sync, which was to deploy just what the operation deploys.
	Stopped bool
	// OutOfSyncSince says that it is OutOfSync, and was compared after the end of its last operation.
	OutOfSyncSince bool
	// Ran are the sources and revisions of its history, oldest first.
	Ran []Source
	// SameSources says that the operation deploys the sources of the newest entry of its history. Their revisions may
	// differ.
	SameSources bool
}

// Operation is the operation being written.
type Operation struct {
	// Written says that the write makes an operation appear or changes it.
	Written bool
	DryRun  bool
	// Automated is what the writer claims. It is client data, so it only ever makes the rule stricter.
	Automated bool
	// Pinned says that it names the revision of every source that it deploys, resolved, and that a retry keeps to them.
	// An automated one has to bring the sources, too.
	Pinned bool
	// RollsBack says that its revisions and sources equal an older entry of the target's history, and are not what the
	// target is compared with now, and that a retry keeps to them.
	RollsBack bool
	// Foreign says that it deploys manifests that were sent along, or sources of its own that are not those of the
	// spec.
	Foreign bool
	// Redeploys says that its revisions and sources equal the newest entry of the target's history.
	Redeploys bool
}

// Uncompared is the phase of a source hydrator's operation that has ended with a commit that is not known to be
// compared.
const Uncompared = "Uncompared"

// Outdated is the phase of a source hydrator's operation that was of another dry source than the spec has now, or of an
// older commit of it than the hydrator has looked at since.
const Outdated = "Outdated"

// ApplicationSet is what the rule needs of an ApplicationSet.
type ApplicationSet struct {
	Namespace, Name, UID string
	Deleting             bool
	// Failing is the error that its controller reports: it may not have written all Applications. It is empty where
	// there is none.
	Failing string
	// FailingStep is the step, from 0, of the Application that it could not write because the gate denied the sync in
	// the same write: the error says nothing about earlier ones. It is 0 where the error is another one, or where that
	// is not known.
	FailingStep int
	// Generated says that its controller has written all its Applications, as far as it reports.
	Generated bool
	// Keeps says that Applications may stay that it does not generate any more: its policy deletes none, or its controller
	// could not delete one.
	Keeps bool
	// RollingSync says that the strategy's type is exactly "RollingSync" and its rollingSync is set.
	RollingSync bool
	Steps       []Step
	// ParentUID is the UID of the parent Application whose order it is (NameOfParent); empty for an ApplicationSet.
	ParentUID string
	// ByHand says that Argo CD does not sync this parent by itself: people have it create its children.
	ByHand bool
	// Waves says that it has no RollingSync, and that the sync waves of its Applications are its steps, lowest first.
	Waves bool
	// Elsewhere are the members of the order of a parent that are in other namespaces than its own, by MemberName: those
	// that Argo CD says the parent deploys. Whoever may write there could name it as the parent. It is only read.
	Elsewhere map[string]bool
	// Recorded is its status.applicationStatus, by the name of the Application. Of the order of a parent it has those that
	// the parent has yet to create or to change, with the step that they are to be in and nothing else. It is only read.
	Recorded map[string]Recorded
	// Sets are the ApplicationSets among the children of a parent that are not done themselves, by SetMember. Nil where
	// that is none. It is only read.
	Sets map[string]ChildSet
}

// ChildSet is an ApplicationSet that a parent deploys and that is not done itself, whatever its Applications are.
type ChildSet struct {
	// Step is its wave as a 0-based step.
	Step int
	// Detail says what it lacks, and Next what to do about it; both are empty for one that does not exist yet.
	Detail, Next string
}

// Recorded is one entry of an ApplicationSet's status.applicationStatus.
type Recorded struct {
	// Step is 1-based as in the object; -1 when the Application is in no step or is not generated any more (see
	// Sibling.Orphan), and 0 when the object's text is not a number.
	Step           int
	TransitionedAt time.Time
	// Pending says that the controller asks for its sync.
	Pending bool
	// Started says that the controller takes its sync for started: the status is Progressing or Healthy.
	Started bool
	// Healthy says that the controller has found it Healthy and Synced at Revisions.
	Healthy bool
	// Revisions are the targetRevisions, one for each source.
	Revisions []string
}

// Application is what the rule needs of an Application, about 2 KiB.
type Application struct {
	Name     string
	Labels   map[string]string
	Deleting bool
	// Cluster is the cluster that it deploys to, for texts: a name, or the address of an API server; empty for the one
	// in which Argo CD runs.
	Cluster string
	// Reported says that no Argo CD here compares it: an agent reports what the Argo CD of another cluster says of it.
	Reported bool
	// RefreshRequested is the presence of the refresh annotation.
	RefreshRequested bool
	// OperationSet is the presence of .operation.
	OperationSet bool
	Health       string
	// HealthSince is when its health became what it is; zero when that is not known. It has a resolution of one second.
	HealthSince time.Time
	SyncStatus  string
	// SpecCompared says that status.sync.comparedTo equals spec (sources and destination), by Argo CD's own Equals.
	SpecCompared bool
	// ReconciledAt has a resolution of one second; zero means never.
	ReconciledAt time.Time
	// Compared are the sources and revisions of the last comparison.
	Compared []Source
	// LastOperation is the zero value when there was none.
	LastOperation LastOperation
	// LastFull is the last full sync that has ended: neither a dry run, nor one of single resources, nor one of manifests
	// that were sent along. Such operations say what the full one before them was. It is the zero value where nothing tells.
	LastFull FullSync
	// LastSync is the last successful full sync that is known.
	LastSync LastSync
	// Ran are the sources and revisions of the history, oldest first.
	Ran []Source
	// Hydration is the phase of the source hydrator's current operation: Hydrating, Hydrated, Failed, Uncompared,
	// Outdated, or empty.
	Hydration string
	// OnlyPruning says that nothing of it is OutOfSync but what has to be pruned.
	OnlyPruning bool
}

// Source is one source of an Application at a revision.
type Source struct {
	// Key identifies repository, chart and targetRevision; the path is not part of it.
	Key string
	// Revision is a commit, chart version or digest.
	Revision string
}

// LastOperation is what the rule needs of status.operationState.
type LastOperation struct {
	// Phase is Running, Terminating, Succeeded, Failed, Error, or empty.
	Phase string
	// Retried says that an attempt of it has failed.
	Retried bool
	// StartedAt and FinishedAt have a resolution of one second.
	StartedAt, FinishedAt time.Time
}

// FullSync is what the rule needs of a full sync.
type FullSync struct {
	// Phase is Succeeded, Failed, Error, or empty.
	Phase string
	// StartedAt and FinishedAt have a resolution of one second.
	StartedAt, FinishedAt time.Time
	// AtCompared says that it ran at the revisions that are now compared.
	AtCompared bool
	// SameSources says that it ran the sources that are now compared, maybe at other revisions.
	SameSources bool
	// Other are the sources and revisions that it ran where it has failed, and those are not the compared ones.
	Other []Source
	// Applied says that it applied everything, and came to the hooks that run after that.
	Applied bool
	// Patched says that somebody has applied manifests of his own since, or single resources of something else: the health
	// that follows is not of what it deployed alone.
	Patched bool
}

// Sources are those that it deployed, at their revisions; nil where they are others than those that are compared now.
func (s *LastSync) Sources(compared []Source) []Source {
	if s.AtCompared {
		return compared
	}
	return s.Other
}

// LastSync is the last successful full sync.
type LastSync struct {
	// FinishedAt is zero when none is known.
	FinishedAt time.Time
	// AtCompared says that it deployed the revisions and sources that are now compared.
	AtCompared bool
	// SameSources says that it deployed the sources that are now compared, maybe at other revisions. Other are those
	// revisions if they are others.
	SameSources bool
	Other       []Source
	// Since is when what it deployed was first deployed, without anything else in between. A repetition does not change
	// it.
	Since time.Time
	// By is who started it, if that was a person; else empty.
	By string
}
