// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/cmd/kube"
	"github.com/stepgate/stepgate/cmd/rollout"
	"github.com/stepgate/stepgate/webhook/course"
)

// candidates asks the gate what an Application could deploy: a server dry run of a sync, of which the gate's mutating
// webhook tells. problem says why it could not be asked.
func (r *rollouts) candidates(
	ctx context.Context, name types.NamespacedName,
) (all rollout.Candidates, problem string) {
	said := &kube.Warnings{}
	objects, err := kube.Warned(r.clients.Config, said)
	if err != nil {
		return nil, err.Error()
	}
	app := &argo.Application{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name}}
	before := app.DeepCopy()
	app.Operation = &argo.Operation{
		InitiatedBy: argo.OperationInitiator{Automated: true}, Sync: &argo.SyncOperation{},
		Info: []*argo.Info{{Name: course.CandidatesInfo, Value: "list"}},
	}
	err = objects.Patch(ctx, app, client.MergeFrom(before), client.DryRunAll)
	all = rollout.ParseCandidates(said.Take())
	switch {
	case len(all) > 0:
		return all, "" // the dry run itself may be refused: the candidate is not due
	case apierrors.IsForbidden(err):
		return nil, fmt.Sprintf("the gate was not asked for candidates, because that is a server dry run of a patch of "+
			"Application %s, and you may not: %s", name.Name, err)
	case err != nil:
		return nil, "the gate was not asked for candidates: " + err.Error()
	}
	return nil, "the gate named no candidates: this Application is not gated, or its stepgate is older than this command"
}

// ask asks the gate about Applications of a namespace. problem becomes the first reason why it could not be asked, if
// there is no other problem.
func (r *rollouts) ask(ctx context.Context, namespace string, problem *string) rollout.Ask {
	return func(app string) rollout.Candidates {
		all, why := r.candidates(ctx, types.NamespacedName{Namespace: namespace, Name: app})
		*problem = cmp.Or(*problem, why)
		return all
	}
}
