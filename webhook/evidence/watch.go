package evidence

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/settings"
)

// Watch knows the objects that speak of a revision, as last watched. It holds none of the others.
type Watch struct {
	kinds    Kinds
	stores   []store
	onChange func(kind schema.GroupResource, object types.NamespacedName)
}

// store has the objects of one kind in one namespace, or in all.
type store struct {
	kind      schema.GroupResource
	namespace string
	informer  cache.SharedIndexInformer
}

// NewWatch returns a Watch of these kinds in these namespaces, of which metav1.NamespaceAll is all.
func NewWatch(kinds Kinds, namespaces []string, objects dynamic.Interface) *Watch {
	w := &Watch{kinds: kinds}
	for _, kind := range kinds {
		for _, namespace := range namespaces {
			client := objects.Resource(kind).Namespace(namespace)
			w.stores = append(w.stores, store{kind.GroupResource(), namespace, cache.NewSharedIndexInformer(
				&cache.ListWatch{
					ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
						o.LabelSelector = RevisionLabel
						return client.List(ctx, o)
					},
					WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
						o.LabelSelector = RevisionLabel
						return client.Watch(ctx, o)
					},
				}, &unstructured.Unstructured{}, 0,
				cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc},
			)})
		}
	}
	return w
}

// OnChange has f called whenever an object has changed that speaks of a revision. It is called before Run.
func (w *Watch) OnChange(f func(kind schema.GroupResource, object types.NamespacedName)) {
	w.onChange = f
}

// Run watches until ctx is done. A kind that the cluster does not have, or that stepgate may not list, is tried again
// and again.
func (w *Watch) Run(ctx context.Context) error {
	for _, s := range w.stores {
		changed := func(object any) {
			if key, err := cache.DeletionHandlingObjectToName(object); err == nil && w.onChange != nil {
				w.onChange(s.kind, types.NamespacedName(key))
			}
		}
		_, err := s.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: changed, UpdateFunc: func(_, now any) { changed(now) }, DeleteFunc: changed,
		})
		if err != nil {
			return err
		}
		go s.informer.RunWithContext(ctx)
	}
	<-ctx.Done()
	return nil
}

// Known gives what the watched objects of Verifications say.
func (w *Watch) Known(all []settings.Verification) policy.Evidence {
	return func(of policy.Verification, what string) policy.Finding {
		v := Of(all, of)
		if v == nil {
			return policy.Finding{Detail: "nobody has looked"}
		}
		if _, reads := w.kinds.Of(v.Resource); !reads {
			return notRead(v.Resource)
		}
		i := slices.IndexFunc(w.stores, func(s store) bool {
			return s.kind == v.Resource && (s.namespace == v.Namespace || s.namespace == metav1.NamespaceAll)
		})
		if i < 0 || !w.stores[i].informer.HasSynced() {
			return policy.Finding{Detail: "stepgate has not listed " + v.Resource.String() + " in namespace " + v.Namespace}
		}
		return Among(v, what, w.stores[i].in(v.Namespace))
	}
}

// in are the objects in a namespace.
func (s *store) in(namespace string) (all []*unstructured.Unstructured) {
	objects, err := s.informer.GetIndexer().ByIndex(cache.NamespaceIndex, namespace)
	if err != nil {
		return nil
	}
	for _, o := range objects {
		if o, ok := o.(*unstructured.Unstructured); ok {
			all = append(all, o)
		}
	}
	return all
}

// Among finds what those of some objects say that are of a Verification and speak of what is deployed. The objects are of
// its kind, and in its namespace.
func Among(v *settings.Verification, what string, objects []*unstructured.Unstructured) policy.Finding {
	revision := LabelOf(what)
	selects := selector(v, revision)
	var speak []*unstructured.Unstructured
	for _, o := range objects {
		if (v.Name == "" || o.GetName() == v.Name) && selects.Matches(labels.Set(o.GetLabels())) {
			speak = append(speak, o)
		}
	}
	return found(v, revision, speak)
}
