// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
)

// After is what AfterAnnotation says. The zero value waits for nothing.
type After struct {
	// Names are of ApplicationSets or Applications, each once.
	Names []types.NamespacedName
	// Unreadable says why it cannot be read. Then nothing starts until it is repaired.
	Unreadable string
}

// Waits reports whether anything comes before, or may.
func (a After) Waits() bool { return len(a.Names) > 0 || a.Unreadable != "" }

// And is both.
func (a After) And(other After) After {
	both := After{Names: slices.Clone(a.Names), Unreadable: a.Unreadable}
	for _, n := range other.Names {
		if !slices.Contains(both.Names, n) {
			both.Names = append(both.Names, n)
		}
	}
	if both.Unreadable == "" {
		both.Unreadable = other.Unreadable
	}
	return both
}

// OfApplication is what the AfterAnnotation of an Application itself says.
func (p *Parser) OfApplication(namespace string, all argocd.Annotations) (After, []Problem) {
	if _, has := all.Get(AfterAnnotation); !has {
		return After{}, nil
	}
	a := &annotations{of: &argocd.ApplicationSet{Annotations: all}, ignored: p.config.IgnoredAnnotations}
	after := a.after(namespace, p.config.AfterNamespaces)
	if why := all.Unreadable(AfterAnnotation); why != "" {
		a.problems = append(a.problems, Problem{AfterAnnotation, why})
	}
	return after, a.problems
}

// after reads AfterAnnotation of an object in a namespace.
func (a *annotations) after(namespace string, allowed []string) After {
	if _, ok := a.get(AfterAnnotation); !ok {
		return After{}
	}
	names, _, err := argocd.After(namespace, a.of.Annotations)
	if err == nil {
		err = validAfter(names, namespace, allowed)
	}
	if err != nil {
		a.note(AfterAnnotation, err)
		return After{Unreadable: policy.ClientText(err.Error())}
	}
	return After{Names: names}
}

func validAfter(all []types.NamespacedName, namespace string, allowed []string) error {
	for _, name := range all {
		switch {
		case len(validation.IsDNS1123Subdomain(name.Name)) > 0 || len(validation.IsDNS1123Label(name.Namespace)) > 0:
			return fmt.Errorf(`%.100q is no name: write names such as "infra", or "platform/base" for one in another `+
				`namespace`, strings.TrimPrefix(name.String(), namespace+"/"))
		case name.Namespace != namespace && !slices.Contains(allowed, name.Namespace):
			return fmt.Errorf("namespace %q may not be named (config.afterNamespaces)", name.Namespace)
		}
	}
	return nil
}

// track reads TrackAnnotation. One that cannot be read makes no tracks: then all hold each other up.
func (a *annotations) track() string {
	key, ok := a.get(TrackAnnotation)
	if !ok {
		return ""
	}
	if key = strings.TrimSpace(key); len(validation.IsQualifiedName(key)) > 0 {
		a.note(TrackAnnotation, fmt.Errorf(`%.100q is not the key of a label such as "app"`, key))
		return ""
	}
	return key
}
