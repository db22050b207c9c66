// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"bytes"
	"encoding/json"
	"errors"

	synccommon "github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	"github.com/argoproj/argo-cd/v3/common"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Application is the part of an Application that a decision about it needs, as an admission request carries it. The
// decoder skips the bulk of a real one (status.resources, the operation's results, managedFields).
type Application struct {
	Metadata struct {
		UID               types.UID       `json:"uid"`
		ResourceVersion   string          `json:"resourceVersion"`
		Namespace         string          `json:"namespace"`
		Name              string          `json:"name"`
		Labels            texts           `json:"labels"`
		Annotations       Annotations     `json:"annotations"`
		OwnerReferences   ownerReferences `json:"ownerReferences"`
		DeletionTimestamp *metav1.Time    `json:"deletionTimestamp"`
		ManagedFields     managers        `json:"managedFields"`
	} `json:"metadata"`
	Operation *Operation `json:"operation"`
	Spec      spec       `json:"spec"`
	Status    status     `json:"status"`
}

type ownerReferences []metav1.OwnerReference

// UnmarshalJSON decodes a bounded list.
func (o *ownerReferences) UnmarshalJSON(raw []byte) error {
	return decodeBounded(raw, (*[]metav1.OwnerReference)(o))
}

type spec struct {
	argo.ApplicationSpec
	// text is the spec as it was decoded, a part of the request: a copy of a large one would cost memory.
	text []byte
}

// UnmarshalJSON decodes a bounded spec.
func (s *spec) UnmarshalJSON(raw []byte) error {
	s.text = raw
	return decodeKept(raw, &s.ApplicationSpec)
}

// exact is a field of the spec as it was decoded, with all that Argo CD has in it; value if there is none.
func (s *spec) exact(field string, value any) any {
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(s.text, &fields); err != nil || fields[field] == nil {
		return value
	}
	return fields[field]
}

type status struct {
	Sync           argo.SyncStatus           `json:"sync"`
	History        argo.RevisionHistories    `json:"history"`
	ReconciledAt   *metav1.Time              `json:"reconciledAt"`
	OperationState *operationState           `json:"operationState"`
	SourceHydrator argo.SourceHydratorStatus `json:"sourceHydrator"`
	// text is the status as it was decoded, a part of the request. It has the results of the operation.
	text []byte
}

// UnmarshalJSON decodes a status of which each part is bounded: the parts that are left out may be large.
func (s *status) UnmarshalJSON(raw []byte) error {
	var parts struct {
		Sync           json.RawMessage `json:"sync"`
		History        json.RawMessage `json:"history"`
		ReconciledAt   json.RawMessage `json:"reconciledAt"`
		OperationState json.RawMessage `json:"operationState"`
		SourceHydrator json.RawMessage `json:"sourceHydrator"`
	}
	s.text = raw
	return errors.Join(decode(raw, &parts),
		decodeKept(parts.Sync, &s.Sync),
		decodeKept(parts.History, &s.History),
		decodeBounded(parts.ReconciledAt, &s.ReconciledAt),
		decodeBounded(parts.OperationState, &s.OperationState),
		decodeKept(parts.SourceHydrator, &s.SourceHydrator),
	)
}

// operationState leaves most of the results of the operation out.
type operationState struct {
	Phase      synccommon.OperationPhase `json:"phase"`
	Operation  kept[argo.Operation]      `json:"operation"`
	StartedAt  metav1.Time               `json:"startedAt"`
	FinishedAt *metav1.Time              `json:"finishedAt"`
	SyncResult *syncResult               `json:"syncResult"`
	Message    beginning                 `json:"message"`
}

// beginning is the beginning of a text: Argo CD writes the errors of all resources into a message.
type beginning string

// mostBeginning is longer than what Argo CD says of an operation that somebody has terminated.
const mostBeginning = 200

// UnmarshalJSON keeps as much as is read.
func (b *beginning) UnmarshalJSON(raw []byte) error {
	var text string
	if len(raw) > mostBeginning {
		return nil
	}
	err := json.Unmarshal(raw, &text)
	*b = beginning(text)
	return err
}

// ClearedResult is the result of the last operation before a write, as it was stored, if the write clears it; else nil.
// Who starts a sync may clear it in the same write: argocd-server does, as SetAppOperation of argo-cd v3.5.7,
// util/argo/argo.go. A write that has no status at all clears more than that, and gets nothing back.
func ClearedResult(app, old *Application) json.RawMessage {
	if old == nil || old.Status.OperationState == nil || app.Status.OperationState != nil ||
		!bytes.HasPrefix(app.Status.text, []byte("{")) {
		return nil
	}
	var before struct {
		OperationState json.RawMessage `json:"operationState"`
	}
	if err := decode(old.Status.text, &before); err != nil {
		return nil // it has been decoded before
	}
	return before.OperationState
}

// Operation is an operation, and the text of it: a field that Argo CD's types do not have here may still be a change.
type Operation struct {
	argo.Operation
	sent json.RawMessage
}

// UnmarshalJSON decodes a bounded operation, and keeps its text.
func (o *Operation) UnmarshalJSON(raw []byte) error {
	o.sent = bytes.Clone(raw)
	return decodeKept(raw, &o.Operation)
}

// Sent is the operation as it was sent.
func (o *Operation) Sent() json.RawMessage { return o.sent }

// equals reports whether two operations are the same to the last byte; nil is no operation. An API server writes equal
// objects in the same way. Where another caller does not, an operation at worst counts as written.
func (o *Operation) equals(other *Operation) bool {
	if o == nil || other == nil {
		return o == other
	}
	return bytes.Equal(o.sent, other.sent)
}

// Fingerprint stands for the operation, as far as Argo CD's types have it.
func (o *Operation) Fingerprint() Fingerprint { return hashOf(o.Operation) }

// Decode decodes an Application with the API server's own decoder: field names are case-sensitive, so the object that
// is judged is the object that is stored. It returns nil if there is no object, as before a CREATE.
func Decode(raw []byte) (*Application, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	a := &Application{}
	if err := decode(raw, a); err != nil {
		return nil, err
	}
	if a.reported() || a.Metadata.ManagedFields.agent {
		a.Status.Sync.ComparedTo = comparedElsewhere(a.spec(), &a.Status.Sync)
	}
	return a, nil
}

// reported reports whether nothing here compares the Application: an agent reports of it. A nil one is not reported.
func (a *Application) reported() bool {
	return a != nil && unreconciled(a.Metadata.Annotations.Text(common.AnnotationKeyAppSkipReconcile))
}

// Outdates reports whether a write makes what the Application was last compared with old: it brings another spec or
// another status, or asks Argo CD to compare again. Some programs do so in the write that starts a sync, as Kargo does,
// or as argocd-agent reports one that runs elsewhere. argocd-server only clears the last result.
func Outdates(app, old *Application) bool {
	if old == nil || !bytes.Equal(app.Spec.text, old.Spec.text) ||
		app.Status.OperationState != nil && !bytes.Equal(app.Status.text, old.Status.text) {
		return true
	}
	asks := app.Metadata.Annotations.Text(argo.AnnotationKeyRefresh)
	return asks != "" && asks != old.Metadata.Annotations.Text(argo.AnnotationKeyRefresh)
}

// AutoSyncs reports whether Argo CD syncs the Application by itself.
func (a *Application) AutoSyncs() bool {
	p := a.Spec.SyncPolicy
	return p != nil && p.IsAutomatedSyncEnabled()
}

// Content is what the Application deploys by its spec.
func (a *Application) Content() Content { return ContentOf(a.spec()) }

// labels are its labels as steps select it.
func (a *Application) labels() map[string]string {
	return withWave(a.Metadata.Labels, a.Metadata.Annotations.Text(synccommon.AnnotationSyncWave))
}

// spec is the spec as Argo CD's own type, for its methods.
func (a *Application) spec() *argo.ApplicationSpec { return &a.Spec.ApplicationSpec }
