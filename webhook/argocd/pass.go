// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"hash/fnv"
	"io"
	"maps"
	"slices"
	"strconv"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
)

// Pass is what an ApplicationSet tells about the passes of its controller. Each pass writes the Applications one after the
// other, and nothing says which one has written what. But no write of status.resources comes between those writes: from
// Argo CD 3.4 on it follows them, if they have succeeded, and up to 3.3 it begins the pass (updateResourcesStatus in
// applicationset/controllers/applicationset_controller.go, v3.5.7 and v3.2.12). The passes of an ApplicationSet follow
// one another.
type Pass struct {
	// resources is a hash of what the controller says about the Applications, and rest one of what others write.
	resources, rest uint64
	failing         bool
}

// NewPass keeps what an ApplicationSet tells about passes.
func NewPass(set *argo.ApplicationSet) Pass {
	resources, rest := fnv.New64a(), fnv.New64a()
	for i := range set.Status.Resources {
		r := &set.Status.Resources[i]
		health := ""
		if r.Health != nil {
			health = string(r.Health.Status)
		}
		write(resources, r.Namespace, r.Name, string(r.Status), health)
	}
	write(resources, strconv.FormatInt(set.Status.ResourcesCount, 10))
	write(rest, string(set.UID), strconv.FormatInt(set.Generation, 10), strconv.FormatBool(set.DeletionTimestamp != nil))
	write(rest, set.Finalizers...)
	for _, all := range []map[string]string{set.Labels, set.Annotations} {
		for _, key := range slices.Sorted(maps.Keys(all)) {
			write(rest, key, all[key])
		}
	}
	return Pass{resources: resources.Sum64(), rest: rest.Sum64(), failing: failing(set.Status.Conditions) != ""}
}

// Ended reports whether the ApplicationSet, which was before what before tells, shows that every pass has ended that had
// begun to write Applications before this state was written. A change that somebody else may have made shows nothing:
// the watch may have left out states in between.
func (p Pass) Ended(before Pass) bool {
	return p.rest == before.rest && !p.failing && (p.resources != before.resources || before.failing)
}

// write writes texts so that no others look alike.
func write(to io.Writer, texts ...string) {
	for _, text := range texts {
		_, _ = io.WriteString(to, strconv.Itoa(len(text))+" "+text) // a hash takes everything
	}
}
