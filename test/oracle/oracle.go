// SPDX-License-Identifier: Apache-2.0

// Package oracle is a reader of siblings that is slow and obviously right: for every decision it reads every sibling
// whole. The tests compare stepgate's own reader with it, and the benchmarks measure against it.
package oracle

import (
	"context"
	"fmt"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/policy"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/cluster"
	"github.com/stepgate/stepgate/webhook/judge"
)

// Reader reads the ApplicationSet with a GET and all its siblings with a typed LIST, both live.
type Reader struct {
	// live reads from the API server itself. It is never a cache.
	live    client.Reader
	observe cluster.Observer
}

// New returns a Reader on a client that goes to the API server with every read.
func New(live client.Reader, observe cluster.Observer) *Reader {
	return &Reader{live: live, observe: observe}
}

// ApplicationSet reads an ApplicationSet; nil without an error means that it does not exist.
func (r *Reader) ApplicationSet(ctx context.Context, name types.NamespacedName) (*argocd.ApplicationSet, error) {
	var set argo.ApplicationSet
	found := true
	err := r.timed("applicationset_get", func() error {
		err := r.live.Get(ctx, name, &set)
		found = !apierrors.IsNotFound(err)
		// That it does not exist is an answer, not a failure.
		return client.IgnoreNotFound(err)
	})
	if !found {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get ApplicationSet %s: %w", name, err)
	}
	return argocd.NewApplicationSet(&set), nil
}

// Evaluate evaluates the rule on the siblings as the API server holds them now. The input's Siblings are ignored, and
// what somebody says of its scope. It reads nothing when the ApplicationSet alone settles the write. On an error there
// is no decision.
func (r *Reader) Evaluate(ctx context.Context, in policy.Input, _ policy.Decision) (policy.Decision, error) {
	if d, settled := policy.Scope(in); settled {
		return d, nil
	}
	set := in.ApplicationSet
	var list argo.ApplicationList
	err := r.timed("application_list", func() error { return r.live.List(ctx, &list, client.InNamespace(set.Namespace)) })
	if err != nil {
		return policy.Decision{}, fmt.Errorf("list Applications of namespace %s: %w", set.Namespace, err)
	}
	if list.Continue != "" {
		return policy.Decision{}, fmt.Errorf("list Applications of namespace %s: the answer is partial", set.Namespace)
	}
	in.Siblings = nil
	for i := range list.Items {
		if owner := metav1.GetControllerOf(&list.Items[i]); owner != nil && string(owner.UID) == set.UID {
			sibling := argocd.Sibling(&list.Items[i])
			in.Siblings = append(in.Siblings, in.ApplicationSet.Sibling(&sibling))
		}
	}
	return policy.Evaluate(in), nil
}

// Named reads what there is of a name, with typed reads.
func (r *Reader) Named(ctx context.Context, name types.NamespacedName) (n judge.Named, err error) {
	var list argo.ApplicationList
	if n.Set, err = r.ApplicationSet(ctx, name); err != nil {
		return n, err
	}
	if err := r.live.List(ctx, &list, client.InNamespace(name.Namespace)); err != nil {
		return n, fmt.Errorf("list Applications of namespace %s: %w", name.Namespace, err)
	}
	for i := range list.Items {
		p := argocd.NewProjection(&list.Items[i])
		if n.Set != nil && string(p.Owner) == n.Set.UID {
			n.Members = append(n.Members, p)
		}
		if p.Name == name.Name {
			n.Own = p
		}
	}
	return n, nil
}

func (r *Reader) timed(kind string, read func() error) error {
	start := time.Now()
	err := read()
	r.observe.ReadDone(kind, time.Since(start), err)
	return err
}
