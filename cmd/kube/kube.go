// SPDX-License-Identifier: Apache-2.0

// Package kube makes the clients of the API server.
package kube

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/spf13/pflag"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/webhook/cluster"
)

// Cluster has the clients of the API server.
type Cluster struct {
	Config    *rest.Config
	Clientset kubernetes.Interface
	Objects   client.Client      // Argo CD's objects
	Judged    client.Reader      // Argo CD's objects to be judged
	Versions  metadata.Interface // the metadata of any object
}

// New makes the clients. They call the API server only when they are used.
func New(config *rest.Config) (c *Cluster, err error) {
	c = &Cluster{Config: config}
	if c.Clientset, err = kubernetes.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("API server client: %w", err)
	}
	if c.Objects, err = Objects(config); err != nil {
		return nil, err
	}
	if c.Judged, err = Judged(config, c.Objects); err != nil {
		return nil, err
	}
	if c.Versions, err = metadata.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("API server client: %w", err)
	}
	return c, nil
}

// BindKubeconfig adds --kubeconfig.
func BindKubeconfig(f *pflag.FlagSet, path *string) {
	f.StringVar(path, "kubeconfig", "", "kubeconfig file; if empty, stepgate uses the service account of its Pod")
}

// userAgent names stepgate in the API server's audit log.
const userAgent = "stepgate"

// RESTConfig reads a kubeconfig, or else the service account of the Pod. It has no client-side rate limit: a decision
// must not wait behind others in its own process, and the API server protects itself by priority and fairness.
func RESTConfig(kubeconfig string) (*rest.Config, error) {
	var config *rest.Config
	var err error
	if kubeconfig != "" {
		config, err = clientcmd.BuildConfigFromFlags("", kubeconfig)
	} else {
		config, err = rest.InClusterConfig()
	}
	if errors.Is(err, rest.ErrNotInCluster) {
		return nil, errors.New("not running in a Pod: --kubeconfig is needed")
	}
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig: %w", err)
	}
	config.QPS = -1
	config.UserAgent = userAgent
	return config, nil
}

// MissingConfig says which kubeconfig does not exist: explicit is the one of --kubeconfig, and listed the value of
// KUBECONFIG, which may name several. client-go ignores those of KUBECONFIG, and takes the default ones instead.
func MissingConfig(explicit, listed string) error {
	if explicit != "" {
		if _, err := os.Stat(explicit); err != nil {
			return fmt.Errorf("--kubeconfig names %s, which cannot be read: %w", explicit, reason(err))
		}
		return nil
	}
	var missing []error
	names := slices.DeleteFunc(filepath.SplitList(listed), func(name string) bool { return name == "" })
	for _, name := range names {
		if _, err := os.Stat(name); err != nil { //nolint:gosec // the user names the file
			missing = append(missing, fmt.Errorf("KUBECONFIG names %s, which cannot be read: %w", name, reason(err)))
		}
	}
	if len(missing) < len(names) {
		return nil // kubectl, too, takes those that exist
	}
	return errors.Join(missing...)
}

// otherKind is how client-go says that a file is another object, or none.
var otherKind = regexp.MustCompile(
	`no kind "([^"]+)" is registered for version "[^"]+" in scheme "[^"]+"|couldn't get version/kind; .*`,
)

// ConfigError is an error of client-go about a kubeconfig, in words about the file.
func ConfigError(err error) error {
	text := otherKind.ReplaceAllStringFunc(err.Error(), func(found string) string {
		if kind := otherKind.FindStringSubmatch(found)[1]; kind != "" {
			return "it is of the kind " + kind + ", and no kubeconfig"
		}
		return "it is no kubeconfig"
	})
	return fmt.Errorf("kubeconfig: %s; name one with --kubeconfig or KUBECONFIG", text)
}

// reason is an error of a file without the name of the file.
func reason(err error) error {
	var of *fs.PathError
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}

// UserConfig reads the kubeconfig of --kubeconfig, or of KUBECONFIG, or the default one, or else the service account of
// the Pod.
func UserConfig(explicit string) (*rest.Config, error) {
	if err := MissingConfig(explicit, os.Getenv("KUBECONFIG")); err != nil {
		return nil, err
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = explicit
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, ConfigError(err)
	}
	config.QPS, config.UserAgent = -1, userAgent
	RefusePages(config)
	return config, nil
}

// EventCreator creates Events with a clientset. It is a record.EventCreator.
type EventCreator struct{ Clientset kubernetes.Interface }

// CreateEvent creates one Event.
func (c EventCreator) CreateEvent(ctx context.Context, event *eventsv1.Event) error {
	_, err := c.Clientset.EventsV1().Events(event.Namespace).Create(ctx, event, metav1.CreateOptions{})
	return err
}

// Objects returns a client of Argo CD's objects. It has no cache: every call goes to the API server.
func Objects(config *rest.Config) (client.Client, error) {
	scheme, err := Scheme()
	if err != nil {
		return nil, err
	}
	objects, err := client.New(config, client.Options{Scheme: scheme, Mapper: argoMapper()})
	if err != nil {
		return nil, fmt.Errorf("API server client: %w", err)
	}
	return objects, nil
}

// Watched returns a cache that watches Argo CD's objects in namespaces, and the AppProjects of the namespace projects,
// unless it is empty.
func Watched(config *rest.Config, namespaces []string, projects string) (*cluster.Cache, error) {
	client, err := judged(config)
	if err != nil {
		return nil, err
	}
	var sources []cluster.Source
	for _, namespace := range namespaces {
		sources = append(sources, cluster.Source{
			Applications:    cache.NewListWatchFromClient(client, "applications", namespace, fields.Everything()),
			ApplicationSets: cache.NewListWatchFromClient(client, "applicationsets", namespace, fields.Everything()),
		})
	}
	known := cluster.NewCache(sources...)
	if projects != "" {
		known.WatchProjects(cache.NewListWatchFromClient(client, "appprojects", projects, fields.Everything()))
	}
	return known, nil
}

// Scheme has Argo CD's types.
func Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	if err := argo.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("scheme: %w", err)
	}
	return scheme, nil
}

// argoMapper knows the resources that stepgate reads, and so a decision never waits for discovery.
func argoMapper() meta.RESTMapper {
	mapper := meta.NewDefaultRESTMapper(nil)
	for kind, plural := range map[string]string{"Application": "applications", "ApplicationSet": "applicationsets",
		"AppProject": "appprojects"} {
		gv := argo.SchemeGroupVersion
		mapper.AddSpecific(gv.WithKind(kind), gv.WithResource(plural), gv.WithResource(plural), meta.RESTScopeNamespace)
	}
	return mapper
}
