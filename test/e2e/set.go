package main

import (
	"context"
	"encoding/json"
	"fmt"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const stepLabel = "env"

// install creates the ApplicationSet of a rollout after a first commit, and nothing else.
func (r *rollout) install(ctx context.Context) error {
	if err := r.version("1", healthy, r.members...); err != nil {
		return err
	}
	set := &argo.ApplicationSet{ObjectMeta: metav1.ObjectMeta{Namespace: string(r.mode), Name: r.name}}
	generators, err := r.generators()
	if err != nil {
		return err
	}
	set.Spec = argo.ApplicationSetSpec{
		GoTemplate: true, Generators: generators,
		Template: argo.ApplicationSetTemplate{
			ApplicationSetTemplateMeta: argo.ApplicationSetTemplateMeta{
				Name: "{{.name}}", Labels: map[string]string{stepLabel: "{{.env}}"},
				// A foreground deletion would need the garbage collector of kube-controller-manager, which does not run here.
				Finalizers: []string{"resources-finalizer.argocd.argoproj.io/background"},
			},
			Spec: argo.ApplicationSpec{
				Project:     "default",
				Source:      &argo.ApplicationSource{RepoURL: "{{.url}}", Path: "{{.path}}", TargetRevision: "main"},
				Destination: argo.ApplicationDestination{Server: "https://kubernetes.default.svc", Namespace: r.mode.destination()},
			},
		},
		Strategy: &argo.ApplicationSetStrategy{Type: "RollingSync", RollingSync: &argo.ApplicationSetRolloutStrategy{}},
	}
	if r.scenario.reverse {
		set.Spec.Strategy.DeletionOrder = "Reverse"
	}
	if r.scenario.noRetry {
		set.Spec.Template.Spec.SyncPolicy = &argo.SyncPolicy{Retry: &argo.RetryStrategy{Limit: 0}}
	}
	for _, env := range environments {
		step := argo.ApplicationSetRolloutStep{MatchExpressions: []argo.ApplicationMatchExpression{{Key: stepLabel, Operator: "In", Values: []string{env}}}}
		if env == r.scenario.byHand {
			none := intstr.FromInt32(0)
			step.MaxUpdate = &none
		}
		set.Spec.Strategy.RollingSync.Steps = append(set.Spec.Strategy.RollingSync.Steps, step)
	}
	return r.admin.Create(ctx, set)
}

func (r *rollout) generators() ([]argo.ApplicationSetGenerator, error) {
	list := &argo.ListGenerator{}
	for _, m := range r.members {
		if m.removed {
			continue
		}
		element, err := json.Marshal(map[string]string{"name": m.name, "env": m.env, "path": m.path, "url": m.repo.URL})
		if err != nil {
			return nil, err
		}
		list.Elements = append(list.Elements, apiextensionsv1.JSON{Raw: element})
	}
	return []argo.ApplicationSetGenerator{{List: list}}, nil
}

// edit changes the ApplicationSet; its generators are those of the members as they are now.
func (r *rollout) edit(ctx context.Context, change func(*argo.ApplicationSet)) error {
	set := &argo.ApplicationSet{ObjectMeta: metav1.ObjectMeta{Namespace: string(r.mode), Name: r.name}}
	if err := r.admin.Get(ctx, client.ObjectKeyFromObject(set), set); err != nil {
		return err
	}
	before := set.DeepCopy()
	generators, err := r.generators()
	if err != nil {
		return err
	}
	set.Spec.Generators = generators
	if change != nil {
		change(set)
	}
	if err := r.admin.Patch(ctx, set, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("change ApplicationSet %s: %w", r.name, err)
	}
	return nil
}
