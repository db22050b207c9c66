// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/policy"
)

// AfterAnnotation names what an ApplicationSet or an Application comes after.
const AfterAnnotation = annotationPrefix + "after"

// mostAfter bounds the names of AfterAnnotation: each is read live, and is a key of an index.
const mostAfter = 20

// After are the names in AfterAnnotation of an object in a namespace, each once, as they are written: they may be no
// names. has says that it is there, and err why it cannot be read: then it names nothing.
func After(namespace string, annotations Annotations) (names []types.NamespacedName, has bool, err error) {
	text, has := annotations.Get(AfterAnnotation)
	if why := annotations.Unreadable(AfterAnnotation); why != "" {
		return nil, true, errors.New(why)
	}
	if !has {
		return nil, false, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		name := types.NamespacedName{Namespace: namespace, Name: strings.TrimSpace(part)}
		if other, rest, elsewhere := strings.Cut(name.Name, "/"); elsewhere {
			name = types.NamespacedName{Namespace: other, Name: rest}
		}
		switch {
		case slices.Contains(names, name):
			continue
		case len(names) == mostAfter:
			return nil, true, fmt.Errorf("it names more than %d", mostAfter)
		}
		names = append(names, name)
	}
	return names, true, nil
}

// Alone is an Application that no ApplicationSet controls in the form of an ApplicationSet of no steps that has its
// annotations: it configures the gate for itself.
func Alone(namespace string, uid types.UID, annotations Annotations) *ApplicationSet {
	return &ApplicationSet{
		ApplicationSet: policy.ApplicationSet{Namespace: namespace, UID: string(uid)}, Annotations: annotations,
	}
}

// aloneKey begins the key of an Application that no ApplicationSet controls, among the names of ApplicationSets. None of
// these has a slash.
const aloneKey = "application/"

// AloneKey is the key of an Application among the names of ApplicationSets.
func AloneKey(namespace, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: aloneKey + name}
}

// IsAlone is the name of the Application that a key is of.
func IsAlone(key types.NamespacedName) (name types.NamespacedName, alone bool) {
	rest, alone := strings.CutPrefix(key.Name, aloneKey)
	return types.NamespacedName{Namespace: key.Namespace, Name: rest}, alone
}

// FollowsAlone reports whether no ApplicationSet controls the Application, and it comes after others.
func (p *Projection) FollowsAlone() bool {
	_, has := p.Annotations.Get(AfterAnnotation)
	return has && !p.Controlled()
}

// Key is the name of the ApplicationSet that controls the Application, or its own key.
func (p *Projection) Key() types.NamespacedName {
	if p.Controlled() {
		return types.NamespacedName{Namespace: p.Namespace, Name: p.Set}
	}
	return AloneKey(p.Namespace, p.Name)
}

// Keys are the names of all whose syncs a change of the Application may concern: of what orders it, of itself if it comes
// after others, and of its own children.
func (p *Projection) Keys() (keys []types.NamespacedName) {
	if m := p.Member(); m.Set != "" {
		keys = append(keys, types.NamespacedName{Namespace: m.Namespace, Name: m.Set})
	}
	if p.FollowsAlone() {
		keys = append(keys, AloneKey(p.Namespace, p.Name))
	}
	if p.Waves != nil {
		keys = append(keys, types.NamespacedName{Namespace: p.Waves.Namespace, Name: p.Waves.Name})
	}
	return keys
}

// Names are those under which it may be named in AfterAnnotation.
func (p *Projection) Names() []types.NamespacedName {
	own := types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
	if !p.Controlled() || p.Set == p.Name {
		return []types.NamespacedName{own}
	}
	return []types.NamespacedName{own, {Namespace: p.Namespace, Name: p.Set}}
}

// IndexAfter is a cache.IndexFunc by the names that an object comes after. One whose names cannot be read has no key:
// nothing but a write of its own ends that it waits.
func IndexAfter(object metav1.Object, annotations Annotations) []string {
	names, _, _ := After(object.GetNamespace(), annotations)
	keys := make([]string, 0, len(names))
	for _, n := range names {
		keys = append(keys, n.String())
	}
	return keys
}
