package argocd

import (
	"errors"
	"reflect"

	synccommon "github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/json"
)

// Application is the part of an Application that a decision about it needs, as an admission request carries it. The
// decoder skips the bulk of a real one (status.resources, the operation's results, managedFields).
type Application struct {
	Metadata struct {
		UID             types.UID               `json:"uid"`
		Name            string                  `json:"name"`
		Labels          map[string]string       `json:"labels"`
		OwnerReferences []metav1.OwnerReference `json:"ownerReferences"`
	} `json:"metadata"`
	Operation *Operation `json:"operation"`
	Spec      struct {
		Source         *argo.ApplicationSource     `json:"source"`
		Sources        argo.ApplicationSources     `json:"sources"`
		SourceHydrator *argo.SourceHydrator        `json:"sourceHydrator"`
		Destination    argo.ApplicationDestination `json:"destination"`
	} `json:"spec"`
	Status status `json:"status"`
}

type status struct {
	Sync           argo.SyncStatus           `json:"sync"`
	History        argo.RevisionHistories    `json:"history"`
	ReconciledAt   *metav1.Time              `json:"reconciledAt"`
	OperationState *operationState           `json:"operationState"`
	SourceHydrator argo.SourceHydratorStatus `json:"sourceHydrator"`
}

// operationState leaves the results of the operation out.
type operationState struct {
	Phase     synccommon.OperationPhase `json:"phase"`
	Operation argo.Operation            `json:"operation"`
	StartedAt metav1.Time               `json:"startedAt"`
}

// Operation is an operation, and everything that was sent of it: a field that Argo CD's types do not have here may
// still be a change.
type Operation struct {
	argo.Operation
	sent any
}

// UnmarshalJSON decodes the operation twice.
func (o *Operation) UnmarshalJSON(raw []byte) error {
	return errors.Join(decode(raw, &o.Operation), decode(raw, &o.sent))
}

// Sent is the operation as it was sent.
func (o *Operation) Sent() any { return o.sent }

// equals reports whether two operations are the same to the last field that was sent; nil is no operation.
func (o *Operation) equals(other *Operation) bool {
	if o == nil || other == nil {
		return o == other
	}
	return reflect.DeepEqual(o.sent, other.sent)
}

// Decode decodes an Application with the API server's own decoder: field names are case-sensitive, so the object that
// is judged is the object that is stored. It returns nil where there is no object, as before a CREATE.
func Decode(raw []byte) (*Application, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	a := &Application{}
	if err := decode(raw, a); err != nil {
		return nil, err
	}
	return a, nil
}

// decode refuses a name that an object has twice: decoders differ in which of the two they keep.
func decode(raw []byte, into any) error {
	strict, err := json.UnmarshalStrict(raw, into, json.DisallowDuplicateFields)
	return errors.Join(append(strict, err)...)
}

// spec is the decoded part of the spec as Argo CD's own type, for its methods.
func (a *Application) spec() *argo.ApplicationSpec {
	s := a.Spec
	return &argo.ApplicationSpec{Source: s.Source, Sources: s.Sources, SourceHydrator: s.SourceHydrator, Destination: s.Destination}
}
