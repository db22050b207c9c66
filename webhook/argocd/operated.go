// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"bytes"
	"slices"
	"strings"
	"time"

	synccommon "github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"

	"github.com/stepgate/stepgate/policy"
)

// operated is an operation that has begun, as the status of an Application tells it, whoever has decoded that. Nil is
// none.
type operated struct {
	op                    *argo.Operation
	phase                 synccommon.OperationPhase
	retried               bool
	startedAt, finishedAt time.Time
	// sources and revisions are those of its result.
	sources   argo.ApplicationSources
	revisions []string
	// applied says that it applied everything, and came to the hooks that run after that.
	applied bool
	// stopped says that somebody has terminated it.
	stopped bool
}

// operatedOf is what a live Application tells.
func operatedOf(state *argo.OperationState) *operated {
	if state == nil {
		return nil
	}
	o := &operated{
		op: &state.Operation, phase: state.Phase, retried: state.RetryCount > 0, startedAt: state.StartedAt.Time,
		finishedAt: timeOf(state.FinishedAt), stopped: isStopped(state.Phase, state.Message),
	}
	if r := state.SyncResult; r != nil {
		o.sources, o.revisions = oneOrMany(r.Source, r.Sources), revisions(r.Revision, r.Revisions)
		o.applied = slices.ContainsFunc(r.Resources, func(r *argo.ResourceResult) bool {
			return r != nil && r.SyncPhase == synccommon.SyncPhasePostSync
		})
	}
	return o
}

// operated is what an Application tells that came with an admission request.
func (s *operationState) operated() *operated {
	if s == nil {
		return nil
	}
	o := &operated{op: &s.Operation.part, phase: s.Phase, startedAt: s.StartedAt.Time, finishedAt: timeOf(s.FinishedAt)}
	o.stopped = isStopped(s.Phase, string(s.Message))
	if r := s.SyncResult; r != nil {
		o.sources, o.revisions = oneOrMany(r.Source.part, r.Sources.part), revisions(r.Revision, r.Revisions)
		o.applied = bool(r.Resources)
	}
	return o
}

// isStopped reports whether somebody has terminated an operation that has ended, or is about to, by the message that
// Terminate of gitops-engine, pkg/sync/sync_context.go, leaves. Where the application controller did, after its own
// timeout, it adds that (argo-cd v3.5.7, processRequestedAppOperation in controller/appcontroller.go). stepgate
// terminates what it then replaces by something else.
func isStopped(phase synccommon.OperationPhase, message string) bool {
	if phase == synccommon.OperationTerminating {
		return !strings.HasPrefix(message, "operation is terminating due to timeout")
	}
	return phase.Completed() && !phase.Successful() && strings.HasPrefix(message, "Operation terminat") &&
		!strings.Contains(message, "triggered by controller sync timeout")
}

// syncResult is the part of an operation's result that tells what it deployed, and how far it came.
type syncResult struct {
	Revision  string                        `json:"revision"`
	Revisions []string                      `json:"revisions"`
	Source    kept[argo.ApplicationSource]  `json:"source"`
	Sources   kept[argo.ApplicationSources] `json:"sources"`
	Resources reachedPostSync               `json:"resources"`
}

// reachedPostSync says of the results of resources that one is of a PostSync hook. There may be thousands: they are not
// decoded.
type reachedPostSync bool

// UnmarshalJSON looks at the text, which an API server writes without spaces.
func (r *reachedPostSync) UnmarshalJSON(raw []byte) error {
	*r = reachedPostSync(bytes.Contains(raw, []byte(`"syncPhase":"`+synccommon.SyncPhasePostSync+`"`)))
	return nil
}

// lastFull is the last full sync that has ended: this operation, or the one whose outcome it carries, or that which the
// operation carries that waits, and has cleared the result. It is nil if nothing tells. spec is the one that the
// Application has now.
func (o *operated) lastFull(spec *argo.ApplicationSpec, waits *argo.Operation) *Outcome {
	switch {
	case o == nil && waits == nil:
		return nil
	case o == nil:
		return stampIn(waits).Last.carried(spec)
	case o.full() && o.phase.Completed():
		return o.outcome().orApplied(stampIn(o.op).Last.carried(spec))
	}
	return stampIn(o.op).Last.carried(spec)
}

// outcome is that of a full sync that has ended.
func (o *operated) outcome() *Outcome {
	return &Outcome{
		Content: stampIn(o.op).Content, Phase: o.phase, StartedAt: o.startedAt, FinishedAt: o.finishedAt,
		Revisions: o.revisions, Applied: o.applied, Stopped: o.stops(), By: person(o.op.InitiatedBy), sources: o.sources,
	}
}

// orApplied is the sync before if that has applied everything, and failed in the hooks, and this one has failed before it
// came so far: what is there is still what the other has left.
func (o *Outcome) orApplied(before *Outcome) *Outcome {
	if o.failed() && !o.Applied && before != nil && before.failed() && before.Applied {
		kept := *before
		kept.Stopped = o.Stopped
		return &kept
	}
	return o
}

// stops stands for what an operation was to deploy that somebody has terminated; else it is empty. One that names no
// revision was to deploy those of its result.
func (o *operated) stops() string {
	stamp := stampIn(o.op)
	switch {
	case !o.stopped || stamp.Content == (Content{}):
		return ""
	case stamp.Revised == "":
		return stamp.at(o.revisions).Revised
	}
	return stamp.Revised
}

// stopped is Stopped of an Outcome that may be nil.
func (o *Outcome) stopped() string {
	if o == nil {
		return ""
	}
	return o.Stopped
}

// full is isFull, as the stamp tells, if there is one. Up to argo-cd v3.2 a status keeps fields of an operation that the
// next one does not have, such as dryRun: setOperationState writes a merge patch. It replaces infos as a whole.
func (o *operated) full() bool {
	if s := stampIn(o.op); s.Version == stampVersion {
		return o.op.Sync != nil && s.Content != (Content{})
	}
	return isFull(*o.op)
}

// carried is an outcome that another operation carries, with the sources of the spec if it deployed those.
func (o *Outcome) carried(spec *argo.ApplicationSpec) *Outcome {
	if o == nil {
		return nil
	}
	carried := *o
	if own := spec.GetSources(); parametersOf(own) == o.Parameters {
		carried.sources = own
	}
	return &carried
}

// lastFull is the last full sync of an Application that came with an admission request; nil if nothing tells.
func (a *Application) lastFull() *Outcome {
	if a == nil {
		return nil
	}
	var waits *argo.Operation
	if a.Operation != nil {
		waits = &a.Operation.Operation
	}
	return a.Status.OperationState.operated().lastFull(a.spec(), waits)
}

// deployed is the Content of a sync, at no revision if it has failed.
func (o *Outcome) deployed() Content {
	switch {
	case o == nil:
		return Content{}
	case o.failed():
		return o.Unrevised()
	}
	return o.Content
}

// deploying are the sources and revisions that the full sync names which waits or runs; nil if none does.
func deploying(app *argo.Application, o *operated) []policy.Source {
	op := app.Operation
	if op == nil && o != nil && !o.phase.Completed() {
		op = o.op
	}
	if op == nil {
		return nil
	}
	return namedSources(op, &app.Spec)
}

// namedSources are the sources and revisions that a full sync names; nil if it does not name them all.
func namedSources(op *argo.Operation, spec *argo.ApplicationSpec) []policy.Source {
	if !isFull(*op) {
		return nil
	}
	d := deploymentOf(op.Sync, spec)
	if !d.named() {
		return nil
	}
	return Sources(d.sources, d.revisions)
}

// Retry is a sync that has failed, and waits for its next attempt.
type Retry struct {
	// Content and Sources are what the next attempt deploys, with the spec as it is by now.
	Content Content
	Sources []policy.Source
}

// retry is the automated sync that waits for its next attempt, as processRequestedAppOperation of argo-cd v3.5.7,
// controller/appcontroller.go, records it: it runs, and has a time at which it ended. It is nil if there is none, and for
// one that resolves its revisions anew, or that bears no stamp: nobody has pinned it.
func (o *operated) retry(app *argo.Application) *Retry {
	if o == nil || app.Operation == nil || o.phase != synccommon.OperationRunning || !o.retried || o.finishedAt.IsZero() ||
		!o.op.InitiatedBy.Automated || o.op.Retry.Refresh {
		return nil
	}
	stamp, sources := stampIn(o.op), namedSources(o.op, &app.Spec)
	if stamp.Revised == "" || sources == nil {
		return nil
	}
	return &Retry{Content: attempted(o.op, stamp.Content, &app.Spec), Sources: sources}
}

// attempted is what the next attempt of an operation deploys that has deployed something before: it keeps the revisions,
// the sources that it names, and the sync options. Everything else an attempt reads in the spec (argo-cd v3.5.7,
// SyncAppState in controller/sync.go).
func attempted(op *argo.Operation, before Content, spec *argo.ApplicationSpec) Content {
	d, next := deploymentOf(op.Sync, spec), before
	next.Parameters = parametersOf(d.sources)
	if slices.Equal(op.Sync.SyncOptions, syncOptions(spec)) {
		next.Around = aroundOf(spec)
	}
	return next.at(d.revisions)
}

func syncOptions(spec *argo.ApplicationSpec) argo.SyncOptions {
	if spec.SyncPolicy == nil {
		return nil
	}
	return spec.SyncPolicy.SyncOptions
}

// fullOnly is a history without what the last operation has written there, if that deployed manifests of its own: they
// are none of the revision that stands beside them.
func (o *operated) fullOnly(history argo.RevisionHistories) argo.RevisionHistories {
	if o == nil || o.op.Sync == nil || len(o.op.Sync.Manifests) == 0 || o.full() || len(history) == 0 {
		return history
	}
	newest := history.LastRevisionHistory()
	if newest.DeployStartedAt == nil || !newest.DeployStartedAt.Time.Equal(o.startedAt) {
		return history
	}
	return history[:len(history)-1]
}
