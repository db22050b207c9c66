// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"

	"github.com/stepgate/stepgate/test/eventually"
	"github.com/stepgate/stepgate/test/script"
)

var errNotAllowed = errors.New("the PodDisruptionBudget permits no eviction")

// uninstall removes stepgate and rolls another commit out.
func (s *suite) uninstall() {
	s.documented("docs/uninstall.md", "helm uninstall stepgate --namespace stepgate")
	var left []string
	script.Mustf(eventually.Succeeds(s.ctx, func() error {
		left = nil
		for name := range s.stored() {
			if !s.before[name] && strings.Contains(name, "stepgate") && !ownOfNamespace(name) {
				left = append(left, name)
			}
		}
		if len(left) > 0 {
			slices.Sort(left)
			return fmt.Errorf("still there: %s", strings.Join(left, ", "))
		}
		return nil
	}), "helm uninstall")
	starts, took := s.rollout.play()
	s.note("no object of stepgate is left; a rollout without it: starts=%d early=%d, complete after %.1fs", len(starts),
		len(early(starts)), took.Seconds())
}

// ownOfNamespace says that an object is the release's namespace, which Helm keeps, or what Kubernetes puts into every
// namespace.
func ownOfNamespace(name string) bool {
	return slices.Contains([]string{
		"/namespaces//stepgate", "/serviceaccounts/stepgate/default", "/configmaps/stepgate/kube-root-ca.crt",
	}, name)
}

// stored are the names of all objects of the cluster, without what the cluster writes about them.
func (s *suite) stored() map[string]bool {
	clients := script.Get(discovery.NewDiscoveryClientForConfig(s.Config))
	objects := script.Get(metadata.NewForConfig(s.Config))
	_, groups, err := clients.ServerGroupsAndResources()
	script.Must(err)
	names := map[string]bool{}
	for _, group := range groups {
		version := script.Get(schema.ParseGroupVersion(group.GroupVersion))
		for _, resource := range group.APIResources {
			if resource.Name == "events" || resource.Name == "componentstatuses" || !slices.Contains(resource.Verbs, "list") {
				continue
			}
			list, err := objects.Resource(version.WithResource(resource.Name)).List(s.ctx, metav1.ListOptions{})
			if apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
				continue
			}
			script.Must(err)
			for _, item := range list.Items {
				names[strings.Join([]string{version.Group, resource.Name, item.Namespace, item.Name}, "/")] = true
			}
		}
	}
	return names
}
