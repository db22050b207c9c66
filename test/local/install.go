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

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
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

// Install creates the objects of config/: namespace, RBAC and registration. Nothing is added to what config/ grants.
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
	for _, file := range []string{"namespace.yaml", "rbac.yaml", "webhook.yaml"} {
		objects, err := c.read(filepath.Join(root, "config", file))
		if err != nil {
			return err
		}
		for _, o := range objects {
			r.adapt(o)
			if err := ignore(admin.Create(ctx, o)); err != nil {
				return fmt.Errorf("create %T %s: %w", o, o.GetName(), err)
			}
		}
	}
	return nil
}

// adapt renames an object of config/ for this instance, and has the API server call the local process by URL, because
// there is no Service network here.
func (r Registration) adapt(o client.Object) {
	const original = "stepgate"
	o.SetName(r.Name + o.GetName()[len(original):])
	if o.GetNamespace() == original {
		o.SetNamespace(r.Name)
	}
	rename := func(subjects []rbacv1.Subject) {
		for i := range subjects {
			subjects[i].Name, subjects[i].Namespace = r.Name, r.Name
		}
	}
	switch o := o.(type) {
	case *rbacv1.ClusterRole:
		for i := range o.Rules {
			if len(o.Rules[i].ResourceNames) > 0 {
				o.Rules[i].ResourceNames = []string{r.Name}
			}
		}
	case *rbacv1.ClusterRoleBinding:
		o.RoleRef.Name = r.Name
		rename(o.Subjects)
	case *rbacv1.RoleBinding:
		o.RoleRef.Name = o.Name
		rename(o.Subjects)
	case *rbacv1.Role:
		for i := range o.Rules {
			if len(o.Rules[i].ResourceNames) > 0 {
				o.Rules[i].ResourceNames = []string{o.Name}
			}
		}
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		for i := range o.Webhooks {
			w := &o.Webhooks[i]
			w.ClientConfig = admissionregistrationv1.WebhookClientConfig{URL: &r.URL}
			w.FailurePolicy = &r.FailurePolicy
			if len(r.Namespaces) > 0 {
				w.NamespaceSelector.MatchExpressions = append(w.NamespaceSelector.MatchExpressions,
					metav1.LabelSelectorRequirement{Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpIn, Values: r.Namespaces})
			}
		}
	}
}

// read decodes the objects of a manifest, strictly.
func (c *Cluster) read(path string) ([]client.Object, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	decoder := serializer.NewCodecFactory(c.scheme, serializer.EnableStrict).UniversalDeserializer()
	reader := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
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
