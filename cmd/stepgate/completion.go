// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"slices"
	"strings"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// completionTimeout is how long a shell waits for names.
const completionTimeout = 3 * time.Second

// completeSets completes the name of one ApplicationSet.
func (c *cli) completeSets(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	return c.complete(cmd, args, typed, "applicationsets")
}

// completeManySets completes the names of several ApplicationSets.
func (c *cli) completeManySets(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	names, directive := c.complete(cmd, nil, typed, "applicationsets")
	return slices.DeleteFunc(names, func(name string) bool { return slices.Contains(args, name) }), directive
}

// completeApps completes the names of Applications.
func (c *cli) completeApps(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	return c.complete(cmd, args, typed, "applications")
}

// completeBoth completes the names of Applications and of ApplicationSets.
func (c *cli) completeBoth(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	return c.complete(cmd, args, typed, "applicationsets", "applications")
}

// complete gives the names that begin with what was typed. Where they cannot be read it gives none: a shell has no
// place for an error.
func (c *cli) complete(
	cmd *cobra.Command, args []string, typed string, resources ...string,
) ([]string, cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp
	clients, err := c.cluster()
	if err != nil || len(args) > 0 {
		return nil, none
	}
	namespace, err := c.namespace()
	if err != nil {
		return nil, none
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
	defer cancel()
	var names []string
	for _, resource := range resources {
		list, err := clients.Versions.Resource(argo.SchemeGroupVersion.WithResource(resource)).Namespace(namespace).List(ctx,
			metav1.ListOptions{})
		if err != nil {
			return nil, none
		}
		for i := range list.Items {
			if name := list.Items[i].Name; strings.HasPrefix(name, typed) {
				names = append(names, name)
			}
		}
	}
	return names, none
}
