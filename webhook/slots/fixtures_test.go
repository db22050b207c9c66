// SPDX-License-Identifier: Apache-2.0

package slots

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
)

var resource = schema.GroupResource{Resource: "configmaps"}

// apiServer is a ConfigMapClient in memory, with the resourceVersions of an API server: an update that names one is
// refused unless it is the stored one, and an update that names none overwrites what is there.
type apiServer struct {
	mu      sync.Mutex
	version int
	objects map[string]*corev1.ConfigMap
	// fails is the error of the next calls.
	fails error
}

func newAPIServer() *apiServer { return &apiServer{objects: map[string]*corev1.ConfigMap{}} }

func (s *apiServer) do(name string, f func(stored *corev1.ConfigMap) (*corev1.ConfigMap, error)) (*corev1.ConfigMap, error) {
	runtime.Gosched() // others come in between, as they do on a network
	defer runtime.Gosched()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fails != nil {
		return nil, s.fails
	}
	return f(s.objects[name])
}

func (s *apiServer) store(object *corev1.ConfigMap) *corev1.ConfigMap {
	s.version++
	stored := object.DeepCopy()
	stored.ResourceVersion = strconv.Itoa(s.version)
	s.objects[object.Name] = stored
	return stored.DeepCopy()
}

// Get is ConfigMapClient.
func (s *apiServer) Get(_ context.Context, name string, _ metav1.GetOptions) (*corev1.ConfigMap, error) {
	return s.do(name, func(stored *corev1.ConfigMap) (*corev1.ConfigMap, error) {
		if stored == nil {
			return nil, apierrors.NewNotFound(resource, name)
		}
		return stored.DeepCopy(), nil
	})
}

// Create is ConfigMapClient.
func (s *apiServer) Create(_ context.Context, object *corev1.ConfigMap, _ metav1.CreateOptions) (*corev1.ConfigMap, error) {
	return s.do(object.Name, func(stored *corev1.ConfigMap) (*corev1.ConfigMap, error) {
		if stored != nil {
			return nil, apierrors.NewAlreadyExists(resource, object.Name)
		}
		return s.store(object), nil
	})
}

// Update is ConfigMapClient.
func (s *apiServer) Update(_ context.Context, object *corev1.ConfigMap, _ metav1.UpdateOptions) (*corev1.ConfigMap, error) {
	return s.do(object.Name, func(stored *corev1.ConfigMap) (*corev1.ConfigMap, error) {
		if stored == nil {
			return nil, apierrors.NewNotFound(resource, object.Name)
		}
		if object.ResourceVersion != "" && object.ResourceVersion != stored.ResourceVersion {
			return nil, apierrors.NewConflict(resource, object.Name, fmt.Errorf("the object has been modified"))
		}
		return s.store(object), nil
	})
}

// Delete is ConfigMapClient.
func (s *apiServer) Delete(_ context.Context, name string, _ metav1.DeleteOptions) error {
	_, err := s.do(name, func(stored *corev1.ConfigMap) (*corev1.ConfigMap, error) {
		if stored == nil {
			return nil, apierrors.NewNotFound(resource, name)
		}
		delete(s.objects, name)
		return nil, nil
	})
	return err
}

// List is ConfigMapClient.
func (s *apiServer) List(_ context.Context, options metav1.ListOptions) (*corev1.ConfigMapList, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := &corev1.ConfigMapList{}
	for _, object := range s.objects {
		if object.Labels[options.LabelSelector] != "" {
			list.Items = append(list.Items, *object)
		}
	}
	return list, s.fails
}

// family is a Reader of the Applications of one ApplicationSet, all in its first step unless their labels say otherwise.
type family struct {
	mu      sync.Mutex
	version int
	apps    map[string]*argocd.Projection
	// known is what the watches know; reads counts the live reads, and fails is their error.
	known []policy.Sibling
	reads int
	fails error
}

// guestbook is an ApplicationSet with two steps, of which both have a maxUpdate.
func guestbook(uid string, most intstr.IntOrString) *argocd.ApplicationSet {
	step := func(env string) policy.Step { return policy.Step{{Key: "env", Operator: "In", Values: []string{env}}} }
	return &argocd.ApplicationSet{
		ApplicationSet: policy.ApplicationSet{
			Namespace: "argocd", Name: "guestbook", UID: uid, RollingSync: true,
			Steps: []policy.Step{step("dev"), step("prod")}, Recorded: map[string]policy.Recorded{},
		},
		MaxUpdate: map[int]*intstr.IntOrString{0: &most, 1: &most},
	}
}

func newFamily(names ...string) *family {
	f := &family{apps: map[string]*argocd.Projection{}}
	for _, name := range names {
		f.change(name, func(*policy.Application) {})
	}
	return f
}

// change writes an Application, which is Healthy and OutOfSync at first.
func (f *family) change(name string, edit func(a *policy.Application)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.changed(name, edit)
}

func (f *family) changed(name string, edit func(a *policy.Application)) {
	f.version++
	p := &argocd.Projection{Application: policy.Application{
		Name: name, Labels: map[string]string{"env": "dev"}, Health: "Healthy", SyncStatus: "OutOfSync",
	}}
	if was := f.apps[name]; was != nil {
		p.Application = was.Application
	}
	edit(&p.Application)
	p.Name, p.UID, p.ResourceVersion = name, types.UID("uid-"+name), strconv.Itoa(f.version)
	f.apps[name] = p
}

// stores keeps an operation, as an API server does: only on the object that it was judged on.
func (f *family) stores(name, version string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.apps[name].ResourceVersion != version {
		return false
	}
	f.changed(name, func(a *policy.Application) { a.OperationSet = true })
	return true
}

func (f *family) versionOf(name string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.apps[name].ResourceVersion
}

// Known is Reader.
func (f *family) Known(*policy.ApplicationSet) []policy.Sibling { return f.known }

// Application is Reader.
func (f *family) Application(_ context.Context, _ *policy.ApplicationSet, name string) (*argocd.Projection, error) {
	runtime.Gosched()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reads++
	return f.apps[name], f.fails
}

// Current is Reader.
func (f *family) Current(
	_ context.Context, set *policy.ApplicationSet, step int, _ *argocd.Projection,
) (all []policy.Sibling, err error) {
	runtime.Gosched()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reads++
	for _, p := range f.apps {
		s := set.Sibling(&p.Application)
		if !s.Before(step) {
			s.Application = &policy.Application{Name: p.Name, Labels: p.Application.Labels}
		}
		all = append(all, s)
	}
	return all, f.fails
}

// sets are Sets with one ApplicationSet.
type sets struct {
	set *argocd.ApplicationSet
	err error
}

// ApplicationSet is Sets.
func (s *sets) ApplicationSet(context.Context, types.NamespacedName) (*argocd.ApplicationSet, error) {
	return s.set, s.err
}
