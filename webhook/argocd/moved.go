package argocd

import (
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
)

// resourceKey names a resource whatever its namespace is.
type resourceKey struct{ group, kind, name string }

// moved reports whether a comparison found a resource deployed in another namespace than the spec wants: it has to be
// pruned from the one, and is OutOfSync in the other. That is a new destination. Drift never looks like this. The
// comparison with a new destination server shows no deployed resource at all: the health is then Missing.
func moved(resources []argo.ResourceStatus) bool {
	deployed := map[resourceKey]bool{}
	for i := range resources {
		if r := &resources[i]; r.RequiresPruning && r.Namespace != "" {
			deployed[resourceKey{r.Group, r.Kind, r.Name}] = true
		}
	}
	if len(deployed) == 0 {
		return false // nearly always
	}
	for i := range resources {
		r := &resources[i]
		if !r.RequiresPruning && r.Status == argo.SyncStatusCodeOutOfSync && deployed[resourceKey{r.Group, r.Kind, r.Name}] {
			return true
		}
	}
	return false
}

// onlyPruning reports whether resources are OutOfSync, and all of these have to be pruned.
func onlyPruning(resources []argo.ResourceStatus) bool {
	some := false
	for i := range resources {
		if r := &resources[i]; r.Status == argo.SyncStatusCodeOutOfSync {
			if some = true; !r.RequiresPruning {
				return false
			}
		}
	}
	return some
}
