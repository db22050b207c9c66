// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"testing"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"
)

// automated is a sync policy. The zero value of enabled says nothing.
func automated(enabled, prune *bool) *argo.SyncPolicy {
	return &argo.SyncPolicy{Automated: &argo.SyncPolicyAutomated{Enabled: enabled, Prune: prune}}
}

// TestAStartPrunesWhereTheTemplatesDo: the ApplicationSet controller has written enabled: false into the Application,
// and goes by what it has generated.
func TestAStartPrunesWhereTheTemplatesDo(t *testing.T) {
	yes, no := ptr.To(true), ptr.To(false)
	plain := automated(nil, yes)
	listed := func(policy *argo.SyncPolicy) *argo.ListGenerator {
		list := &argo.ListGenerator{Elements: []apiextensionsv1.JSON{{Raw: []byte(`{"env": "prod"}`)}}}
		list.Template.Spec.SyncPolicy = policy
		return list
	}
	deep := &apiextensionsv1.JSON{Raw: []byte(
		`{"generators": [{"list": {"template": {"spec": {"syncPolicy": {"automated": {"prune": true, "enabled": false}}}}}}]}`,
	)}
	for name, tc := range map[string]struct {
		spec, template *argo.SyncPolicy
		generator      argo.ApplicationSetGenerator
		patch          string
		want           bool
	}{
		"the template prunes":                      {template: plain, want: true},
		"it says that automated sync is enabled":   {template: automated(yes, yes), want: true},
		"it switches automated sync off":           {template: automated(no, yes)},
		"no template does, and somebody has":       {},
		"it does not prune, and somebody has":      {template: automated(nil, no)},
		"the Application does not prune":           {spec: automated(no, no), template: plain},
		"Argo CD syncs the Application by itself":  {spec: plain, template: automated(no, no), want: true},
		"the generator's template prunes":          {generator: argo.ApplicationSetGenerator{List: listed(plain)}, want: true},
		"the generator's template switches it off": {template: plain, generator: argo.ApplicationSetGenerator{List: listed(automated(no, yes))}},
		"one in a matrix does": {template: plain, generator: argo.ApplicationSetGenerator{Matrix: &argo.MatrixGenerator{
			Generators: []argo.ApplicationSetNestedGenerator{{Clusters: &argo.ClusterGenerator{}}, {List: listed(automated(no, nil))}},
		}}},
		"one in a matrix in a merge does": {template: plain, generator: argo.ApplicationSetGenerator{Merge: &argo.MergeGenerator{
			Generators: []argo.ApplicationSetNestedGenerator{{Matrix: deep}},
		}}},
		"a patch prunes":                       {patch: "spec: {syncPolicy: {automated: {prune: true}}}", want: true},
		"a patch prunes by a parameter":        {patch: "spec:\n{{- if .auto }}\n  syncPolicy:\n    automated:\n      prune: {{ .prune }}\n{{- end }}", want: true},
		"a patch has nothing to do with it":    {template: plain, patch: "spec: {source: {path: '{{ .path }}'}}", want: true},
		"a patch may switch it off":            {template: plain, patch: "spec: {syncPolicy: {automated: {enabled: {{ .auto }}}}}"},
		"a patch puts a policy in":             {template: plain, patch: "spec: {syncPolicy: {{ .policy | toJson }}}"},
		"a patch puts a text in":               {template: plain, patch: "spec:\n  syncPolicy:\n    {{- .policy }}"},
		"a patch puts more of the spec in":     {template: plain, patch: "spec:\n{{ toYaml .spec | indent 2 }}"},
		"a patch is a parameter":               {template: plain, patch: "{{ .patch }}"},
		"a parameter looks like a policy":      {template: plain, generator: argo.ApplicationSetGenerator{List: &argo.ListGenerator{ElementsYaml: `[{"automated":{"enabled":false}}]`}}, want: true},
		"a label of a cluster has such a name": {template: plain, generator: argo.ApplicationSetGenerator{Clusters: &argo.ClusterGenerator{Values: map[string]string{"enabled": "false"}}}, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			app, set := application(), &argo.ApplicationSet{}
			app.Spec.SyncPolicy = tc.spec
			if tc.spec == nil {
				app.Spec.SyncPolicy = automated(no, yes)
			}
			set.Spec.Template.Spec.SyncPolicy = tc.template
			set.Spec.Generators = []argo.ApplicationSetGenerator{tc.generator}
			if tc.patch != "" {
				set.Spec.TemplatePatch = &tc.patch
			}
			op := NewOperation(app, set, []string{newCommit}, "")
			NewWithT(t).Expect(op.Sync.Prune).To(Equal(tc.want))
		})
	}
}
