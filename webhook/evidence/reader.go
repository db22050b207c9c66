package evidence

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/settings"
)

// Kinds are the kinds of objects that an installation reads, each in the version in which it reads them.
type Kinds []schema.GroupVersionResource

// Of is the kind of a resource; false if the installation does not read it.
func (k Kinds) Of(r schema.GroupResource) (schema.GroupVersionResource, bool) {
	i := slices.IndexFunc(k, func(v schema.GroupVersionResource) bool { return v.GroupResource() == r })
	if i < 0 {
		return schema.GroupVersionResource{}, false
	}
	return k[i], true
}

// notRead says that the installation does not read a kind.
func notRead(r schema.GroupResource) policy.Finding {
	return policy.Finding{Detail: "this installation does not read " + r.String() + " (config.verify.kinds)"}
}

// Reader reads live what objects say.
type Reader struct {
	kinds    Kinds
	metadata metadata.Interface
	objects  dynamic.Interface
}

// NewReader returns a Reader of these kinds.
func NewReader(kinds Kinds, metadata metadata.Interface, objects dynamic.Interface) *Reader {
	return &Reader{kinds: kinds, metadata: metadata, objects: objects}
}

// Read finds what the objects of a Verification say about what is deployed: their metadata, by the label, and then each
// of the few that have it. What the API server refuses, or does not have, gives no answer, and says so. Another error
// means that nothing was found out.
func (r *Reader) Read(ctx context.Context, v *settings.Verification, what string) (policy.Finding, error) {
	kind, reads := r.kinds.Of(v.Resource)
	if !reads {
		return notRead(v.Resource), nil
	}
	revision := LabelOf(what)
	options := metav1.ListOptions{LabelSelector: selector(v, revision).String(), Limit: mostObjects + 1}
	if v.Name != "" {
		options.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, v.Name).String()
	}
	list, err := r.metadata.Resource(kind).Namespace(v.Namespace).List(ctx, options)
	if err != nil {
		return unread(v, err)
	}
	if len(list.Items) > mostObjects {
		return tooMany(revision), nil
	}
	var objects []*unstructured.Unstructured
	for i := range list.Items {
		o, err := r.objects.Resource(kind).Namespace(v.Namespace).Get(ctx, list.Items[i].Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return unread(v, err)
		}
		if o.GetLabels()[RevisionLabel] == revision { // it may have got another one since
			objects = append(objects, o)
		}
	}
	return found(v, revision, objects), nil
}

// unread is what an error of the API server says.
func unread(v *settings.Verification, err error) (policy.Finding, error) {
	switch {
	case apierrors.IsNotFound(err):
		return policy.Finding{Detail: "the cluster has no " + v.Resource.String() + " in the configured version"}, nil
	case apierrors.IsForbidden(err):
		return policy.Finding{Detail: "stepgate may not read " + v.Resource.String() + " in namespace " + v.Namespace}, nil
	}
	return policy.Finding{}, fmt.Errorf("read %s in namespace %s: %w", v.Resource, v.Namespace, err)
}
