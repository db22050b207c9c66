// SPDX-License-Identifier: Apache-2.0

package slots

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// Prefix is what the names of the ConfigMaps begin with; the UID of the ApplicationSet follows.
	Prefix = "stepgate-slots-"
	// Label marks them.
	Label = "stepgate.io/slots"
	// key is their only one.
	key = "slots.json"
)

// ErrConflict says that another write has come between the read and the write of an object.
var ErrConflict = errors.New("the object has changed since it was read")

// Stored is the object of an ApplicationSet as it was read, or as it shall be written on the one that was read.
type Stored struct {
	Text string
	// Version is empty if there is none yet.
	Version string
}

// Objects keep one object for each ApplicationSet. ConfigMaps are these.
type Objects interface {
	// Read reads an object live.
	Read(ctx context.Context, set types.UID) (Stored, error)
	// Write writes an object if it still has the version that was read. Otherwise the error is ErrConflict.
	Write(ctx context.Context, set types.UID, s Stored) error
}

// ConfigMapClient is the part of client-go's client that is used.
type ConfigMapClient interface {
	Get(ctx context.Context, name string, options metav1.GetOptions) (*corev1.ConfigMap, error)
	Create(ctx context.Context, object *corev1.ConfigMap, options metav1.CreateOptions) (*corev1.ConfigMap, error)
	Update(ctx context.Context, object *corev1.ConfigMap, options metav1.UpdateOptions) (*corev1.ConfigMap, error)
	Delete(ctx context.Context, name string, options metav1.DeleteOptions) error
	List(ctx context.Context, options metav1.ListOptions) (*corev1.ConfigMapList, error)
}

// ConfigMaps keep the objects as ConfigMaps of one namespace.
type ConfigMaps struct{ Client ConfigMapClient }

var _ Objects = ConfigMaps{}

// Read is Objects.
func (m ConfigMaps) Read(ctx context.Context, set types.UID) (Stored, error) {
	name := Prefix + string(set)
	object, err := m.Client.Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err) && !apierrors.IsUnexpectedServerError(err):
		return Stored{}, nil
	case err != nil:
		return Stored{}, fmt.Errorf("get ConfigMap %s: %w", name, err)
	case object.Name != name || object.ResourceVersion == "":
		return Stored{}, fmt.Errorf("get ConfigMap %s: the answer is not this object", name)
	case object.Data[key] == "":
		return Stored{}, fmt.Errorf("ConfigMap %s has no %s: delete it", name, key)
	}
	return Stored{Text: object.Data[key], Version: object.ResourceVersion}, nil
}

// Write is Objects. An update names the version that was read: the API server refuses it if that is not the stored one.
func (m ConfigMaps) Write(ctx context.Context, set types.UID, s Stored) error {
	object := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name: Prefix + string(set), ResourceVersion: s.Version,
			Labels: map[string]string{Label: "true", "app.kubernetes.io/managed-by": "stepgate"},
		},
		Data: map[string]string{key: s.Text},
	}
	var err error
	if s.Version == "" {
		_, err = m.Client.Create(ctx, object, metav1.CreateOptions{})
	} else {
		_, err = m.Client.Update(ctx, object, metav1.UpdateOptions{})
	}
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) {
		return fmt.Errorf("write ConfigMap %s: %w: %w", object.Name, ErrConflict, err)
	}
	if err != nil {
		return fmt.Errorf("write ConfigMap %s: %w", object.Name, err)
	}
	return nil
}

// Kept are the ApplicationSets that have an object, with the namespace and the name of each.
func (m ConfigMaps) Kept(ctx context.Context) (map[types.UID]types.NamespacedName, error) {
	list, err := m.Client.List(ctx, metav1.ListOptions{LabelSelector: Label})
	if err != nil {
		return nil, fmt.Errorf("list the ConfigMaps of slots: %w", err)
	}
	all := map[types.UID]types.NamespacedName{}
	for i := range list.Items {
		uid, ours := cutPrefix(list.Items[i].Name)
		t, err := parse(list.Items[i].Data[key])
		namespace, name, named := strings.Cut(t.Set, "/")
		if ours && err == nil && named {
			all[uid] = types.NamespacedName{Namespace: namespace, Name: name}
		}
	}
	return all, nil
}

// cutPrefix is the UID of the ApplicationSet from the name of its object.
func cutPrefix(name string) (set types.UID, ours bool) {
	uid, ours := strings.CutPrefix(name, Prefix)
	return types.UID(uid), ours
}

// Remove removes the object of an ApplicationSet that is gone.
func (m ConfigMaps) Remove(ctx context.Context, set types.UID) error {
	err := m.Client.Delete(ctx, Prefix+string(set), metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete ConfigMap %s: %w", Prefix+string(set), err)
	}
	return nil
}
