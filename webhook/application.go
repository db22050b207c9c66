package webhook

import (
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
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
	Operation *argo.Operation `json:"operation"`
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
	} `json:"status"`
}

// decodeApplication decodes with the API server's own decoder: field names are case-sensitive, so that what is judged
// is what is stored. No object, as before a CREATE, gives nil.
func decodeApplication(raw []byte) (*argo.Application, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	var a application
	if err := json.Unmarshal(raw, &a); err != nil {
		return nil, err
	}
	m := a.Metadata
	return &argo.Application{
		ObjectMeta: metav1.ObjectMeta{
			Name: m.Name, Namespace: m.Namespace, UID: m.UID, Labels: m.Labels, Annotations: m.Annotations,
			OwnerReferences: m.OwnerReferences, DeletionTimestamp: m.DeletionTimestamp,
		},
		Operation: a.Operation,
		Spec: argo.ApplicationSpec{
			Source: a.Spec.Source, Sources: a.Spec.Sources, SourceHydrator: a.Spec.SourceHydrator,
			Destination: a.Spec.Destination,
		},
		Status: argo.ApplicationStatus{
			Sync: a.Status.Sync, History: a.Status.History, ReconciledAt: a.Status.ReconciledAt,
		},
	}, nil
}
