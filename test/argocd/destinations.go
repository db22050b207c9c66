// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/cluster"
)

// manager is the service account that `argocd cluster add` creates in a cluster.
const manager = "argocd-manager"

// AddCluster makes another cluster a destination, for one shard of the application controller, as `argocd cluster add
// --shard` does: a service account that may do everything there, and a Secret with its token here.
func (a *ArgoCD) AddCluster(ctx context.Context, name string, other *cluster.Cluster, shard int) error {
	admin, err := other.Client("")
	if err != nil {
		return err
	}
	for _, o := range []client.Object{
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: manager}},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: manager},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: metav1.NamespaceSystem, Name: manager}},
		},
	} {
		if err := admin.Create(ctx, o); err != nil {
			return fmt.Errorf("create %s in cluster %s: %w", manager, name, err)
		}
	}
	path, err := other.Kubeconfig(ctx, metav1.NamespaceSystem, manager, "")
	if err != nil {
		return err
	}
	kubeconfig, err := clientcmd.LoadFromFile(path)
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil {
		return err
	}
	of := kubeconfig.Contexts[kubeconfig.CurrentContext]
	config, err := json.Marshal(argo.ClusterConfig{
		BearerToken:     kubeconfig.AuthInfos[of.AuthInfo].Token,
		TLSClientConfig: argo.TLSClientConfig{CAData: kubeconfig.Clusters[of.Cluster].CertificateAuthorityData},
	})
	if err != nil {
		return err
	}
	server, err := other.URL()
	if err != nil {
		return err
	}
	return a.env.Admin.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: cluster.ArgoNamespace, Name: "cluster-" + name,
			Labels: map[string]string{
				"argocd.argoproj.io/secret-type": "cluster",
			}, Annotations: map[string]string{"managed-by": "argocd.argoproj.io"},
		},
		StringData: map[string]string{
			"name": name, "server": server.String(), "config": string(config), "shard": fmt.Sprint(shard),
		},
	})
}
