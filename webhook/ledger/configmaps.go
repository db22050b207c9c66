// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// Prefix is what the names of the ConfigMaps begin with. The UID of the ApplicationSet follows, and the number of the
	// part.
	Prefix = "stepgate-ledger-"
	// Label marks them, with that UID.
	Label = "stepgate.io/ledger"
	// SetAnnotation has the namespace/name of the ApplicationSet.
	SetAnnotation = "stepgate.io/ledger-of"
	// CompletionsKey is where they have a Document.
	CompletionsKey = "completions.json.gz"
	// RolloutsKey is where the first part has a Log.
	RolloutsKey = "rollouts.json.gz"
)

// ErrConflict says that somebody else has written or deleted an object since it was read.
var ErrConflict = errors.New("the object has changed since it was read")

// ID names a part.
type ID struct {
	Set  types.UID
	Part int
}

// Name is that of its ConfigMap.
func (id ID) Name() string { return Prefix + string(id.Set) + "-" + strconv.Itoa(id.Part) }

// Object is a part as it is stored. Version is its resourceVersion; empty if it is to be created.
type Object struct {
	ID
	// Of is the ApplicationSet, as namespace/name.
	Of                    string
	Version               string
	Completions, Rollouts []byte
}

// ObjectOf is what a ConfigMap holds. ours says that its name and its label agree: else it is none of stepgate's.
func ObjectOf(m *corev1.ConfigMap) (o Object, ours bool) {
	set := m.Labels[Label]
	number, found := strings.CutPrefix(m.Name, Prefix+set+"-")
	part, err := strconv.Atoi(number)
	o = Object{
		ID: ID{types.UID(set), part}, Of: m.Annotations[SetAnnotation], Version: m.ResourceVersion,
		Completions: m.BinaryData[CompletionsKey], Rollouts: m.BinaryData[RolloutsKey],
	}
	return o, set != "" && found && err == nil && o.Name() == m.Name
}

// Client is the part of client-go's client for ConfigMaps that is used.
type Client interface {
	Create(ctx context.Context, object *corev1.ConfigMap, options metav1.CreateOptions) (*corev1.ConfigMap, error)
	Update(ctx context.Context, object *corev1.ConfigMap, options metav1.UpdateOptions) (*corev1.ConfigMap, error)
	Delete(ctx context.Context, name string, options metav1.DeleteOptions) error
	List(ctx context.Context, options metav1.ListOptions) (*corev1.ConfigMapList, error)
}

// ConfigMaps write the parts as ConfigMaps of one namespace.
type ConfigMaps struct{ Client Client }

// Write writes a part if it still has the version that was read, and returns its new one. Otherwise the error is
// ErrConflict.
func (m ConfigMaps) Write(ctx context.Context, o Object) (version string, err error) {
	object := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name: o.Name(), ResourceVersion: o.Version,
			Labels:      map[string]string{Label: string(o.Set), "app.kubernetes.io/managed-by": "stepgate"},
			Annotations: map[string]string{SetAnnotation: o.Of},
		},
		BinaryData: map[string][]byte{CompletionsKey: o.Completions},
	}
	if len(o.Rollouts) > 0 {
		object.BinaryData[RolloutsKey] = o.Rollouts
	}
	var written *corev1.ConfigMap
	if o.Version == "" {
		written, err = m.Client.Create(ctx, object, metav1.CreateOptions{})
	} else {
		written, err = m.Client.Update(ctx, object, metav1.UpdateOptions{})
	}
	switch {
	case apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err):
		return "", fmt.Errorf("write ConfigMap %s: %w: %w", object.Name, ErrConflict, err)
	case err != nil:
		return "", fmt.Errorf("write ConfigMap %s: %w", object.Name, err)
	}
	return written.ResourceVersion, nil
}

// Kept are the ApplicationSets that have a part, with the namespace and the name of each.
func (m ConfigMaps) Kept(ctx context.Context) (map[types.UID]types.NamespacedName, error) {
	list, err := m.Client.List(ctx, metav1.ListOptions{LabelSelector: Label})
	if err != nil {
		return nil, fmt.Errorf("list the ConfigMaps of the ledger: %w", err)
	}
	all := map[types.UID]types.NamespacedName{}
	for i := range list.Items {
		o, ours := ObjectOf(&list.Items[i])
		if namespace, name, named := strings.Cut(o.Of, "/"); ours && named {
			all[o.Set] = types.NamespacedName{Namespace: namespace, Name: name}
		}
	}
	return all, nil
}

// Remove removes the parts of an ApplicationSet that is gone.
func (m ConfigMaps) Remove(ctx context.Context, set types.UID) error {
	list, err := m.Client.List(ctx, metav1.ListOptions{LabelSelector: Label + "=" + string(set)})
	if err != nil {
		return fmt.Errorf("list the ConfigMaps of the ledger: %w", err)
	}
	for i := range list.Items {
		if _, ours := ObjectOf(&list.Items[i]); !ours {
			continue
		}
		if err := m.RemovePart(ctx, list.Items[i].Name); err != nil {
			return err
		}
	}
	return nil
}

// RemovePart removes one ConfigMap.
func (m ConfigMaps) RemovePart(ctx context.Context, name string) error {
	err := m.Client.Delete(ctx, name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete ConfigMap %s: %w", name, err)
	}
	return nil
}
