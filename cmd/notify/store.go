// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// Label marks the ConfigMap.
const Label = "stepgate.io/notifications"

// ErrConflict says that another write has come between the read and the write.
var ErrConflict = errors.New("the ConfigMap has changed since it was read")

// Cluster reads the settings of Argo CD's notifications, and keeps the state.
type Cluster struct {
	Clientset kubernetes.Interface
	// Namespace is Argo CD's.
	Namespace string
	// State is the ConfigMap.
	State types.NamespacedName
}

// Settings are the ConfigMap and the Secret, and empty ones where there are none.
func (c Cluster) Settings(ctx context.Context) (*corev1.ConfigMap, *corev1.Secret, error) {
	config, err := c.Clientset.CoreV1().ConfigMaps(c.Namespace).Get(ctx, ConfigMapName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		config, err = &corev1.ConfigMap{}, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("get ConfigMap %s/%s: %w", c.Namespace, ConfigMapName, err)
	}
	secret, err := c.Clientset.CoreV1().Secrets(c.Namespace).Get(ctx, SecretName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		secret, err = &corev1.Secret{}, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("get Secret %s/%s: %w", c.Namespace, SecretName, err)
	}
	return config, secret, nil
}

// Read reads the state live. The version is empty if there is none yet.
func (c Cluster) Read(ctx context.Context) (data map[string]string, version string, err error) {
	object, err := c.Clientset.CoreV1().ConfigMaps(c.State.Namespace).Get(ctx, c.State.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err) && !apierrors.IsUnexpectedServerError(err):
		return nil, "", nil
	case err != nil:
		return nil, "", fmt.Errorf("get ConfigMap %s: %w", c.State, err)
	case object.Name != c.State.Name || object.ResourceVersion == "":
		return nil, "", fmt.Errorf("get ConfigMap %s: the answer is not this object", c.State)
	}
	return object.Data, object.ResourceVersion, nil
}

// Write writes the state if it still has the version that was read, and returns the new one. Otherwise the error is
// ErrConflict.
func (c Cluster) Write(ctx context.Context, data map[string]string, version string) (string, error) {
	objects := c.Clientset.CoreV1().ConfigMaps(c.State.Namespace)
	object := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name: c.State.Name, ResourceVersion: version,
			Labels: map[string]string{Label: "true", "app.kubernetes.io/managed-by": "stepgate"},
		},
		Data: data,
	}
	var err error
	if version == "" {
		object, err = objects.Create(ctx, object, metav1.CreateOptions{})
	} else {
		object, err = objects.Update(ctx, object, metav1.UpdateOptions{})
	}
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) && version != "" {
		return "", fmt.Errorf("write ConfigMap %s: %w: %w", c.State, ErrConflict, err)
	}
	if err != nil {
		return "", fmt.Errorf("write ConfigMap %s: %w", c.State, err)
	}
	return object.ResourceVersion, nil
}
