// SPDX-License-Identifier: Apache-2.0

package live

import (
	"fmt"
	"strings"
)

// NotFoundError says that objects with these names do not exist. An empty namespace is all namespaces.
type NotFoundError struct {
	Kind, Namespace string
	Names           []string
}

// Error implements error.
func (e *NotFoundError) Error() string {
	where := " in namespace " + e.Namespace
	if e.Namespace == "" {
		where = " in any namespace"
	}
	return fmt.Sprintf("no %s %q%s", e.Kind, strings.Join(e.Names, ", "), where)
}

// NoSet is the error for an ApplicationSet that does not exist.
func NoSet(namespace string, names ...string) error {
	return &NotFoundError{Kind: "ApplicationSet", Namespace: namespace, Names: names}
}

// NoApplication is the error for an Application that does not exist.
func NoApplication(namespace, name string) error {
	return &NotFoundError{Kind: "Application", Namespace: namespace, Names: []string{name}}
}
