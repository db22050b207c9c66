// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"cmp"
	"encoding/json"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/script"
)

const stepLabel = "env"

// install creates the ApplicationSet of a rollout after a first commit, and nothing else.
func (r *rollout) install() {
	r.version("1", r.members)
	set := &argo.ApplicationSet{ObjectMeta: metav1.ObjectMeta{Namespace: string(r.mode), Name: r.name}}
	set.Spec = argo.ApplicationSetSpec{
		GoTemplate: true, Generators: r.generators(),
		Template: argo.ApplicationSetTemplate{
			ApplicationSetTemplateMeta: argo.ApplicationSetTemplateMeta{
				Name: "{{.name}}", Labels: map[string]string{stepLabel: "{{.env}}"},
				// A foreground deletion would need the garbage collector of kube-controller-manager, which does not run
				// here.
				Finalizers: []string{"resources-finalizer.argocd.argoproj.io/background"},
			},
			Spec: argo.ApplicationSpec{
				Project:     "default",
				Source:      &argo.ApplicationSource{RepoURL: "{{.url}}", Path: "{{.path}}", TargetRevision: "{{.target}}"},
				Destination: argo.ApplicationDestination{Server: "https://kubernetes.default.svc", Namespace: "{{.destination}}"},
			},
		},
		Strategy: &argo.ApplicationSetStrategy{Type: "RollingSync", RollingSync: &argo.ApplicationSetRolloutStrategy{}},
	}
	if r.scenario.reverse {
		set.Spec.Strategy.DeletionOrder = "Reverse"
		// From Argo CD 3.3 on the ApplicationSet controller adds it. Without it the ApplicationSet is gone before its
		// Applications are deleted.
		set.Finalizers = []string{argo.ResourcesFinalizerName}
	}
	if r.scenario.noRetry {
		set.Spec.Template.Spec.SyncPolicy = &argo.SyncPolicy{Retry: &argo.RetryStrategy{Limit: 0}}
	}
	for _, env := range r.scenario.environments() {
		step := argo.ApplicationSetRolloutStep{
			MatchExpressions: []argo.ApplicationMatchExpression{{Key: stepLabel, Operator: "In", Values: []string{env}}},
		}
		if most := intstr.FromInt(r.scenario.maxUpdate); env == r.scenario.byHand || r.scenario.maxUpdate > 0 {
			step.MaxUpdate = &most
		}
		set.Spec.Strategy.RollingSync.Steps = append(set.Spec.Strategy.RollingSync.Steps, step)
	}
	if r.scenario.template != nil {
		r.scenario.template(r, &set.Spec.Template.Spec)
	}
	if r.scenario.set != nil {
		r.scenario.set(set)
	}
	script.Must(r.Admin.Create(r.ctx, set))
}

func (r *rollout) generators() []argo.ApplicationSetGenerator {
	list := &argo.ListGenerator{}
	for _, m := range r.members {
		if m.removed {
			continue
		}
		values := map[string]string{
			"name": m.name, "env": m.env, "path": m.path, "url": m.url(), "target": m.target(), "destination": m.destination, "cluster": m.cluster(), "project": cmp.Or(m.project, "default"),
		}
		if m.second != nil {
			values["secondPath"], values["secondURL"] = m.second.path, m.second.url()
		}
		element := script.Get(json.Marshal(values))
		list.Elements = append(list.Elements, apiextensionsv1.JSON{Raw: element})
	}
	return []argo.ApplicationSetGenerator{{List: list}}
}

// edit changes the ApplicationSet. Its generators follow from the members as they are now.
func (r *rollout) edit(change func(*argo.ApplicationSet)) {
	set := r.applicationSet()
	before := set.DeepCopy()
	set.Spec.Generators = r.generators()
	if change != nil {
		change(set)
	}
	script.Mustf(r.Admin.Patch(r.ctx, set, client.MergeFrom(before)), "change ApplicationSet %s", r.name)
}
