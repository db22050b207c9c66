// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/expression"
	"github.com/stepgate/stepgate/webhook/settings"
)

// Reader reads live what objects say.
type Reader struct {
	kinds    Kinds
	metadata metadata.Interface
	objects  Getter
}

// NewReader returns a Reader of these kinds.
func NewReader(kinds Kinds, metadata metadata.Interface, objects Getter) *Reader {
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
	if revision == "" {
		return unspeakable, nil
	}
	selected := selectors(v, revision)
	names, err := r.names(ctx, kind, v, selected)
	switch {
	case err != nil:
		return unread(v, err)
	case len(names) > mostObjects:
		return tooMany(revision), nil
	}
	var each []policy.Finding
	for _, name := range names {
		o, err := r.objects.Get(ctx, kind, types.NamespacedName{Namespace: v.Namespace, Name: name})
		switch {
		case apierrors.IsNotFound(err):
		case errors.Is(err, ErrTooLarge):
			each = append(each, said(name, metav1.Time{}, expression.NotYet(ErrTooLarge.Error())))
		case err != nil:
			return unread(v, err)
		case speaks(v, selected, name, o.GetLabels()): // it may have got others since
			each = append(each, said(name, o.GetCreationTimestamp(), says(v, o)))
		}
	}
	return together(v, revision, each), nil
}

// names are of the objects that speak of a revision, and at most one more than may do so.
func (r *Reader) names(
	ctx context.Context, kind schema.GroupVersionResource, v *settings.Verification, selected []labels.Selector,
) (names []string, err error) {
	for _, selector := range selected {
		options := metav1.ListOptions{LabelSelector: selector.String(), Limit: mostObjects + 1}
		if v.Name != "" {
			options.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, v.Name).String()
		}
		list, err := r.metadata.Resource(kind).Namespace(v.Namespace).List(ctx, options)
		if err != nil {
			return nil, err
		}
		for i := range list.Items {
			names = append(names, list.Items[i].Name)
		}
		if len(names) > mostObjects {
			break
		}
	}
	return names, nil
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
