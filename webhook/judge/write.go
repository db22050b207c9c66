// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"fmt"
	"slices"
	"strings"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/settings"
)

// Write is one operation write as a Judge sees it.
type Write struct {
	// App and Old are the Application after and before the write; Old is nil for a CREATE.
	App, Old  *argocd.Application
	Target    policy.Target
	Namespace string
	UID       types.UID
	// Owners are what orders it before and after the write: usually one, and two when the write moves the Application from
	// one to another. Each is evaluated, and the strictest answer wins.
	Owners []argocd.Owner
	// User is who sent the request; the API server has authenticated it.
	User string
	// InitiatedBy and Bypass are what the operation claims; they are client data.
	InitiatedBy string
	Bypass      string
	Created     bool
	DryRun      bool
	// tracking finds the Owners.
	tracking argocd.Tracking
	// lender is the ApplicationSet of the Application where the write is judged as one of a member of the order of that
	// one's parent; else nil.
	lender *argocd.ApplicationSet
}

// Info returns the value of an entry of operation.info, or "".
func (w *Write) Info(name string) string {
	if w.App.Operation == nil {
		return ""
	}
	return infoOf(&w.App.Operation.Operation, name)
}

// Alone reports whether an operation is written that no ApplicationSet orders: the Application itself may come after
// others.
func (w *Write) Alone() bool {
	return w.Target.Operation.Written && !slices.ContainsFunc(w.Owners, func(o argocd.Owner) bool {
		_, parent := o.Parent()
		return !parent
	})
}

// remnant reports whether the operation is what is left of one of the ApplicationSet controller. While that takes a sync for
// being there that has just ended, or that an agent has fetched, its merge patch leaves out what both have: who initiates
// it, and all of the sync if that names nothing, as Kargo's (argo-cd v3.5.7, CreateOrUpdate in
// applicationset/utils/createOrUpdate.go). Argo CD refuses an operation without a sync, and tries it again for minutes.
func (w *Write) remnant() bool {
	op := w.App.Operation
	return w.Target.Operation.Written && op != nil && (op.Sync == nil || op.InitiatedBy == (argo.OperationInitiator{}))
}

// Forged reports whether the operation that is written brings a stamp that is not its own.
func (w *Write) Forged() bool {
	return w.Target.Operation.Written && w.App.Operation != nil && argocd.Forged(w.App, w.Old)
}

// Claim is what the operation says of who has started it.
func (w *Write) Claim() settings.Claim {
	return settings.Claim{User: w.User, InitiatedBy: w.InitiatedBy, Bypass: w.Bypass}
}

// NewWrite decodes an admission request. tracking finds what orders the Application. An error means that stepgate cannot
// judge the request.
func NewWrite(req admissionv1.AdmissionRequest, tracking argocd.Tracking) (*Write, error) {
	if req.Kind.Group != argo.SchemeGroupVersion.Group || req.Kind.Kind != "Application" {
		return nil, fmt.Errorf(
			"stepgate judges Applications of argoproj.io, not %.100s of %.100q: correct the rules of the "+
				"ValidatingWebhookConfiguration", req.Kind.Kind, req.Kind.Group,
		)
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
	w := &Write{
		App: app, Old: old,
		Target:    tracking.Target(app, old),
		Namespace: req.Namespace,
		UID:       app.Metadata.UID,
		Owners:    tracking.Owners(app, old),
		tracking:  tracking,
		User:      req.UserInfo.Username,
		Created:   req.Operation == admissionv1.Create,
		DryRun:    req.DryRun != nil && *req.DryRun,
	}
	if op := app.Operation; op != nil {
		w.InitiatedBy, w.Bypass = op.InitiatedBy.Username, infoOf(&op.Operation, settings.BypassInfo)
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

// OwnerUIDs are the UIDs of its Owners.
func (w *Write) OwnerUIDs() []types.UID {
	var uids []types.UID
	for _, o := range w.Owners {
		uids = append(uids, o.UID)
	}
	return uids
}

// Under is the write as it is judged in a mode. Nobody pins in audit mode, which tells what enforce mode would do: it is
// judged as if somebody had.
func (w *Write) Under(mode settings.Mode) *Write {
	if mode != settings.Audit {
		return w
	}
	pin := argocd.NewPin(w.App, w.Old, nil)
	return w.With(pin.Pinned(w.App))
}

// With is the write with another Application after it, as the mutating webhook leaves it.
func (w *Write) With(app *argocd.Application) *Write {
	next := *w
	next.App, next.Target = app, w.tracking.Target(app, w.Old)
	next.Target.Name = w.Target.Name
	if w.lender != nil {
		next.Target = w.lender.Child.Target(next.Target)
	}
	return &next
}

// In is the write as what orders its Application has it, from a namespace (policy.MemberName).
func (w *Write) In(namespace string) *Write {
	if namespace == w.Namespace {
		return w
	}
	next := *w
	next.Namespace, next.Target.Name = namespace, policy.MemberName(namespace, w.Namespace, w.Target.Name)
	return &next
}

// Object is the name of its Application.
func (w *Write) Object() types.NamespacedName {
	return argocd.ObjectName(types.NamespacedName{Namespace: w.Namespace, Name: w.Target.Name})
}

// Lent is the write as one of a member of the order of the parent of its ApplicationSet.
func (w *Write) Lent(lender *argocd.ApplicationSet) *Write {
	next := *w
	next.lender, next.Target = lender, lender.Child.Target(w.Target)
	return &next
}
