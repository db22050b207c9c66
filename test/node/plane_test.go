// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/stepgate/stepgate/test/cluster"
)

// proxyUser is who kube-proxy is.
const proxyUser = "system:kube-proxy"

// configurePlane lets the API server serve Pods: at the address of a node, with a certificate for the Service
// kubernetes, and with what gives a Pod its service account.
func (m *machine) configurePlane(api *envtest.APIServer) error {
	certificates := filepath.Join(m.dir, "plane")
	from, to := time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour)
	serving, servingKey, err := cluster.SelfSigned("kube-apiserver", from, to, net.ParseIP(planeAddress),
		net.ParseIP(kubernetesService))
	if err != nil {
		return err
	}
	signer, signerKey, err := cluster.SelfSigned("service-accounts", from, to)
	if err != nil {
		return err
	}
	problems := []error{os.MkdirAll(certificates, 0o700)}
	for name, text := range map[string][]byte{
		"apiserver.crt": serving, "apiserver.key": servingKey, "sa-signer.crt": signer, "sa-signer.key": signerKey,
	} {
		problems = append(problems, os.WriteFile(filepath.Join(certificates, name), text, 0o600))
	}
	api.CertDir, api.CA, api.Address = certificates, serving, planeAddress
	api.Port = "6443"
	api.Configure().Disable("disable-admission-plugins").Set("service-cluster-ip-range", serviceRange).
		Set("advertise-address", planeAddress).Set("authorization-mode", "Node", "RBAC").Set("enable-admission-plugins",
		"NodeRestriction").
		Set("kubelet-preferred-address-types", "InternalIP")
	return errors.Join(problems...)
}

// bindProxy gives kube-proxy its rights, which are in no default binding for a user of this name.
func (m *machine) bindProxy(ctx context.Context) error {
	return m.Admin.Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "node-proxy"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "system:node-proxier"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: proxyUser}},
	})
}
