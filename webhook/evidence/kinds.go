// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stepgate/stepgate/policy"
)

// Kinds are the kinds of objects that an installation reads, each in the version in which it reads them.
type Kinds []schema.GroupVersionResource

// Of is the kind of a resource; false if the installation does not read it.
func (k Kinds) Of(r schema.GroupResource) (schema.GroupVersionResource, bool) {
	i := slices.IndexFunc(k, func(v schema.GroupVersionResource) bool { return v.GroupResource() == r })
	if i < 0 {
		return schema.GroupVersionResource{}, false
	}
	return k[i], true
}

// Read reports whether the installation reads a kind.
func (k Kinds) Read(r schema.GroupResource) bool {
	_, reads := k.Of(r)
	return reads
}

// Secret reports whether objects of a kind hold secrets. stepgate reads none of these: what an expression says of them
// would give them away, one bit at a time.
func Secret(kind schema.GroupVersionResource) bool { return kind.Resource == "secrets" }

// notRead says that the installation does not read a kind.
func notRead(r schema.GroupResource) policy.Finding {
	return policy.Finding{Detail: "this installation does not read " + r.String() + " (config.verify.kinds)"}
}
