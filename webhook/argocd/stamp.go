// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"

	synccommon "github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"gomodules.xyz/jsonpatch/v2"
)

// StampInfo is the name of the entry of operation.info that the mutating webhook writes into every operation, and that
// the Gate makes again. Argo CD keeps it in status.operationState, so that the object itself tells what was deployed.
const StampInfo = "stepgate.io/content"

// mostStamp bounds a stamp that is read. One that stepgate writes has a few hundred bytes.
const mostStamp = 8 << 10

// stampVersion tells how the hashes are made.
const stampVersion = 1

// Stamp says what an operation deploys. One that is no sync of a content (a dry run, a sync of single resources, one with
// manifests of its own) has Last alone: it makes nobody forget what was deployed. The zero value is an operation without a
// stamp, of which nobody knows what was around its sources.
type Stamp struct {
	// Version is stampVersion. One of another version counts for nothing.
	Version int `json:"v"`
	Content
	// Last is the last full sync before, if this is none, or if that has failed.
	Last *Outcome `json:"last,omitempty"`
	// Failed is when the last full sync before started that did not succeed, or that something else took the place of: the
	// history has no others. What nobody knows of an operation without a stamp may have failed.
	Failed time.Time `json:"failed,omitzero"`
}

// Outcome is what became of a full sync.
type Outcome struct {
	Content
	Phase      synccommon.OperationPhase `json:"phase"`
	StartedAt  time.Time                 `json:"startedAt"`
	FinishedAt time.Time                 `json:"finishedAt"`
	// Revisions are those that it deployed, by position.
	Revisions []string `json:"revisions,omitempty"`
	// Applied is policy.LastOperation.Applied.
	Applied bool `json:"applied,omitempty"`
	// Patched says that somebody has applied manifests of his own since, or single resources of something else.
	Patched bool `json:"patched,omitempty"`
	// Stopped is Content.Revised of the last full sync, if somebody has terminated that.
	Stopped string `json:"stopped,omitempty"`
	// By is who has started it, if that was a person.
	By string `json:"by,omitempty"`
	// sources are what it deployed, if that is known beside Content.
	sources argo.ApplicationSources
}

// StampOf is the stamp of the operation that a write sets. old is nil for a CREATE.
func StampOf(app, old *Application) Stamp {
	s := Stamp{Version: stampVersion, Content: app.deploys(app.Content())}
	last := old.lastFull()
	if last != nil && (!isFull(app.Operation.Operation) || last.failed()) {
		s.Last = last.before(app)
	}
	s.Failed = old.failed(s.Content).UTC()
	return s
}

// failed is Stamp.Failed of an operation that is written now, and deploys next.
func (a *Application) failed(next Content) time.Time {
	if a == nil {
		return time.Time{}
	}
	o := a.Status.OperationState.operated()
	if o == nil && a.Operation != nil {
		return stampIn(&a.Operation.Operation).Failed
	}
	if o == nil {
		return time.Time{}
	}
	stamp := stampIn(o.op)
	if stamp.Version != stampVersion || o.full() && !o.phase.Successful() &&
		(o.phase.Completed() || stamp.Content != next) {
		return o.startedAt
	}
	return stamp.Failed
}

// newestStamp is that of the operation that has begun last, or else of the one that waits.
func newestStamp(app *argo.Application, o *operated) Stamp {
	switch {
	case o != nil:
		return stampIn(o.op)
	case app.Operation != nil:
		return stampIn(app.Operation)
	}
	return Stamp{}
}

// Stamped is the Application with the stamp of its operation, and the JSON patches that make it so. app itself stays as
// it is.
func Stamped(app, old *Application) (stamped *Application, patches []jsonpatch.Operation) {
	entry := argo.Info{Name: StampInfo, Value: StampOf(app, old).text()}
	if patches = stamping(app.Operation.Info, entry); len(patches) == 0 {
		return app, nil
	}
	next, op := *app, *app.Operation
	op.Info = slices.DeleteFunc(slices.Clone(op.Info), isStamp)
	op.Info = append(op.Info, &entry)
	next.Operation = &op
	return &next, patches
}

// stamping puts the stamp after all other infos, and takes away what is in its place.
func stamping(infos []*argo.Info, entry argo.Info) (patches []jsonpatch.Operation) {
	last := len(infos) - 1
	if last >= 0 && isStamp(infos[last]) && infos[last].Value == entry.Value &&
		!slices.ContainsFunc(infos[:last], isStamp) {
		return nil
	}
	if len(infos) == 0 {
		return []jsonpatch.Operation{jsonpatch.NewOperation("add", "/operation/info", []argo.Info{entry})}
	}
	for i := last; i >= 0; i-- {
		if isStamp(infos[i]) {
			patches = append(patches, jsonpatch.NewOperation("remove", "/operation/info/"+strconv.Itoa(i), nil))
		}
	}
	return append(patches, jsonpatch.NewOperation("add", "/operation/info/-", entry))
}

func isStamp(i *argo.Info) bool { return i != nil && i.Name == StampInfo }

// deploys is the Content of the operation of a write, by that of its spec; the zero Content where it is no full sync.
func (a *Application) deploys(spec Content) Content {
	op := &a.Operation.Operation
	if !isFull(*op) {
		return Content{}
	}
	d := deploymentOf(op.Sync, a.spec())
	if d.overrides {
		spec.Parameters = parametersOf(d.sources)
	}
	return spec.at(d.revisions)
}

// Forged reports whether the operation of a write brings a stamp of this version that is not its own.
func Forged(app, old *Application) bool {
	infos := app.Operation.Info
	if stampIn(&app.Operation.Operation).Version != stampVersion {
		return false
	}
	return len(stamping(infos, argo.Info{Name: StampInfo, Value: StampOf(app, old).text()})) > 0
}

func (s Stamp) text() string {
	text, err := json.Marshal(s)
	if err != nil {
		return "" // it has texts and times alone
	}
	return string(text)
}

// stampIn is the stamp of an operation; the zero Stamp if it has none that can be read.
func stampIn(op *argo.Operation) (s Stamp) {
	at := slices.IndexFunc(op.Info, isStamp)
	if at < 0 || len(op.Info[at].Value) > mostStamp || json.Unmarshal([]byte(op.Info[at].Value), &s) != nil {
		return Stamp{}
	}
	if s.Version != stampVersion {
		return Stamp{}
	}
	return s
}

// before is the outcome as the operation of a write carries it.
func (o *Outcome) before(app *Application) *Outcome {
	carried := *o
	op := &app.Operation.Operation
	if applies := op.Sync != nil && !op.Sync.DryRun; applies && !isFull(*op) && !o.again(op.Sync, app.spec()) {
		carried.Patched = true
	}
	return &carried
}

// again reports whether a sync of single resources takes them from just what this one has deployed without a failure. What
// cannot be told is something else.
func (o *Outcome) again(sync *argo.SyncOperation, spec *argo.ApplicationSpec) bool {
	part := deploymentOf(sync, spec)
	return !part.manifests && !o.failed() && part.named() && slices.Equal(part.revisions, o.Revisions) &&
		parametersOf(part.sources) == parametersOf(o.sources) && (o.Around == "" || o.Around == aroundOf(spec))
}

// failed reports whether it ended without success.
func (o *Outcome) failed() bool {
	return o.Phase == synccommon.OperationFailed || o.Phase == synccommon.OperationError
}

// isFull reports whether an operation syncs the whole Application from its sources, for real.
func isFull(op argo.Operation) bool {
	return op.Sync != nil && !op.Sync.DryRun && len(op.Sync.Resources) == 0 && len(op.Sync.Manifests) == 0
}
