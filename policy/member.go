// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"slices"
	"strings"
)

// MemberName is what an Application is called by what orders it: by its name, or by NAMESPACE/NAME where it is in another
// namespace than that. No name of Kubernetes has a slash.
func MemberName(order, namespace, name string) string {
	if namespace == order {
		return name
	}
	return namespace + "/" + name
}

// ObjectOf is the namespace and the name of the Application that has a MemberName.
func ObjectOf(order, member string) (namespace, name string) {
	if _, parent := ParentNamed(member); parent { // it is no Application
		return order, member
	}
	if namespace, name, elsewhere := strings.Cut(member, "/"); elsewhere {
		return namespace, name
	}
	return order, member
}

// setMember begins what an ApplicationSet is called in the order of its parent. No name of Kubernetes has a colon.
const setMember = "applicationset:"

// SetMember is what an ApplicationSet is called in the order of its parent, beside the Applications.
func SetMember(name string) string { return setMember + name }

// SetNamed is the name of the ApplicationSet that a member of an order is, if it is one.
func SetNamed(member string) (name string, is bool) { return strings.CutPrefix(member, setMember) }

// Has reports whether an Application that says that it is a member is one, by its MemberName: in its own namespace
// everybody who says so is, and in others those of Elsewhere.
func (set *ApplicationSet) Has(member string) bool {
	return !strings.Contains(member, "/") || set.Elsewhere[member]
}

// Namespaces are those in which its members are: its own, and then those of Elsewhere.
func (set *ApplicationSet) Namespaces() []string {
	all := []string{set.Namespace}
	for member := range set.Elsewhere {
		if namespace, _ := ObjectOf(set.Namespace, member); !slices.Contains(all, namespace) {
			all = append(all, namespace)
		}
	}
	slices.Sort(all[1:])
	return all
}
