// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"testing"

	. "github.com/onsi/gomega"
)

// The generators of good are replaced, and the labels of the template are what the rows name. want are the findings and
// then the gaps.
func TestGenerators(t *testing.T) {
	const list = "    - list:\n        elements:\n          - {env: dev, cluster: dev}\n          - {env: prod, " +
		"cluster: prod-eu}\n          - {env: prod, cluster: prod-us}\n"
	plain := []string{
		"  goTemplate: true\n  goTemplateOptions: [missingkey=error]\n", "", "guestbook-{{.cluster}}", "guestbook-{{cluster}}", "{{.env}}", "{{env}}",
	}
	for name, tc := range map[string]struct {
		edits []string
		// applications are counted where they are known one by one.
		applications int
		want         []string
		gaps         []string
	}{
		"a list without goTemplate": {edits: plain, applications: 3},
		"a number without goTemplate": {
			edits: append([]string{"cluster: dev}", "cluster: 1}"}, plain...), want: []string{
				`generator-fails 10 spec.generators[0].list: Argo CD cannot evaluate generator 1 (list): a value is no text, and without goTemplate Argo CD takes texts only.`,
			},
		},
		"values without goTemplate": {
			edits: append(append([]string{}, plain...), "{env: dev, cluster: dev}", "{env: dev, cluster: dev, values: {env: dev}}"), applications: 3,
		},
		"elementsYaml": {
			edits:        []string{list, "    - list:\n        elementsYaml: |\n          - {env: dev, cluster: dev}\n          - {env: test, cluster: test}\n"},
			applications: 2,
			want: []string{
				`in-no-step 19 ` + steps + `: guestbook-test is in no step.`,
				`value-never-given 23 ` + steps + `[1].matchExpressions[0].values[0]: Step 2 lists the value "prod" of the label env, which no generator gives.`,
				`step-without-applications 22 ` + steps + `[1]: Step 2 gets no Application: no generator gives one with labels that it selects.`,
			},
		},
		"a selector": {
			edits: []string{"  strategy:", "      selector: {matchExpressions: [{key: env, operator: In, values: [dev]}]}\n  strategy:"}, applications: 1,
			want: []string{
				`value-never-given 25 ` + steps + `[1].matchExpressions[0].values[0]: Step 2 lists the value "prod" of the label env, which no generator gives.`,
				`step-without-applications 24 ` + steps + `[1]: Step 2 gets no Application: no generator gives one with labels that it selects.`,
			},
		},
		"a matrix of lists": {
			edits:        []string{list, "    - matrix:\n        generators:\n          - list: {elements: [{env: dev}, {env: prod}]}\n          - list: {elements: [{cluster: '{{.env}}-eu'}, {cluster: '{{.env}}-us'}]}\n"},
			applications: 4,
		},
		"a matrix of a list and clusters": {
			edits: []string{list, "    - matrix:\n        generators:\n          - list: {elements: [{env: dev}, {env: qa}]}\n          - clusters: {}\n"},
			want: []string{
				`value-never-given 23 ` + steps + `[1].matchExpressions[0].values[0]: Step 2 lists the value "prod" of the label env, which no generator gives.`,
				`step-without-applications 22 ` + steps + `[1]: Step 2 gets no Application: no generator gives one with labels that it selects.`,
				`in-no-step 19 ` + steps + `: Some Applications of generator 1 are in no step.`,
			},
			gaps: []string{`generator 1 (matrix with clusters): which Applications it gives, and whether each of them is in exactly one step; stepgate lint -n argocd guestbook checks the live ones`},
		},
		"a matrix of git and a list, which may override each other": {
			edits: []string{list, "    - matrix:\n        generators:\n          - git: {repoURL: https://example.com/x.git, revision: main, files: [{path: '*.json'}]}\n          - list: {elements: [{env: qa}]}\n"},
			gaps:  []string{`generator 1 (matrix with git): which Applications it gives, and whether each of them is in exactly one step; stepgate lint -n argocd guestbook checks the live ones`},
		},
		"a merge of lists": {
			edits: []string{list, "    - merge:\n        mergeKeys: [cluster]\n        generators:\n          - list: {elements: [{cluster: a, env: dev}, {cluster: b, env: dev}]}\n          - list: {elements: [{cluster: b, env: prod}, {cluster: c, env: prod}]}\n"}, applications: 2,
		},
		"a merge without keys": {
			edits: []string{list, "    - merge:\n        mergeKeys: []\n        generators:\n          - list: {elements: [{cluster: a, env: dev}]}\n          - list: {elements: [{cluster: b, env: prod}]}\n"},
			want:  []string{`generator-fails 12 spec.generators[0].merge: Argo CD cannot evaluate generator 1 (merge): error getting param sets by merge key: no merge keys were specified, Merge requires at least one.`},
		},
		"a merge of clusters and a list": {
			edits: []string{list, "    - merge:\n        mergeKeys: [name]\n        generators:\n          - clusters: {}\n          - list: {elements: [{name: b, env: prod}]}\n"},
			gaps:  []string{`generator 1 (merge with clusters): which Applications it gives, and whether each of them is in exactly one step; stepgate lint -n argocd guestbook checks the live ones`},
		},
		"clusters without goTemplate": {
			edits: append([]string{list, "    - clusters: {}\n"}, plain...),
			gaps:  []string{`generator 1 (clusters): which Applications it gives, and whether each of them is in exactly one step; stepgate lint -n argocd guestbook checks the live ones`},
		},
		"git, with a label that is always the same": {
			edits: []string{list, "    - git: {repoURL: https://example.com/x.git, revision: main, directories: [{path: '*'}], template: {metadata: {labels: {env: dev}}, spec: {}}}\n"},
			want: []string{
				`value-never-given 20 ` + steps + `[1].matchExpressions[0].values[0]: Step 2 lists the value "prod" of the label env, which no generator gives.`,
				`step-without-applications 19 ` + steps + `[1]: Step 2 gets no Application: no generator gives one with labels that it selects.`,
			},
			gaps: []string{`generator 1 (git): which Applications it gives, and whether each of them is in exactly one step; stepgate lint -n argocd guestbook checks the live ones`},
		},
		"a function of Argo CD": {edits: []string{"{{.env}}", "{{.env | slugify}}"}, applications: 3},
		"a function of sprig":   {edits: []string{"{{.env}}", "{{.env | lower | trim}}"}, applications: 3},
		"a patch of the label": {
			edits: []string{"  template:", "  templatePatch: |\n    metadata:\n      labels:\n        env: '{{if eq .cluster \"prod-us\"}}test{{else}}{{.env}}{{end}}'\n  template:"}, applications: 3,
			want: []string{`in-no-step 20 ` + steps + `: guestbook-prod-us is in no step.`},
		},
		"a patch that removes the label": {
			edits: []string{"  template:", "  templatePatch: |\n    metadata:\n      labels:\n        env: null\n  template:"}, applications: 3,
			want: []string{
				`label-not-set 22 ` + steps + `[0].matchExpressions[0].key: Step 1 selects by the label env, which the template does not set.`,
				`in-no-step 20 ` + steps + `: guestbook-dev, guestbook-prod-eu and guestbook-prod-us are in no step.`,
			},
		},
		"a patch with a loop": {
			edits: []string{"  template:", "  templatePatch: |\n    {{- range $k, $v := . }}\n    metadata: {labels: {env: '{{$v}}'}}\n    {{- end }}\n  template:"}, applications: 3,
		},
		"a patch in YAML's short form, which Argo CD takes for JSON": {
			edits: []string{"  template:", "  templatePatch: '{metadata: {labels: {env: null}}}'\n  template:"},
			want: []string{
				`template-fails 26 spec.templatePatch: Argo CD cannot render the template of generator 1 (list): invalid templatePatch "{metadata: {labels: {env: null}}}": invalid character 'm' looking for beginning of object key string.`,
			},
		},
		"a patch of all metadata, of clusters": {
			edits: []string{list, "    - clusters: {}\n", "  template:", "  templatePatch: |\n    metadata: {{ .more | toJson }}\n  template:", "labels: {env: \"{{.env}}\"}", "labels: {}"},
			gaps:  []string{`generator 1 (clusters): which Applications it gives, and whether each of them is in exactly one step; stepgate lint -n argocd guestbook checks the live ones`},
		},
		"a patch by a variable, of clusters": {
			edits: []string{list, "    - clusters: {}\n", "  template:", "  templatePatch: |\n    {{ $x := .more }}\n    {{ toPrettyJson $x }}\n  template:", "labels: {env: \"{{.env}}\"}", "labels: {}"},
			gaps:  []string{`generator 1 (clusters): which Applications it gives, and whether each of them is in exactly one step; stepgate lint -n argocd guestbook checks the live ones`},
		},
		"a patch of something else that has a loop": {
			edits: []string{"  template:", "  templatePatch: |\n    spec:\n      source:\n        {{- if slugify .env }}\n        path: x\n        {{- end }}\n  template:"}, applications: 3,
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			r := checked(t, edited(t, tc.edits...))
			if tc.want == nil {
				tc.want = []string{}
			}
			g.Expect(findings(t, r)).To(ConsistOf(tc.want))
			g.Expect(r.ApplicationSets[0].Applications).To(Equal(tc.applications))
			gaps := []string{}
			for _, gap := range r.ApplicationSets[0].NotChecked {
				if gap.Subject != "progressive syncs" {
					gaps = append(gaps, gap.Message)
				}
			}
			if tc.gaps == nil {
				tc.gaps = []string{}
			}
			g.Expect(gaps).To(Equal(tc.gaps))
		})
	}
}
