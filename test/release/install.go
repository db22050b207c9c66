package release

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
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/stepgate/stepgate/test/environment"
)

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

// install creates the objects of config/, and adds nothing to the rights that config/ grants. ignore, if it is not nil,
// drops the errors that do not matter.
func install(ctx context.Context, e *environment.Environment, r Registration, ignore func(error) error) error {
	if r.FailurePolicy == "" {
		r.FailurePolicy = admissionregistrationv1.Fail
	}
	files, err := resources(filepath.Join(e.Root, "config"))
	if err != nil {
		return err
	}
	for _, file := range files {
		objects, err := read(e.Admin.Scheme(), file, r.Name)
		if err != nil {
			return err
		}
		for _, o := range objects {
			if needsKubelet(o) {
				continue
			}
			r.adapt(o)
			err := e.Admin.Create(ctx, o)
			if ignore != nil {
				err = ignore(err)
			}
			if err != nil {
				return fmt.Errorf("create %T %s: %w", o, o.GetName(), err)
			}
		}
	}
	return nil
}

// Registered reads the registration of an instance.
func Registered(ctx context.Context, e *environment.Environment, name string) (*admissionregistrationv1.ValidatingWebhookConfiguration, error) {
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	return configuration, e.Admin.Get(ctx, client.ObjectKey{Name: name}, configuration)
}

// Bundle reads the caBundle of an instance.
func Bundle(ctx context.Context, e *environment.Environment, name string) ([]byte, error) {
	configuration, err := Registered(ctx, e, name)
	if err != nil {
		return nil, err
	}
	return configuration.Webhooks[0].ClientConfig.CABundle, nil
}

// SetBundle writes the caBundle of an instance; nil empties it.
func SetBundle(ctx context.Context, e *environment.Environment, name string, bundle []byte) error {
	configuration, err := Registered(ctx, e, name)
	if err != nil {
		return err
	}
	before := configuration.DeepCopy()
	configuration.Webhooks[0].ClientConfig.CABundle = bundle
	return e.Admin.Patch(ctx, configuration, client.MergeFrom(before))
}

// Unregister deletes the registration of an instance: the API server does not call it any more.
func Unregister(ctx context.Context, e *environment.Environment, name string) error {
	return client.IgnoreNotFound(e.Admin.Delete(ctx, &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: name}}))
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
	switch configuration := o.(type) {
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		for i := range configuration.Webhooks {
			w := &configuration.Webhooks[i]
			w.ClientConfig = admissionregistrationv1.WebhookClientConfig{URL: &r.URL}
			w.FailurePolicy = &r.FailurePolicy
			r.limit(w.NamespaceSelector)
		}
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		url := strings.TrimSuffix(r.URL, validatePath) + mutatePath
		for i := range configuration.Webhooks {
			w := &configuration.Webhooks[i]
			w.ClientConfig = admissionregistrationv1.WebhookClientConfig{URL: &url}
			r.limit(w.NamespaceSelector)
		}
	}
}

// limit has a selector select nothing but the namespaces of the Registration.
func (r Registration) limit(selector *metav1.LabelSelector) {
	if len(r.Namespaces) > 0 {
		selector.MatchExpressions = append(selector.MatchExpressions,
			metav1.LabelSelectorRequirement{Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpIn, Values: r.Namespaces})
	}
}

// The paths at which stepgate serves its two webhooks.
const (
	validatePath = "/validate"
	mutatePath   = "/mutate"
)

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
func read(scheme *runtime.Scheme, path, name string) ([]client.Object, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
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
