// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/cluster"
)

// HealthAnnotation on a live ConfigMap, or else its data key "health", is the health of the Application that deploys
// it. The annotation is not in git, so it makes an Application unhealthy without making it OutOfSync.
const HealthAnnotation = "e2e.stepgate.io/health"

const configMapHealth = `health = {status = "Healthy", message = "as its ConfigMap says"}
if obj.data ~= nil and obj.data["health"] ~= nil then
  health.status = obj.data["health"]
end
if obj.metadata.annotations ~= nil and obj.metadata.annotations["` + HealthAnnotation + `"] ~= nil then
  health.status = obj.metadata.annotations["` + HealthAnnotation + `"]
end
return health
`

// onlyConfigMaps keeps Argo CD from watching everything else in the cluster.
const onlyConfigMaps = `- apiGroups: [""]
  kinds: [ConfigMap]
  clusters: ["*"]
`

// alsoArgoCDs lets Applications deploy Applications and ApplicationSets as well.
const alsoArgoCDs = onlyConfigMaps + `- apiGroups: [argoproj.io]
  kinds: [Application, ApplicationSet]
  clusters: ["*"]
`

// install creates the objects of Argo CD's own installation manifest, without CRDs and workloads: service accounts,
// RBAC, ConfigMaps and Secrets. It adds the project "default".
func (a *ArgoCD) install(ctx context.Context) error {
	for _, namespace := range append([]string{cluster.ArgoNamespace}, a.options.Namespaces...) {
		if err := a.env.CreateNamespace(ctx, namespace); err != nil {
			return err
		}
	}
	objects, err := read(filepath.Join(a.options.Manifests, "install.yaml"),
		"ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding", "ConfigMap", "Secret")
	if err != nil {
		return err
	}
	for _, o := range objects {
		if err := a.configure(o); err != nil {
			return err
		}
		if o.GroupVersionKind().Group != rbacv1.GroupName || o.GetKind() == "Role" || o.GetKind() == "RoleBinding" {
			o.SetNamespace(cluster.ArgoNamespace)
		}
		if err := a.env.Admin.Create(ctx, o); err != nil {
			return fmt.Errorf("create %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	return a.env.Admin.Create(ctx, project(cluster.ArgoNamespace, "default"))
}

// configure changes Argo CD's own configuration for the tests, and adds the key that argocd-server makes when it first
// starts.
func (a *ArgoCD) configure(o *unstructured.Unstructured) error {
	inclusions := onlyConfigMaps
	if a.options.AppOfApps {
		inclusions = alsoArgoCDs
	}
	switch o.GetKind() + " " + o.GetName() {
	case "ConfigMap argocd-cm":
		return errors.Join(
			unstructured.SetNestedField(o.Object, configMapHealth, "data", "resource.customizations.health.ConfigMap"),
			unstructured.SetNestedField(o.Object, inclusions, "data", "resource.inclusions"))
	case "Secret argocd-secret":
		return unstructured.SetNestedField(o.Object, rand.Text(), "stringData", "server.secretkey")
	default:
		return nil
	}
}

// setTracking has Argo CD find what an Application deploys in the way of the Settings.
func (a *ArgoCD) setTracking(ctx context.Context) error {
	method := "null"
	if a.options.Tracking != "" {
		method = strconv.Quote(a.options.Tracking)
	}
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: cluster.ArgoNamespace, Name: "argocd-cm"}}
	patch := fmt.Appendf(nil, `{"data":{"application.resourceTrackingMethod":%s}}`, method)
	return a.env.Admin.Patch(ctx, config, client.RawPatch(types.MergePatchType, patch))
}

// read decodes the objects of some kinds from a manifest.
func read(path string, kinds ...string) (objects []*unstructured.Unstructured, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	reader := yaml.NewYAMLReader(bufio.NewReader(file))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(document, &o.Object); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if slices.Contains(kinds, o.GetKind()) {
			objects = append(objects, o)
		}
	}
}
