// SPDX-License-Identifier: Apache-2.0

package extension

import (
	"cmp"
	"context"
	"errors"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/cmd/rollout"
)

// candidates are what an Application could deploy, as the gate says when a person asks for them.
func (f *Facts) candidates(q rollout.Question) (rollout.Candidates, error) {
	request, err := rollout.Request(q.Live, &argo.Operation{
		InitiatedBy: argo.OperationInitiator{Automated: true}, Sync: &argo.SyncOperation{},
	}, "")
	if err != nil {
		return nil, err
	}
	return f.preview.Candidates(request)
}

// addCandidates fills in what every step deploys next. It reads one Application of each step live.
func (f *Facts) addCandidates(r *rollout.Rollout) {
	ctx, cancel := context.WithTimeout(context.Background(), mostTime)
	defer cancel()
	var problem error
	r.AskGate(f.ask(ctx, r.Namespace, &problem))
	if problem != nil {
		r.Problems = append(r.Problems, problem.Error())
	}
}

// ask reads an Application of a namespace live, and says what it could deploy. problem is the first one.
func (f *Facts) ask(ctx context.Context, namespace string, problem *error) rollout.Ask {
	return func(app string) rollout.Candidates {
		q, err := f.question(ctx, types.NamespacedName{Namespace: namespace, Name: app})
		if err != nil {
			*problem = cmp.Or(*problem, errors.New("the candidates of "+app+" are not shown: the Application could not be read"))
			return nil
		}
		all, err := f.candidates(q)
		if err != nil {
			*problem = cmp.Or(*problem, err)
		}
		return all
	}
}
