package webhook

import (
	"fmt"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	admissionv1 "k8s.io/api/admission/v1"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/approval"
	"github.com/stepgate/stepgate/webhook/argocd"
)

// setWrite is one write of an ApplicationSet.
type setWrite struct {
	approval.Write
	// set is the ApplicationSet after the write.
	set    *argo.ApplicationSet
	dryRun bool
}

// newSetWrite decodes an admission request. It returns nil for a write that is none of stepgate's business: a DELETE,
// one of a subresource, and one of an ApplicationSet that is being deleted. An error means that the request cannot be
// judged.
func newSetWrite(req admissionv1.AdmissionRequest, now time.Time) (*setWrite, error) {
	if req.Kind.Group != argo.SchemeGroupVersion.Group || req.Kind.Kind != "ApplicationSet" {
		return nil, fmt.Errorf(
			"stepgate judges ApplicationSets of argoproj.io here, not %.100s of %.100q: correct the rules of the webhook "+
				"configuration", req.Kind.Kind, req.Kind.Group,
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
	set.Namespace = req.Namespace
	w := &setWrite{set: set, dryRun: req.DryRun != nil && *req.DryRun, Write: approval.Write{
		Set:  policy.ClientText(req.Namespace + "/" + set.Name),
		User: req.UserInfo.Username, Groups: req.UserInfo.Groups, At: now,
	}}
	w.between(old, argocd.ReadAnnotations(set.Annotations))
	return w, nil
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
