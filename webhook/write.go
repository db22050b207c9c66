package webhook

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/siblings"
)

// write is one operation write as the gate sees it.
type write struct {
	target    policy.Target
	namespace string
	uid       types.UID
	// owners are the controlling ApplicationSets before and after the write: usually one, and two when the write moves
	// the Application from one to another. Each is judged and the strictest wins.
	owners []metav1.OwnerReference
	// user is who sent the request; it is authenticated by the API server.
	user string
	// initiatedBy and bypass are what the operation claims; they are client data.
	initiatedBy string
	bypass      string
	created     bool
	dryRun      bool
}

// newWrite projects an admission request. An error means that the request is not one that stepgate can judge.
func newWrite(req admissionv1.AdmissionRequest) (*write, error) {
	if req.Kind.Group != "argoproj.io" || req.Kind.Kind != "Application" {
		return nil, fmt.Errorf("stepgate judges Applications of argoproj.io, not %.100s of %.100q: correct the rules of the ValidatingWebhookConfiguration", req.Kind.Kind, req.Kind.Group)
	}
	old, err := decodeApplication(req.OldObject.Raw)
	if err != nil {
		return nil, fmt.Errorf("oldObject is not an Application: %w", err)
	}
	app, err := decodeApplication(req.Object.Raw)
	if err != nil {
		return nil, fmt.Errorf("object is not an Application: %w", err)
	}
	if app == nil {
		if req.Operation != admissionv1.Delete {
			return nil, fmt.Errorf("the request to %s an Application has no object", req.Operation)
		}
		app = &object{Application: &argo.Application{}}
	}
	w := &write{
		target:    target(app, old),
		namespace: req.Namespace,
		uid:       app.UID,
		owners:    owners(app, old),
		user:      req.UserInfo.Username,
		created:   req.Operation == admissionv1.Create,
		dryRun:    req.DryRun != nil && *req.DryRun,
	}
	w.target.Managed = len(w.owners) > 0
	if app.Operation != nil {
		w.initiatedBy = app.Operation.InitiatedBy.Username
		w.bypass = bypassInfo(app.Operation)
	}
	return w, nil
}

// target projects the Application as it will be after the write, but with its status from before: what an operation is
// judged by cannot be brought along in the same write.
func target(app, old *object) policy.Target {
	known := *app.Application
	known.Status = argo.ApplicationStatus{}
	t := policy.Target{Operation: policy.Operation{Written: app.Operation != nil}}
	if old != nil {
		known.Status = old.Status
		t.OldLabels = old.Labels
		if t.OldLabels == nil {
			t.OldLabels = map[string]string{}
		}
		t.Operation.Written = app.Operation != nil && !reflect.DeepEqual(app.operation, old.operation)
	}
	t.Application = siblings.Project(&known)
	if app.Operation == nil {
		return t
	}
	t.Operation.DryRun = app.Operation.DryRun()
	t.Operation.Automated = app.Operation.InitiatedBy.Automated
	t.Operation.Pinned = app.Operation.Sync != nil && len(explicitRevisions(app.Operation.Sync)) > 0
	t.Operation.RollsBack = rollsBack(&known)
	t.Wanted = wanted(&known)
	return t
}

// owners are the ApplicationSets that control the Application, before or after the write, each once.
func owners(apps ...*object) []metav1.OwnerReference {
	var found []metav1.OwnerReference
	for _, app := range apps {
		if app == nil {
			continue
		}
		owner := metav1.GetControllerOf(app)
		if owner == nil || owner.Kind != "ApplicationSet" || !strings.HasPrefix(owner.APIVersion, "argoproj.io/") {
			continue
		}
		same := func(o metav1.OwnerReference) bool { return o.UID == owner.UID && o.Name == owner.Name }
		if !slices.ContainsFunc(found, same) {
			found = append(found, *owner)
		}
	}
	return found
}

// wanted are the sources and revisions that the operation will deploy: its explicit ones where it has them, else those
// that the Application was last compared with. A source is left out where neither tells. Local manifests, which are no
// revision of anything, are judged as if the Application were synced to what it was compared with.
func wanted(app *argo.Application) []policy.Source {
	sources, explicit := app.Spec.GetSources(), []string(nil)
	compared := siblings.Project(app).Compared
	if sync := app.Operation.Sync; sync != nil {
		if len(sync.Sources) > 0 {
			sources = sync.Sources
		} else if sync.Source != nil {
			sources = argo.ApplicationSources{*sync.Source}
		}
		if len(sync.Manifests) == 0 {
			explicit = explicitRevisions(sync)
		}
	}
	var all []policy.Source
	for i, w := range siblings.Sources(sources, explicit) {
		// A revision that only repeats the targetRevision, as kubectl users write it, is not resolved yet.
		if w.Revision != "" && w.Revision != cmp.Or(sources[i].TargetRevision, "HEAD") {
			all = append(all, w)
			continue
		}
		for _, c := range compared {
			if c.Key == w.Key {
				all = append(all, c)
			}
		}
	}
	return all
}

// rollsBack reports whether the operation's explicit revisions and sources equal an older entry of the history.
func rollsBack(app *argo.Application) bool {
	sync := app.Operation.Sync
	if sync == nil || len(app.Status.History) == 0 {
		return false
	}
	revisions, sources := explicitRevisions(sync), sync.Sources
	if len(sources) == 0 && sync.Source != nil {
		sources = argo.ApplicationSources{*sync.Source}
	}
	if len(revisions) == 0 || len(sources) == 0 || len(sync.Manifests) > 0 {
		return false
	}
	older := app.Status.History[:len(app.Status.History)-1]
	return slices.ContainsFunc(older, func(h argo.RevisionHistory) bool {
		if len(h.Sources) > 0 {
			return slices.Equal(revisions, h.Revisions) && sources.Equals(h.Sources)
		}
		return slices.Equal(revisions, []string{h.Revision}) && sources.Equals(argo.ApplicationSources{h.Source})
	})
}

func explicitRevisions(sync *argo.SyncOperation) []string {
	if len(sync.Revisions) == 0 && sync.Revision != "" {
		return []string{sync.Revision}
	}
	return sync.Revisions
}
