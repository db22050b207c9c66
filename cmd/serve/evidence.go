// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/cmd/flags"
	"github.com/stepgate/stepgate/cmd/kube"
	"github.com/stepgate/stepgate/webhook/cluster"
	"github.com/stepgate/stepgate/webhook/evidence"
	"github.com/stepgate/stepgate/webhook/settings"
)

// Evidence watches and reads what objects say, by the flags of the rule. Without --verify-kinds it reads nothing, and
// says so.
func Evidence(r *flags.Rule, c *kube.Cluster, objects *evidence.Objects) *evidence.Source {
	kinds := r.Verify.Kinds()
	reader := evidence.NewReader(kinds, c.Versions, objects)
	return &evidence.Source{
		Watch:  evidence.NewWatch(kinds, r.Verify.Watched(r.Gate.Namespaces.Watched()), c.Versions, reader),
		Reader: reader,
	}
}

// Verified calls look for each ApplicationSet that may wait for an object that has changed.
func Verified(known *cluster.Cache, parser *settings.Parser, look func(set types.NamespacedName)) func(
	kind schema.GroupResource, object types.NamespacedName,
) {
	return func(kind schema.GroupResource, object types.NamespacedName) {
		for _, set := range known.Sets() {
			if _, verifies := set.Annotations.Get(settings.VerifyAnnotation); !verifies {
				continue
			}
			if evidence.Concerns(parser.Of(set).Verify, kind, object.Namespace) {
				look(types.NamespacedName{Namespace: set.Namespace, Name: set.Name})
			}
		}
	}
}
