// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The service accounts of an ordinary Argo CD.
const (
	ArgoNamespace         = "argocd"
	ServerAccount         = "system:serviceaccount:argocd:argocd-server"
	ControllerAccount     = "system:serviceaccount:argocd:argocd-application-controller"
	ApplicationSetAccount = "system:serviceaccount:argocd:argocd-applicationset-controller"
	// Human is somebody with kubectl.
	Human = "jane"
)

// CreateNamespace creates a namespace.
func (c *Cluster) CreateNamespace(ctx context.Context, name string) error {
	admin, err := c.Client("")
	if err != nil {
		return err
	}
	return client.IgnoreAlreadyExists(admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))
}

// InstallWriters gives the accounts of Argo CD, and Human, the right to write Applications.
func (c *Cluster) InstallWriters(ctx context.Context) error {
	admin, err := c.Client("")
	if err != nil {
		return err
	}
	meta := metav1.ObjectMeta{Name: "application-writers"}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name},
	}
	for _, user := range []string{ServerAccount, ControllerAccount, ApplicationSetAccount, Human} {
		binding.Subjects = append(binding.Subjects, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: "User", Name: user})
	}
	role := &rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{"argoproj.io"}, Resources: []string{"applications", "applicationsets"}, Verbs: []string{"*"},
	}}}
	return errors.Join(admin.Create(ctx, role), admin.Create(ctx, binding))
}
