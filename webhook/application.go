package webhook

import (
	"errors"

	synccommon "github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/json"
)

// application is the part of an Application that a decision needs. The bulk of a real one (status.resources, the
// operation's results, managedFields) is skipped while decoding.
type application struct {
	Metadata struct {
		Name              string                  `json:"name"`
		Namespace         string                  `json:"namespace"`
		UID               types.UID               `json:"uid"`
		Labels            map[string]string       `json:"labels"`
		Annotations       map[string]string       `json:"annotations"`
		OwnerReferences   []metav1.OwnerReference `json:"ownerReferences"`
		DeletionTimestamp *metav1.Time            `json:"deletionTimestamp"`
	} `json:"metadata"`
	Operation *operation `json:"operation"`
	Spec      struct {
		Source         *argo.ApplicationSource     `json:"source"`
		Sources        argo.ApplicationSources     `json:"sources"`
		SourceHydrator *argo.SourceHydrator        `json:"sourceHydrator"`
		Destination    argo.ApplicationDestination `json:"destination"`
	} `json:"spec"`
	Status struct {
		Sync         argo.SyncStatus        `json:"sync"`
		History      argo.RevisionHistories `json:"history"`
		ReconciledAt *metav1.Time           `json:"reconciledAt"`
		// The results of the operation are left out.
		OperationState *struct {
			Phase     synccommon.OperationPhase `json:"phase"`
			Operation argo.Operation            `json:"operation"`
			StartedAt metav1.Time               `json:"startedAt"`
		} `json:"operationState"`
	} `json:"status"`
}

// operation also keeps the whole of what was sent: a field that Argo CD's types do not have here may still be a change.
type operation struct {
	typed argo.Operation
	whole any
}

// UnmarshalJSON decodes the operation twice.
func (o *operation) UnmarshalJSON(raw []byte) error {
	return errors.Join(decode(raw, &o.typed), decode(raw, &o.whole))
}

// object is an Application, and its operation as it was sent.
type object struct {
	*argo.Application
	operation any
}

// decodeApplication decodes with the API server's own decoder: field names are case-sensitive, so that what is judged
// is what is stored. No object, as before a CREATE, gives nil.
func decodeApplication(raw []byte) (*object, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	var a application
	if err := decode(raw, &a); err != nil {
		return nil, err
	}
	m := a.Metadata
	o := &object{Application: &argo.Application{
		ObjectMeta: metav1.ObjectMeta{
			Name: m.Name, Namespace: m.Namespace, UID: m.UID, Labels: m.Labels, Annotations: m.Annotations,
			OwnerReferences: m.OwnerReferences, DeletionTimestamp: m.DeletionTimestamp,
		},
		Spec: argo.ApplicationSpec{
			Source: a.Spec.Source, Sources: a.Spec.Sources, SourceHydrator: a.Spec.SourceHydrator,
			Destination: a.Spec.Destination,
		},
		Status: argo.ApplicationStatus{
			Sync: a.Status.Sync, History: a.Status.History, ReconciledAt: a.Status.ReconciledAt,
		},
	}}
	if state := a.Status.OperationState; state != nil {
		o.Status.OperationState = &argo.OperationState{Phase: state.Phase, Operation: state.Operation, StartedAt: state.StartedAt}
	}
	if a.Operation != nil {
		o.Operation, o.operation = &a.Operation.typed, a.Operation.whole
	}
	return o, nil
}

// decode refuses a name that an object has twice: decoders differ in which one they keep.
func decode(raw []byte, into any) error {
	strict, err := json.UnmarshalStrict(raw, into, json.DisallowDuplicateFields)
	return errors.Join(append(strict, err)...)
}
