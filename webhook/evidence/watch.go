// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"context"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/settings"
)

const (
	// perPage is how many objects a LIST gives at once. Each may have 256 KiB of annotations.
	perPage = 50
	// mostLabels bounds the labels that are kept of an object. Of one that has more, none is.
	mostLabels = 64
)

// Watch knows which objects speak of a revision, as last watched: their metadata, without the annotations. What they say
// it has read, in the background.
type Watch struct {
	kinds    Kinds
	stores   []store
	looks    *looks
	onChange func(kind schema.GroupResource, object types.NamespacedName)
}

// store has the objects of one kind in one namespace, or in all.
type store struct {
	kind      schema.GroupResource
	namespace string
	informer  cache.SharedIndexInformer
}

// NewWatch returns a Watch of these kinds in these namespaces, of which metav1.NamespaceAll is all.
func NewWatch(kinds Kinds, namespaces []string, objects metadata.Interface, reader *Reader) *Watch {
	w := &Watch{kinds: kinds}
	w.looks = newLooks(reader, func(v *settings.Verification) {
		w.changed(v.Resource, types.NamespacedName{Namespace: v.Namespace, Name: v.Name})
	})
	for _, kind := range kinds {
		for _, namespace := range namespaces {
			w.stores = append(w.stores, store{kind.GroupResource(), namespace, cache.NewSharedIndexInformer(
				speaking(objects, kind, namespace), &metav1.PartialObjectMetadata{}, 0,
				cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc},
			)})
		}
	}
	return w
}

// speaking lists and watches the metadata of objects that speak of a revision, in small pages.
func speaking(objects metadata.Interface, kind schema.GroupVersionResource, namespace string) cache.ListerWatcher {
	client := objects.Resource(kind).Namespace(namespace)
	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.LabelSelector, o.Limit = RevisionLabel, perPage
			if o.ResourceVersion == "0" {
				o.ResourceVersion = "" // or else the API server gives all at once
			}
			list, err := client.List(ctx, o)
			if err != nil {
				return nil, err
			}
			for i := range list.Items {
				strip(&list.Items[i])
			}
			return list, nil
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.LabelSelector = RevisionLabel
			return client.Watch(ctx, o)
		},
	}, objects)
}

// strip keeps what is needed to find an object, and to see that it has changed.
func strip(o *metav1.PartialObjectMetadata) {
	o.ObjectMeta = metav1.ObjectMeta{
		Namespace: o.Namespace, Name: o.Name, UID: o.UID, ResourceVersion: o.ResourceVersion, Labels: o.Labels,
	}
	if len(o.Labels) > mostLabels {
		o.Labels = nil
	}
}

// OnChange has f called whenever an object has changed that speaks of a revision, or what it says was read. It is called
// before Run.
func (w *Watch) OnChange(f func(kind schema.GroupResource, object types.NamespacedName)) {
	w.onChange = f
}

func (w *Watch) changed(kind schema.GroupResource, object types.NamespacedName) {
	if w.onChange != nil {
		w.onChange(kind, object)
	}
}

// Run watches until ctx is done. A kind that the cluster does not have, or that stepgate may not list, is tried again
// and again.
func (w *Watch) Run(ctx context.Context) error {
	for _, s := range w.stores {
		if err := s.run(ctx, w.changed); err != nil {
			return err
		}
	}
	w.looks.run(ctx)
	return nil
}

func (s *store) run(ctx context.Context, changed func(schema.GroupResource, types.NamespacedName)) error {
	err := s.informer.SetTransform(func(object any) (any, error) {
		if o, ok := object.(*metav1.PartialObjectMetadata); ok {
			strip(o)
		}
		return object, nil
	})
	if err != nil {
		return err
	}
	see := func(object any) {
		if key, err := cache.DeletionHandlingObjectToName(object); err == nil {
			changed(s.kind, types.NamespacedName(key))
		}
	}
	if _, err := s.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: see, UpdateFunc: func(_, now any) { see(now) }, DeleteFunc: see,
	}); err != nil {
		return err
	}
	go s.informer.RunWithContext(ctx)
	return nil
}

// Known gives what the watched objects of Verifications say, as last read. What was not read yet, it has read.
func (w *Watch) Known(all []settings.Verification) policy.Evidence {
	return func(of policy.Verification, what string) policy.Finding {
		v := Of(all, of)
		if v == nil {
			return policy.Finding{Detail: "nobody has looked"}
		}
		if !w.kinds.Read(v.Resource) {
			return notRead(v.Resource)
		}
		i := slices.IndexFunc(w.stores, func(s store) bool {
			return s.kind == v.Resource && (s.namespace == v.Namespace || s.namespace == metav1.NamespaceAll)
		})
		revision := LabelOf(what)
		switch {
		case i < 0 || !w.stores[i].informer.HasSynced():
			return policy.Finding{Detail: "stepgate has not listed " + v.Resource.String() + " in namespace " + v.Namespace}
		case revision == "":
			return unspeakable
		}
		switch versions := w.stores[i].speaking(v, revision); {
		case len(versions) == 0:
			return none(v, revision)
		case len(versions) > mostObjects:
			return tooMany(revision)
		default:
			return w.looks.known(v, what, strings.Join(versions, " "))
		}
	}
}

// speaking are the versions of the objects that speak of a revision.
func (s *store) speaking(v *settings.Verification, revision string) (versions []string) {
	objects, err := s.informer.GetIndexer().ByIndex(cache.NamespaceIndex, v.Namespace)
	if err != nil {
		return nil
	}
	selects := selectors(v, revision)
	for _, o := range objects {
		if o, ok := o.(*metav1.PartialObjectMetadata); ok && speaks(v, selects, o.Name, o.Labels) {
			versions = append(versions, string(o.UID)+"@"+o.ResourceVersion)
		}
	}
	slices.Sort(versions)
	return versions
}
