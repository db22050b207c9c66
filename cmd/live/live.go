// SPDX-License-Identifier: Apache-2.0

// Package live reads Argo CD's objects for the command line: whole, in pages, straight from the API server, and without
// any right but get and list. The webhook's own live reader, package siblings, keeps only the part of an object that
// the rule needs.
package live

import (
	"context"
	"fmt"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// pageSize bounds the objects of a page. A large Application has 100 KiB.
const pageSize = 250

// Applications calls each with every Application of a namespace, or of all namespaces, where it is empty. It holds one
// page in memory.
func Applications(ctx context.Context, objects client.Reader, namespace string, each func(*argo.Application)) error {
	return paged(func(options ...client.ListOption) (string, error) {
		var list argo.ApplicationList
		if err := objects.List(ctx, &list, append(options, client.InNamespace(namespace))...); err != nil {
			return "", fmt.Errorf("list Applications%s: %w", in(namespace), err)
		}
		for i := range list.Items {
			each(&list.Items[i])
		}
		return list.Continue, nil
	})
}

// CountApplications says how many Applications a namespace has; 0 where the API server does not tell. It reads the
// metadata of one.
func CountApplications(ctx context.Context, objects client.Reader, namespace string) (int, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(argo.SchemeGroupVersion.WithKind("ApplicationList"))
	if err := objects.List(ctx, list, client.Limit(1), client.InNamespace(namespace)); err != nil {
		return 0, fmt.Errorf("list Applications%s: %w", in(namespace), err)
	}
	if list.RemainingItemCount == nil {
		return 0, nil
	}
	return len(list.Items) + int(*list.RemainingItemCount), nil
}

// ApplicationSets calls each with every ApplicationSet of a namespace, or of all namespaces, where it is empty.
func ApplicationSets(
	ctx context.Context, objects client.Reader, namespace string, each func(*argo.ApplicationSet),
) error {
	return paged(func(options ...client.ListOption) (string, error) {
		var list argo.ApplicationSetList
		if err := objects.List(ctx, &list, append(options, client.InNamespace(namespace))...); err != nil {
			return "", fmt.Errorf("list ApplicationSets%s: %w", in(namespace), err)
		}
		for i := range list.Items {
			each(&list.Items[i])
		}
		return list.Continue, nil
	})
}

// paged lists page after page. list returns where the next page begins.
func paged(list func(...client.ListOption) (next string, err error)) error {
	next := ""
	for {
		var err error
		if next, err = list(client.Limit(pageSize), client.Continue(next)); err != nil || next == "" {
			return err
		}
	}
}

func in(namespace string) string {
	if namespace == "" {
		return " of all namespaces"
	}
	return " in namespace " + namespace
}
