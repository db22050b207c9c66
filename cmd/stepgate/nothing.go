// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/cmd/live"
)

// emptyFlag is the flag by which a command takes "there is nothing" for an answer.
const emptyFlag = "allow-empty"

// bindEmpty adds --allow-empty.
func (c *cli) bindEmpty(cmd *cobra.Command, nothing string) {
	cmd.Flags().BoolVar(&c.allowEmpty, emptyFlag, false, "exit code 0, and not 2, if there is "+nothing)
}

// nothingError is the error of a command that has seen nothing to judge: it cannot say that all is well.
type nothingError struct {
	// what there is none of, and where.
	what, namespace string
	// note is what there is instead; empty if there is no ApplicationSet at all.
	note string
}

// Error implements error.
func (e *nothingError) Error() string {
	return fmt.Sprintf("nothing was looked at: there is no %s%s%s", e.what, inNamespace(e.namespace), e.note)
}

// nothing completes the error of a command that has seen nothing.
func (c *cli) nothing(cmd *cobra.Command, e *nothingError) error {
	hint := ""
	if e.note == "" {
		hint = c.elsewhere(cmd, "ApplicationSet", e.namespace, nil)
	}
	return fmt.Errorf("%w%s (--%s takes that for an answer)", e, hint, emptyFlag)
}

func inNamespace(namespace string) string {
	if namespace == "" {
		return " in any namespace"
	}
	return " in namespace " + namespace
}

const (
	// lookElsewhere is how long a hint may take.
	lookElsewhere = 3 * time.Second
	// mostMeant is how many namespaces a hint names.
	mostMeant = 3
	// mostLooked is how many objects a hint looks at.
	mostLooked = 500
)

// elsewhere is a hint at the namespaces that have what a namespace lacks: these names, or any.
func (c *cli) elsewhere(cmd *cobra.Command, kind, namespace string, names []string) string {
	wrongCluster := "is this the right cluster? The context is " + cmp.Or(c.context(), "the one of this Pod")
	if namespace == "" {
		return "; " + wrongCluster
	}
	orAll, all := "?", "; stepgate get -A lists all"
	if cmd.Flags().Lookup("all-namespaces") != nil {
		orAll, all = ", or -A for all?", "; -A is all namespaces"
	}
	has, total, err := c.namespacesWith(cmd.Context(), kind, names)
	switch {
	case err != nil:
		return "; -n names another namespace" + all
	case total == 0:
		return "; no namespace has one: " + wrongCluster
	}
	has = slices.DeleteFunc(has, func(n string) bool { return n == namespace })
	if len(has) == 0 {
		return "; no other namespace has one either" + all
	}
	more := ""
	if len(has) > mostMeant {
		has, more = has[:mostMeant], " or others"
	}
	return "; did you mean -n " + strings.Join(has, ", -n ") + more + orAll
}

// otherKind is a hint at an Application where an ApplicationSet was asked for, and the other way round.
func (c *cli) otherKind(ctx context.Context, missing *live.NotFoundError) string {
	kind, verb := "ApplicationSet", "get"
	switch missing.Kind {
	case "Application":
	case "ApplicationSet":
		kind, verb = "Application", "explain"
	default:
		return ""
	}
	has, _, err := c.namespacesWith(ctx, kind, missing.Names)
	if err != nil || len(missing.Names) != 1 || !slices.Contains(has, missing.Namespace) {
		return ""
	}
	return fmt.Sprintf("; there is an %s of this name: stepgate %s %s -n %s", kind, verb, missing.Names[0],
		missing.Namespace)
}

// namespacesWith are the namespaces that have objects of a kind with one of these names, or any, and how many objects
// of the kind there are.
func (c *cli) namespacesWith(ctx context.Context, kind string, names []string) (has []string, total int, err error) {
	clients, err := c.cluster()
	if err != nil {
		return nil, 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, lookElsewhere)
	defer cancel()
	for one := range strings.SplitSeq(kind, " or ") {
		resource := argo.SchemeGroupVersion.WithResource(strings.ToLower(one) + "s")
		list, err := clients.Versions.Resource(resource).List(ctx, metav1.ListOptions{Limit: mostLooked})
		if err != nil {
			return nil, 0, err
		}
		if list.Continue != "" {
			return nil, 0, errors.New("there are too many to look at")
		}
		total += len(list.Items)
		for i := range list.Items {
			if o := &list.Items[i]; len(names) == 0 || slices.Contains(names, o.Name) {
				has = append(has, o.Namespace)
			}
		}
	}
	slices.Sort(has)
	return slices.Compact(has), total, nil
}

// noSet is the error for an ApplicationSet that does not exist.
func noSet(name types.NamespacedName) error { return live.NoSet(name.Namespace, name.Name) }
