// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"encoding/json"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Writer is who asks for a sync.
type Writer string

// The writers.
const (
	// ApplicationSetController starts the syncs of RollingSync. The gate holds those that come too early, and those of
	// AutoSync.
	ApplicationSetController Writer = "ApplicationSet controller"
	// AutoSync is the application controller, for an Application with automated sync.
	AutoSync Writer = "auto-sync"
	// User is somebody who syncs by hand. The gate refuses what comes too early.
	User Writer = "user"
)

// WriterOf is who syncs an Application by itself.
func WriterOf(app *argo.Application) Writer {
	if app.Spec.SyncPolicy != nil && app.Spec.SyncPolicy.IsAutomatedSyncEnabled() {
		return AutoSync
	}
	return ApplicationSetController
}

// NextOperation is the operation that this writer would ask for now. It mirrors argo-cd v3.5.7: syncApplication in
// applicationset/progressivesync/progressive_sync.go, and autoSync in controller/appcontroller.go.
func NextOperation(app *argo.Application, by Writer) *argo.Operation {
	op := &argo.Operation{
		InitiatedBy: argo.OperationInitiator{Username: "applicationset-controller", Automated: true},
		Sync:        &argo.SyncOperation{}, Retry: argo.RetryStrategy{Limit: 5},
	}
	if app.Spec.SyncPolicy != nil {
		op.Sync.SyncOptions = app.Spec.SyncPolicy.SyncOptions
		if app.Spec.SyncPolicy.Retry != nil {
			op.Retry = *app.Spec.SyncPolicy.Retry
		}
	}
	switch by {
	case ApplicationSetController:
	case User:
		op.InitiatedBy = argo.OperationInitiator{}
	case AutoSync:
		op.InitiatedBy = argo.OperationInitiator{Automated: true}
		op.Sync.Revision, op.Sync.Revisions = app.Status.Sync.Revision, app.Status.Sync.Revisions
		if app.Spec.HasMultipleSources() {
			op.Sync.Sources = app.Spec.Sources
		} else {
			source := app.Spec.GetSource()
			op.Sync.Source = &source
		}
	}
	return op
}

// Request is the write of an operation of an Application as the API server would send it. live is the Application as it
// is.
func Request(
	live *unstructured.Unstructured, operation *argo.Operation, account string,
) (req admissionv1.AdmissionRequest, err error) {
	before := live.DeepCopy()
	unstructured.RemoveNestedField(before.Object, "operation")
	after := before.DeepCopy()
	if after.Object["operation"], err = asMap(operation); err != nil {
		return req, err
	}
	req = admissionv1.AdmissionRequest{
		Kind: metav1.GroupVersionKind{
			Group: argo.SchemeGroupVersion.Group, Version: argo.SchemeGroupVersion.Version, Kind: "Application",
		},
		Name: live.GetName(), Namespace: live.GetNamespace(), Operation: admissionv1.Update,
		UserInfo: authenticationv1.UserInfo{Username: account},
	}
	if req.OldObject.Raw, err = before.MarshalJSON(); err != nil {
		return req, err
	}
	req.Object.Raw, err = after.MarshalJSON()
	return req, err
}

func asMap(operation *argo.Operation) (m map[string]any, err error) {
	text, err := json.Marshal(operation)
	if err != nil {
		return nil, err
	}
	return m, json.Unmarshal(text, &m)
}
