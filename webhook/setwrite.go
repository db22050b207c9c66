// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"encoding/json"
	"fmt"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/approval"
	"github.com/stepgate/stepgate/webhook/argocd"
)

// setWrite is one write of an ApplicationSet, or of a parent Application, in the form of an ApplicationSet that has
// nothing but its annotations.
type setWrite struct {
	approval.Write
	// set is the ApplicationSet after the write.
	set    *argo.ApplicationSet
	dryRun bool
}

// newSetWrite decodes an admission request. It returns nil for a write that is none of stepgate's business: a DELETE,
// one of a subresource, and one of an ApplicationSet that is being deleted. An error means that the request cannot be
// judged.
//
// actor is the account that writes for users of Argo CD; empty if none does. It names them as field manager: that is part
// of the request, not of the object, and means nothing in a write of anybody else.
func newSetWrite(req admissionv1.AdmissionRequest, now time.Time, actor string) (*setWrite, error) {
	parent := req.Kind.Kind == "Application"
	if req.Kind.Group != argo.SchemeGroupVersion.Group || req.Kind.Kind != "ApplicationSet" && !parent {
		return nil, fmt.Errorf(
			"stepgate judges ApplicationSets and Applications of argoproj.io here, not %.100s of %.100q: correct the rules "+
				"of the webhook configuration", req.Kind.Kind, req.Kind.Group,
		)
	}
	if req.SubResource != "" || req.Operation != admissionv1.Create && req.Operation != admissionv1.Update {
		return nil, nil
	}
	old, err := argocd.DecodeSet(req.OldObject.Raw)
	if err != nil {
		return nil, fmt.Errorf("oldObject is not an ApplicationSet: %w", err)
	}
	set, err := argocd.DecodeSet(req.Object.Raw)
	switch {
	case err != nil:
		return nil, fmt.Errorf("object is not an ApplicationSet: %w", err)
	case set == nil:
		return nil, fmt.Errorf("the request to %s an ApplicationSet has no object", req.Operation)
	case set.DeletionTimestamp != nil:
		return nil, nil
	}
	if parent {
		set.Name = policy.NameOfParent(set.Name)
	}
	set.Namespace = req.Namespace
	w := &setWrite{set: set, dryRun: req.DryRun != nil && *req.DryRun, Write: approval.Write{
		Set: policy.ClientText(req.Namespace + "/" + set.Name), Waves: argocd.NewApplicationSet(set).Waves,
		User: req.UserInfo.Username, Groups: req.UserInfo.Groups, At: now,
	}}
	if actor != "" && w.User == actor {
		if w.User, err = actedFor(req); err != nil {
			return nil, err
		}
		w.Groups = []string{approval.ArgoCDGroup}
	}
	w.between(old, argocd.ReadAnnotations(set.Annotations))
	return w, nil
}

// actedFor is the user of Argo CD whom the request names.
func actedFor(req admissionv1.AdmissionRequest) (string, error) {
	var options metav1.UpdateOptions
	if err := json.Unmarshal(req.Options.Raw, &options); err != nil {
		return "", fmt.Errorf("the options of the request cannot be read: %w", err)
	}
	return approval.UserOf(options.FieldManager)
}

// between fills in the annotations before and after the write.
func (w *setWrite) between(old *argo.ApplicationSet, now argocd.Annotations) {
	var was argocd.Annotations
	if old != nil {
		was = argocd.ReadAnnotations(old.Annotations)
	}
	w.Old, w.New = was.Texts(), now.Texts()
	for _, name := range now.AllUnreadable() {
		if was.Unreadable(name) == "" {
			w.TooLong = append(w.TooLong, name)
		}
	}
}
