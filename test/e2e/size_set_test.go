// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/stepgate/stepgate/test/script"
)

// applicationSet is one ApplicationSet of a fleet.
func (f *fleet) applicationSet(name string, members []*member) *argo.ApplicationSet {
	template := argo.ApplicationSetTemplate{
		ApplicationSetTemplateMeta: argo.ApplicationSetTemplateMeta{Name: "{{.name}}", Labels: map[string]string{stepLabel: "{{.env}}"}},
		Spec: argo.ApplicationSpec{
			Project:     "default",
			Source:      &argo.ApplicationSource{RepoURL: "{{.url}}", Path: "{{.path}}", TargetRevision: "{{.target}}"},
			Destination: argo.ApplicationDestination{Server: "https://kubernetes.default.svc", Namespace: "{{.destination}}"},
		},
	}
	if f.ignoresOthers {
		template.Annotations = map[string]string{argo.AnnotationKeyManifestGeneratePaths: "."}
	}
	strategy := &argo.ApplicationSetStrategy{Type: "RollingSync", RollingSync: &argo.ApplicationSetRolloutStrategy{}}
	for step := range f.steps {
		strategy.RollingSync.Steps = append(strategy.RollingSync.Steps, argo.ApplicationSetRolloutStep{
			MatchExpressions: []argo.ApplicationMatchExpression{{Key: stepLabel, Operator: "In", Values: []string{stepName(step)}}},
		})
	}
	of := &rollout{members: members}
	return &argo.ApplicationSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: string(f.mode), Name: name},
		Spec:       argo.ApplicationSetSpec{GoTemplate: true, Generators: of.generators(), Template: template, Strategy: strategy},
	}
}

// uninstall deletes the ApplicationSets, their Applications and all that they have deployed. No garbage collector runs
// here.
func (f *fleet) uninstall() {
	for _, o := range []struct {
		kind      client.Object
		namespace string
	}{
		{&argo.ApplicationSet{}, string(f.mode)}, {&argo.Application{}, string(f.mode)}, {&corev1.ConfigMap{}, f.mode.destination()},
	} {
		script.Must(f.Admin.DeleteAllOf(f.ctx, o.kind, client.InNamespace(o.namespace)))
	}
}

// atNewest says that every Application is at the newest change, by its status as the watch shows it.
func (f *fleet) atNewest() bool {
	f.refreshOverlooked()
	for _, m := range f.members {
		if app := f.live(m); app == nil || !m.atNewest(app) {
			return false
		}
	}
	return true
}

// recordedHealthy says that the ApplicationSet controller has recorded every Application as Healthy at the newest
// commit.
func (f *fleet) recordedHealthy() bool {
	sets := &argo.ApplicationSetList{}
	if f.Admin.List(f.ctx, sets, client.InNamespace(f.mode)) != nil {
		return false // a busy machine lets reads time out; the caller asks again
	}
	healthy := map[string]string{}
	for _, set := range sets.Items {
		for _, s := range set.Status.ApplicationStatus {
			if s.Status == "Healthy" && len(s.TargetRevisions) == 1 {
				healthy[s.Application] = s.TargetRevisions[0]
			}
		}
	}
	for _, m := range f.members {
		if app := f.live(m); app == nil || healthy[m.name] != app.Status.Sync.Revision {
			return false
		}
	}
	return true
}

// verify fails unless the cluster really has the version of every member.
func (f *fleet) verify() {
	deployed := &corev1.ConfigMapList{}
	script.Must(f.Admin.List(f.ctx, deployed, client.InNamespace(f.mode.destination())))
	versions := map[string]string{}
	for _, c := range deployed.Items {
		versions[c.Name] = c.Data["version"]
	}
	for _, m := range f.members {
		if versions[m.name] != m.version {
			script.Fail("%s has version %q in the cluster, not %q", m.name, versions[m.name], m.version)
		}
	}
}
