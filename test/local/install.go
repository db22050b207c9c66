package local

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
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
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name}}
	for _, user := range []string{ServerAccount, ControllerAccount, ApplicationSetAccount, Human} {
		binding.Subjects = append(binding.Subjects, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: "User", Name: user})
	}
	role := &rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{"argoproj.io"}, Resources: []string{"applications", "applicationsets"}, Verbs: []string{"*"},
	}}}
	return errors.Join(admin.Create(ctx, role), admin.Create(ctx, binding))
}

// Registration is how an instance of stepgate is registered.
type Registration struct {
	// Name names the ValidatingWebhookConfiguration, the namespace and everything else of this instance.
	Name string
	// URL is where the API server calls it.
	URL string
	// FailurePolicy is Fail when empty.
	FailurePolicy admissionregistrationv1.FailurePolicyType
	// Namespaces limits the registration, so that several instances do not see each other's writes; empty means all.
	Namespaces []string
}

// Install creates the objects of config/. Nothing is added to what config/ grants.
func (c *Cluster) Install(ctx context.Context, root string, r Registration) error {
	return c.create(ctx, root, r, func(err error) error { return err })
}

// reinstall is Install where some of the objects are there already.
func (c *Cluster) reinstall(ctx context.Context, root string, r Registration) error {
	return c.create(ctx, root, r, client.IgnoreAlreadyExists)
}

func (c *Cluster) create(ctx context.Context, root string, r Registration, ignore func(error) error) error {
	if r.FailurePolicy == "" {
		r.FailurePolicy = admissionregistrationv1.Fail
	}
	admin, err := c.Client("")
	if err != nil {
		return err
	}
	files, err := resources(filepath.Join(root, "config"))
	if err != nil {
		return err
	}
	for _, file := range files {
		objects, err := c.read(file, r.Name)
		if err != nil {
			return err
		}
		for _, o := range objects {
			if needsKubelet(o) {
				continue
			}
			r.adapt(o)
			if err := ignore(admin.Create(ctx, o)); err != nil {
				return fmt.Errorf("create %T %s: %w", o, o.GetName(), err)
			}
		}
	}
	return nil
}

// resources are the files that a kustomization names.
func resources(folder string) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(folder, "kustomization.yaml"))
	if err != nil {
		return nil, err
	}
	var kustomization struct{ Resources []string }
	if err := yaml.Unmarshal(text, &kustomization); err != nil {
		return nil, fmt.Errorf("%s/kustomization.yaml: %w", folder, err)
	}
	var files []string
	for _, name := range kustomization.Resources {
		files = append(files, filepath.Join(folder, name))
	}
	return files, nil
}

// needsKubelet reports whether the object is of no use here, where stepgate is a process and no Pod.
func needsKubelet(o client.Object) bool {
	switch o.(type) {
	case *appsv1.Deployment, *corev1.Service, *policyv1.PodDisruptionBudget:
		return true
	}
	return false
}

// adapt has the API server call the local process by URL, because there is no Service network here.
func (r Registration) adapt(o client.Object) {
	configuration, ok := o.(*admissionregistrationv1.ValidatingWebhookConfiguration)
	if !ok {
		return
	}
	for i := range configuration.Webhooks {
		w := &configuration.Webhooks[i]
		w.ClientConfig = admissionregistrationv1.WebhookClientConfig{URL: &r.URL}
		w.FailurePolicy = &r.FailurePolicy
		if len(r.Namespaces) > 0 {
			w.NamespaceSelector.MatchExpressions = append(w.NamespaceSelector.MatchExpressions,
				metav1.LabelSelectorRequirement{Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpIn, Values: r.Namespaces})
		}
	}
}

// The places in config/ that name stepgate's own objects and its namespace.
var (
	ownNames    = regexp.MustCompile(`(?m)^([ -]*(?:name|namespace|policyName): )stepgate(-\S+)?$`)
	ownResource = regexp.MustCompile(`(?m)^( *resourceNames: \[)stepgate`)
	ownAccount  = regexp.MustCompile(`system:serviceaccount:stepgate:stepgate\b`)
)

// rename gives the objects of a manifest the name of an instance, and puts them into the namespace of that name.
func rename(text []byte, name string) []byte {
	text = ownNames.ReplaceAll(text, []byte("${1}"+name+"${2}"))
	text = ownResource.ReplaceAll(text, []byte("${1}"+name))
	return ownAccount.ReplaceAll(text, []byte("system:serviceaccount:"+name+":"+name))
}

// read decodes the objects of a manifest for an instance, strictly.
func (c *Cluster) read(path, name string) ([]client.Object, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	decoder := serializer.NewCodecFactory(c.scheme, serializer.EnableStrict).UniversalDeserializer()
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(rename(text, name))))
	var objects []client.Object
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		object, _, err := decoder.Decode(document, nil, nil)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		objects = append(objects, object.(client.Object))
	}
}
