package webhook

import (
	"fmt"
	"strings"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/settings"
)

// write is one operation write as the gate sees it.
type write struct {
	// app and old are the Application after and before the write; old is nil for a CREATE.
	app, old  *argocd.Application
	target    policy.Target
	namespace string
	uid       types.UID
	// owners are the controlling ApplicationSets before and after the write: usually one, and two when the write moves
	// the Application from one to another. Each is evaluated, and the strictest answer wins.
	owners []metav1.OwnerReference
	// user is who sent the request; the API server has authenticated it.
	user string
	// initiatedBy and bypass are what the operation claims; they are client data.
	initiatedBy string
	bypass      string
	created     bool
	dryRun      bool
}

// claim is what the operation says of who has started it.
func (w *write) claim() settings.Claim {
	return settings.Claim{User: w.user, InitiatedBy: w.initiatedBy, Bypass: w.bypass}
}

// newWrite decodes an admission request. An error means that stepgate cannot judge the request.
func newWrite(req admissionv1.AdmissionRequest) (*write, error) {
	if req.Kind.Group != argo.SchemeGroupVersion.Group || req.Kind.Kind != "Application" {
		return nil, fmt.Errorf("stepgate judges Applications of argoproj.io, not %.100s of %.100q: correct the rules of the ValidatingWebhookConfiguration", req.Kind.Kind, req.Kind.Group)
	}
	old, err := argocd.Decode(req.OldObject.Raw)
	if err != nil {
		return nil, fmt.Errorf("oldObject is not an Application: %w", err)
	}
	app, err := argocd.Decode(req.Object.Raw)
	if err != nil {
		return nil, fmt.Errorf("object is not an Application: %w", err)
	}
	if app == nil {
		if req.Operation != admissionv1.Delete {
			return nil, fmt.Errorf("the request to %s an Application has no object", req.Operation)
		}
		app = &argocd.Application{}
	}
	w := &write{
		app: app, old: old,
		target:    argocd.Target(app, old),
		namespace: req.Namespace,
		uid:       app.Metadata.UID,
		owners:    argocd.Owners(app, old),
		user:      req.UserInfo.Username,
		created:   req.Operation == admissionv1.Create,
		dryRun:    req.DryRun != nil && *req.DryRun,
	}
	if op := app.Operation; op != nil {
		w.initiatedBy, w.bypass = op.InitiatedBy.Username, infoOf(&op.Operation, settings.BypassInfo)
	}
	return w, nil
}

// infoOf returns the value of an entry of operation.info, or "".
func infoOf(op *argo.Operation, name string) string {
	for _, info := range op.Info {
		if info != nil && info.Name == name {
			return strings.TrimSpace(info.Value)
		}
	}
	return ""
}
