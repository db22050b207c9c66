// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// argoCDs finds the instances of Argo CD by the label that all ways to install it set.
func (s *Sources) argoCDs(ctx context.Context) (all Read[[]*ArgoCD]) {
	parts, err := s.parts(ctx)
	if err != nil {
		all.Err = err
		return all
	}
	byNamespace := map[string]*ArgoCD{}
	for _, p := range parts {
		part := partOf(p.Name, p.component)
		if part == "" {
			continue
		}
		if byNamespace[p.Namespace] == nil {
			byNamespace[p.Namespace] = &ArgoCD{Namespace: p.Namespace, Parts: map[string]*Part{}}
		}
		byNamespace[p.Namespace].Parts[part] = &p.Part
	}
	for _, a := range byNamespace {
		a.ConfigMaps = s.configMaps(ctx, a.Namespace)
		all.Value = append(all.Value, a)
	}
	slices.SortFunc(all.Value, func(a, b *ArgoCD) int { return cmp.Compare(a.Namespace, b.Namespace) })
	return all
}

// labelled is a workload with the label of its component.
type labelled struct {
	Part
	component string
}

func (s *Sources) parts(ctx context.Context) ([]labelled, error) {
	var all []labelled
	add := func(kind string, meta metav1.ObjectMeta, template corev1.PodTemplateSpec) {
		all = append(all, labelled{Part{kind, meta.Namespace, meta.Name, template}, meta.Labels[componentKey]})
	}
	options := metav1.ListOptions{LabelSelector: partOfLabel + "=argocd"}
	deployments, err := s.Kube.AppsV1().Deployments("").List(ctx, options)
	if err != nil {
		return nil, err
	}
	for _, d := range deployments.Items {
		add("Deployment", d.ObjectMeta, d.Spec.Template)
	}
	sets, err := s.Kube.AppsV1().StatefulSets("").List(ctx, options)
	if err != nil {
		return nil, err
	}
	for _, d := range sets.Items {
		add("StatefulSet", d.ObjectMeta, d.Spec.Template)
	}
	return all, nil
}

// configMaps reads the two ConfigMaps with settings.
func (s *Sources) configMaps(ctx context.Context, namespace string) (all Read[map[string]map[string]string]) {
	all.Value = map[string]map[string]string{}
	for _, name := range []string{"argocd-cm", paramsConfigMap} {
		c, err := s.Kube.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
		switch {
		case errors.IsNotFound(err):
		case err != nil:
			all.Err = err
		default:
			all.Value[name] = c.Data
		}
	}
	return all
}
