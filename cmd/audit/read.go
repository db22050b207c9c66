// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"slices"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/cmd/live"
)

// Read collects the ApplicationSets of a namespace with these names, or all of it, and their Applications. An empty
// namespace is all namespaces. It reads pages, and keeps no object. A name that does not exist is an error.
func Read(ctx context.Context, objects client.Reader, namespace string, names []string) (*Collection, error) {
	c := &Collection{}
	found := map[string]bool{}
	err := live.ApplicationSets(ctx, objects, namespace, func(set *argo.ApplicationSet) {
		if len(names) == 0 || slices.Contains(names, set.Name) {
			found[set.Name] = true
			c.AddSet(set)
		}
	})
	if err != nil {
		return nil, err
	}
	missing := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return found[name] })
	if len(missing) > 0 {
		return nil, live.NoSet(namespace, missing...)
	}
	if len(c.sets) == 0 {
		return c, nil
	}
	return c, live.Applications(ctx, objects, namespace, c.AddApplication)
}
