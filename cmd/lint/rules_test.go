// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"maps"
	"regexp"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
)

const (
	step1 = "            - {key: env, operator: In, values: [dev]}\n"
	step2 = "            - {key: env, operator: In, values: [prod]}\n"
	step3 = "        - matchExpressions:\n            - {key: env, operator: In, values: [prod]}\n"
	steps = "spec.strategy.rollingSync.steps"
	lists = "    - list:\n        elements:\n          - {env: dev, cluster: dev}\n          - {env: prod, cluster: " +
		"prod-eu}\n          - {env: prod, cluster: prod-us}\n"
)

// row is an ApplicationSet, and all that lint finds in it.
type row struct {
	edits []string
	want  []string
}

// rows has at least one ApplicationSet for each rule.
var rows = map[string]row{
	"a good ApplicationSet": {nil, nil},

	"a label that is a number": {
		[]string{`values: [dev]`, `values: [dev, 1]`},
		[]string{
			`invalid-object 22 ` + steps + `[0].matchExpressions[0].values[1]: The field ` + steps + `[0].matchExpressions[0].values[1] is of the wrong type (number). It has to be a text: put it in quotes.`,
		},
	},
	"an annotation that is a number": {
		[]string{"    stepgate.io/require: health\n", "    stepgate.io/require: health\n    stepgate.io/approve: 3\n"},
		[]string{
			`invalid-object 8 metadata.annotations["stepgate.io/approve"]: The field metadata.annotations["stepgate.io/approve"] is of the wrong type (number). It has to be a text: put it in quotes.`,
		},
	},
	"a sync wave": {
		[]string{
			"    metadata:\n      name:", "    metadata:\n      annotations: {argocd.argoproj.io/sync-wave: '2'}\n      name:",
		},
		[]string{
			`sync-wave 28 spec.template.metadata.annotations["argocd.argoproj.io/sync-wave"]: The sync wave 2 of generated Applications orders nothing.`,
		},
	},
	"a misspelt maxUpdate": {
		[]string{"maxUpdate: 1", "maxUpdates: 1"},
		[]string{
			`unknown-field 25 ` + steps + `[1].maxUpdates: The field "maxUpdates" does not exist, and the API server drops it.`,
		},
	},
	"a type in lower case": {
		[]string{"type: RollingSync", "type: rollingsync", "\n  annotations:\n    stepgate.io/require: health", ""},
		[]string{
			`strategy-type 16 spec.strategy.type: The strategy type "rollingsync" does not exist: it is not exactly RollingSync, and the steps are ignored.`,
		},
	},
	"steps with AllAtOnce": {
		[]string{"type: RollingSync", "type: AllAtOnce", "\n  annotations:\n    stepgate.io/require: health", ""},
		[]string{`steps-ignored 17 spec.strategy.rollingSync: rollingSync is given, and ignored: the type is AllAtOnce.`},
	},
	"steps without a type": {
		[]string{"    type: RollingSync\n", "", "\n  annotations:\n    stepgate.io/require: health", ""},
		[]string{`steps-ignored 16 spec.strategy.rollingSync: rollingSync is given, and ignored: the type is not set.`},
	},
	"no steps": {
		[]string{
			"      steps:\n        - matchExpressions:\n" + step1 + "        - matchExpressions:\n" + step2 + "          maxUpdate: 1\n", "      steps: []\n", "\n  annotations:\n    stepgate.io/require: health", "",
		},
		[]string{`no-steps 18 spec.strategy.rollingSync.steps: The type is RollingSync, and there are no steps.`},
	},
	"one step": {
		[]string{"        - matchExpressions:\n" + step1, "", "values: [prod]", "values: [dev, prod]"},
		[]string{`one-step 20 spec.strategy.rollingSync.steps: There is one step only, and nothing to put in order.`},
	},
	"an unknown deletionOrder": {
		[]string{"type: RollingSync", "type: RollingSync\n    deletionOrder: Backwards"},
		[]string{
			`deletion-order 19 spec.strategy.deletionOrder: The deletionOrder "Backwards" does not exist: all Applications are deleted at once.`,
		},
	},
	"a deletionOrder without steps": {
		[]string{
			"type: RollingSync", "type: AllAtOnce\n    deletionOrder: reverse", "\n  annotations:\n    stepgate.io/require: health", "",
		},
		[]string{
			`deletion-order 17 spec.strategy.deletionOrder: deletionOrder Reverse has no effect without RollingSync and steps.`,
			`steps-ignored 18 spec.strategy.rollingSync: rollingSync is given, and ignored: the type is AllAtOnce.`,
		},
	},
	"a matrix of one generator": {
		[]string{"  strategy:", "    - matrix:\n        generators: [{list: {elements: [{a: b}]}}]\n  strategy:"},
		[]string{
			`generator-fails 17 spec.generators[1].matrix: Argo CD cannot evaluate generator 2 (matrix): found less than two generators, Matrix support only two.`,
		},
	},
	"a label whose parameter no element gives": {
		[]string{"labels: {env: \"{{.env}}\"}", "labels: {env: \"{{.enf}}\"}"},
		[]string{
			`template-fails 29 spec.template.metadata.labels.env: Argo CD cannot render the template of generator 1 (list): failed to execute go template {{.enf}}: template: base:1:2: executing "base" at <.enf>: map has no entry for key "enf".`,
		},
	},
	"a template that does not parse, outside the labels": {
		[]string{"path: base", "path: 'apps/{{ app }}'"},
		[]string{
			`template-fails 32 spec.template.spec.source.path: Argo CD cannot render the template of generator 1 (list): failed to parse template apps/{{ app }}: template: base:1: function "app" not defined.`,
		},
	},
	"a label of clusters without the dot, with goTemplate": {
		[]string{lists, "    - clusters: {}\n", "labels: {env: \"{{.env}}\"}", "labels: {env: \"{{metadata.labels.env}}\"}"},
		[]string{
			`template-fails 25 spec.template.metadata.labels.env: Argo CD cannot render the template of generator 1 (clusters): failed to parse template {{metadata.labels.env}}: template: base:1: function "metadata" not defined.`,
		},
	},
	"a name with a dash in a Go template": {
		[]string{
			lists, "    - clusters: {}\n", "labels: {env: \"{{.env}}\"}", "labels: {env: \"{{.metadata.labels.cluster-env}}\"}",
		},
		[]string{
			`template-fails 25 spec.template.metadata.labels.env: Argo CD cannot render the template of generator 1 (clusters): failed to parse template {{.metadata.labels.cluster-env}}: template: base:1: bad character U+002D '-'.`,
		},
	},
	"a Go template without goTemplate, of clusters": {
		[]string{
			"  goTemplate: true\n  goTemplateOptions: [missingkey=error]\n", "", lists, "    - clusters: {}\n",
			"guestbook-{{.cluster}}", "guestbook-{{name}}",
			"labels: {env: \"{{.env}}\"}", "labels: {env: '{{index .metadata.labels \"env\"}}'}",
		},
		[]string{
			`placeholder-not-filled 23 spec.template.metadata.labels.env: The label env keeps the placeholder {{index .metadata.labels "env"}}: it is written for Go templates.`,
		},
	},
	"a name twice": {
		[]string{"{env: prod, cluster: prod-us}", "{env: prod, cluster: prod-eu}"},
		[]string{`duplicate-name 28 spec.template.metadata.name: 2 Applications get the name guestbook-prod-eu.`},
	},
	"a name that is not valid": {
		[]string{"{env: prod, cluster: prod-us}", "{env: prod, cluster: prod_US}"},
		[]string{
			`invalid-name 28 spec.template.metadata.name: An Application gets the name "guestbook-prod_US", which the API server refuses: a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character.`,
		},
	},
	"a name that another program fills in": {
		[]string{"  name: guestbook\n", "  name: ${NAME}\n"},
		[]string{
			`invalid-name 4 metadata.name: The API server refuses the name "${NAME}" of the ApplicationSet: a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character.`,
		},
	},
	"no name": {
		[]string{"  name: guestbook\n", ""},
		[]string{`invalid-name 3 metadata.name: The ApplicationSet has no name.`},
	},
	"an element that cannot be rendered, and what it would give": {
		[]string{"{env: prod, cluster: prod-eu}", "{env: prod}", "          - {env: prod, cluster: prod-us}\n", ""},
		[]string{
			`template-fails 27 spec.template.metadata.name: Argo CD cannot render the template of generator 1 (list): failed to execute go template guestbook-{{.cluster}}: template: base:1:12: executing "base" at <.cluster>: map has no entry for key "cluster".`,
		},
	},
	"a templatePatch that is no YAML": {
		[]string{
			"  template:", "  templatePatch: |\n    metadata:\n      labels:\n       a: b\n      c: d\n     e: f\n  template:",
		},
		[]string{
			`template-fails 26 spec.templatePatch: Argo CD cannot render the template of generator 1 (list): error while converting template to json "metadata:\n  labels:\n   a: b\n  c: d\n e: f\n": yaml: line 4: did not find expected key.`,
		},
	},
	"a label that is not valid": {
		[]string{"labels: {env: \"{{.env}}\"}", "labels: {env: \"{{.env}}\", path: apps/x}"},
		[]string{
			`invalid-label 29 spec.template.metadata.labels.path: guestbook-dev, guestbook-prod-eu and guestbook-prod-us get the label path=apps/x, which the API server refuses: a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character.`,
		},
	},
	"fields of other tools, one of them in place of the expressions": {
		[]string{
			"        - matchExpressions:\n" + step1, "        - matchLabels: {env: dev}\n          minReadySeconds: 30\n",
		},
		[]string{
			`unknown-field 21 ` + steps + `[0].matchLabels: The field "matchLabels" does not exist, and the API server drops it: step 1 then selects every Application.`,
			`unknown-field 22 ` + steps + `[0].minReadySeconds: The field "minReadySeconds" does not exist, and the API server drops it.`,
		},
	},
	"a strategy in the template": {
		[]string{"    spec:\n", "    strategy: {type: RollingSync}\n    spec:\n"},
		[]string{
			`strategy-misplaced 30 spec.template.strategy: "strategy" does not exist here, and the API server drops it: the Applications are not put in order by it.`,
		},
	},
	"a strategy that is misspelt": {
		[]string{"  strategy:\n", "  strategies:\n", "\n  annotations:\n    stepgate.io/require: health", ""},
		[]string{
			`strategy-misplaced 15 spec.strategies: "strategies" does not exist here, and the API server drops it: the Applications are not put in order by it.`,
		},
	},
	"a field that is no strategy": {[]string{"  strategy:\n", "  state: {}\n  strategy:\n"}, nil},
	"expressions in lower case": {
		[]string{"        - matchExpressions:\n" + step1, "        - matchexpressions:\n" + step1},
		[]string{
			`unknown-field 21 ` + steps + `[0].matchexpressions: The field "matchexpressions" does not exist, and the API server drops it: step 1 then selects every Application.`,
		},
	},
	"a field of another level": {
		[]string{"          maxUpdate: 1\n", "", "    type: RollingSync\n", "    type: RollingSync\n    maxUpdate: 1\n"},
		[]string{`unknown-field 19 spec.strategy.maxUpdate: The field "maxUpdate" does not exist here, and the API server drops it.`},
	},
	"values that no label can have": {
		[]string{"labels: {env: \"{{.env}}\"}", "labels: {env: \"{{.env}}/x\"}"},
		[]string{
			`invalid-label 29 spec.template.metadata.labels.env: guestbook-dev, guestbook-prod-eu and guestbook-prod-us get labels such as env=dev/x, which the API server refuses: a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character.`,
		},
	},
	"a placeholder that no element fills": {
		[]string{
			"  goTemplate: true\n  goTemplateOptions: [missingkey=error]\n", "", "labels: {env: \"{{.env}}\"}", "labels: {env: \"{{env}}\", tier: \"{{tier}}\"}",
		},
		[]string{
			`placeholder-not-filled 26 spec.template.metadata.name: The name keeps the placeholder {{.cluster}}: it is written for Go templates.`,
			`placeholder-not-filled 27 spec.template.metadata.labels.tier: The label tier keeps the placeholder {{tier}}: generator 1 (list) gives no text of this name.`,
		},
	},

	"a key with a space": {
		[]string{
			"{key: env, operator: In, values: [dev]}", "{key: env, operator: In, values: [dev]}\n            - {key: my env, operator: NotIn, values: [x]}",
		},
		[]string{
			`invalid-key 23 ` + steps + `[0].matchExpressions[1].key: Step 1 selects by "my env", and no label can have this name.`,
		},
	},
	"an operator in lower case": {
		[]string{"operator: In, values: [dev]", "operator: in, values: [dev]"},
		[]string{
			`unknown-operator 22 ` + steps + `[0].matchExpressions[0].operator: Step 1 has the operator "in", which does not exist: it selects no Application that has the label env.`,
			`in-no-step 20 ` + steps + `: guestbook-dev is in no step.`,
		},
	},
	"In without values": {
		[]string{"values: [dev]", "values: []"},
		[]string{
			`in-without-values 22 ` + steps + `[0].matchExpressions[0]: Step 1 selects nothing: In for the label env has no values.`,
			`in-no-step 20 ` + steps + `: guestbook-dev is in no step.`,
		},
	},
	"NotIn without values": {
		[]string{"operator: In, values: [prod]", "operator: NotIn"},
		[]string{
			`not-in-without-values 24 ` + steps + `[1].matchExpressions[0]: NotIn for the label env has no values in step 2, and leaves nothing out.`,
			`in-two-steps 23 ` + steps + `[1]: guestbook-dev is selected by steps 1 and 2: step 1 counts.`,
		},
	},
	"a value with a space": {
		[]string{"values: [prod]", "values: [prod, 'dev ']"},
		[]string{
			`impossible-value 24 ` + steps + `[1].matchExpressions[0].values[1]: Step 2 lists the value "dev " of the label env, which no label can have.`,
		},
	},
	"an empty value": {
		[]string{"values: [prod]", "values: [prod, '']"},
		[]string{
			`empty-value 24 ` + steps + `[1].matchExpressions[0].values[1]: Step 2 lists an empty value of the label env.`,
		},
	},
	"a value twice": {
		[]string{"values: [prod]", "values: [prod, prod]"},
		[]string{
			`duplicate-value 24 ` + steps + `[1].matchExpressions[0].values[1]: Step 2 lists the value "prod" of the label env twice.`,
		},
	},
	"two expressions that exclude each other": {
		[]string{step1, step1 + "            - {key: env, operator: In, values: [prod]}\n"},
		[]string{
			`contradiction 22 ` + steps + `[0].matchExpressions[0]: Step 1 selects nothing: no value of the label env satisfies all its expressions.`,
			`in-no-step 20 ` + steps + `: guestbook-dev is in no step.`,
		},
	},
	"an empty step at the end": {
		[]string{"        - matchExpressions:\n" + step2, "        - {}\n", "          maxUpdate: 1\n", ""},
		[]string{
			`empty-step 23 ` + steps + `[1]: Step 2 has no matchExpressions, and selects every Application.`,
			`in-two-steps 23 ` + steps + `[1]: guestbook-dev is selected by steps 1 and 2: step 1 counts.`,
		},
	},
	"a step that an earlier one shadows": {
		[]string{"values: [dev]", "values: [dev, prod]"},
		[]string{
			`shadowed-step 23 ` + steps + `[1]: Step 2 can never get an Application: step 1 selects every Application that it selects.`,
			`in-two-steps 23 ` + steps + `[1]: guestbook-prod-eu and guestbook-prod-us are selected by steps 1 and 2: step 1 counts.`,
		},
	},
	"a step that earlier ones shadow together": {
		[]string{
			"          maxUpdate: 1\n", "          maxUpdate: 1\n        - matchExpressions:\n            - {key: env, operator: In, values: [dev, prod]}\n",
		},
		[]string{
			`shadowed-step 26 ` + steps + `[2]: Step 3 can never get an Application: steps 1 and 2 together select every Application that it selects.`,
			`in-two-steps 26 ` + steps + `[2]: guestbook-dev is selected by steps 1 and 3: step 1 counts.`,
			`in-two-steps 26 ` + steps + `[2]: guestbook-prod-eu and guestbook-prod-us are selected by steps 2 and 3: step 2 counts.`,
		},
	},

	"a label that the template does not set": {
		[]string{"{key: env, operator: In, values: [prod]}", "{key: environment, operator: In, values: [prod]}"},
		[]string{
			`label-not-set 24 ` + steps + `[1].matchExpressions[0].key: Step 2 selects by the label environment, which the template does not set.`,
			`in-no-step 20 ` + steps + `: guestbook-prod-eu and guestbook-prod-us are in no step.`,
		},
	},
	"a misspelt value": {
		[]string{"values: [prod]", "values: [prod, prdo]"},
		[]string{
			`value-never-given 24 ` + steps + `[1].matchExpressions[0].values[1]: Step 2 lists the value "prdo" of the label env, which no generator gives.`,
		},
	},
	"a step that no element reaches": {
		[]string{
			"        - matchExpressions:\n" + step2, "        - matchExpressions:\n            - {key: env, operator: NotIn, values: [dev, prod]}\n" + step3,
		},
		[]string{
			`step-without-applications 23 ` + steps + `[1]: Step 2 gets no Application: no generator gives one with labels that it selects.`,
		},
	},
	"an element that is in no step": {
		[]string{"{env: dev, cluster: dev}", "{env: dev, cluster: dev}\n          - {env: qa, cluster: qa}"},
		[]string{`in-no-step 21 ` + steps + `: guestbook-qa is in no step.`},
	},
	"a generator that is in no step": {
		[]string{
			"  strategy:", "    - clusters:\n        template:\n          metadata: {labels: {env: test}}\n          spec: {}\n  strategy:",
		},
		[]string{`generator-in-no-step 17 spec.generators[1]: No step selects an Application of generator 2.`},
	},

	"maxUpdate 0": {
		[]string{"maxUpdate: 1", "maxUpdate: 0"},
		[]string{
			`manual-step 25 ` + steps + `[1].maxUpdate: Step 2 is a manual step: with maxUpdate 0 the ApplicationSet controller starts no sync in it.`,
		},
	},
	"maxUpdate 0%": {
		[]string{"maxUpdate: 1", "maxUpdate: 0%"},
		[]string{
			`manual-step 25 ` + steps + `[1].maxUpdate: Step 2 is a manual step: with maxUpdate 0% the ApplicationSet controller starts no sync in it.`,
		},
	},
	"maxUpdate as a text": {
		[]string{"maxUpdate: 1", "maxUpdate: '5'"},
		[]string{
			`invalid-max-update 25 ` + steps + `[1].maxUpdate: maxUpdate "5" of step 2 is no number and no valid percentage: Argo CD counts it as 1.`,
		},
	},
	"maxUpdate 00%": {
		[]string{"maxUpdate: 1", "maxUpdate: 00%"},
		[]string{
			`invalid-max-update 25 ` + steps + `[1].maxUpdate: maxUpdate "00%" of step 2 is no number and no valid percentage: Argo CD counts it as 1.`,
		},
	},
	"a negative maxUpdate": {
		[]string{"maxUpdate: 1", "maxUpdate: -1"},
		[]string{
			`invalid-max-update 25 ` + steps + `[1].maxUpdate: maxUpdate -1 of step 2 is negative: the ApplicationSet controller starts no sync in this step.`,
		},
	},
	"maxUpdate 100%": {
		[]string{"maxUpdate: 1", "maxUpdate: 100%"},
		[]string{`max-update-no-limit 25 ` + steps + `[1].maxUpdate: maxUpdate 100% of step 2 limits nothing.`},
	},
	"maxUpdate of less than one": {
		[]string{"maxUpdate: 1", "maxUpdate: 20%"},
		[]string{
			`max-update-below-one 25 ` + steps + `[1].maxUpdate: maxUpdate 20% of the 2 Applications of step 2 is less than one: Argo CD takes 1.`,
		},
	},

	"automated sync": {
		[]string{"syncPolicy: {", "syncPolicy: {automated: {prune: true}, "},
		[]string{
			`automated-disabled 34 spec.template.spec.syncPolicy.automated: The ApplicationSet controller switches automated sync off, and starts the syncs itself.`,
		},
	},
	"automated sync in templatePatch": {
		[]string{"  template:", "  templatePatch: |\n    spec: {syncPolicy: {automated: {}}}\n  template:"},
		[]string{
			`automated-disabled 26 spec.templatePatch.spec.syncPolicy.automated: The ApplicationSet controller switches automated sync off, and starts the syncs itself.`,
		},
	},
	"self-heal": {
		[]string{"syncPolicy: {", "syncPolicy: {automated: {prune: true, selfHeal: true}, "},
		[]string{
			`self-heal-disabled 34 spec.template.spec.syncPolicy.automated.selfHeal: selfHeal is true, and the ApplicationSet controller switches it off together with automated sync.`,
		},
	},
	"prune without automated sync": {
		[]string{"syncPolicy: {", "syncPolicy: {automated: {enabled: false, prune: true}, "},
		[]string{
			`prune-ignored 34 spec.template.spec.syncPolicy.automated.prune: prune is true, and the ApplicationSet controller does not prune: automated.enabled is false.`,
		},
	},
	"automated sync that is switched off": {[]string{"syncPolicy: {", "syncPolicy: {automated: {enabled: false}, "}, nil},
	"retry.refresh": {
		[]string{"syncPolicy: {", "syncPolicy: {retry: {limit: 2, refresh: true}, "},
		[]string{
			`retry-refresh 34 spec.template.spec.syncPolicy.retry.refresh: A retry of a sync may deploy a commit that the earlier steps do not have: retry.refresh is true. Where stepgate enforces, retries keep to their commit.`,
		},
	},
	"create-only": {
		[]string{"  template:", "  syncPolicy: {applicationsSync: create-only}\n  template:"},
		[]string{
			`applications-not-updated 26 spec.syncPolicy.applicationsSync: applicationsSync create-only keeps the ApplicationSet controller from writing to Applications that exist: it never starts a sync.`,
		},
	},
	"create-update": {[]string{"  template:", "  syncPolicy: {applicationsSync: create-update}\n  template:"}, nil},
	"an ignored sync policy": {
		[]string{
			"  template:", "  ignoreApplicationDifferences:\n    - jsonPointers: [/spec/syncPolicy, /spec/source/targetRevision]\n    - jqPathExpressions: [.spec.syncPolicy.automated]\n  template:",
		},
		[]string{
			`sync-policy-kept 27 spec.ignoreApplicationDifferences[0].jsonPointers[0]: The ApplicationSet controller does not switch automated sync off in Applications that have it enabled.`,
			`sync-policy-kept 28 spec.ignoreApplicationDifferences[1].jqPathExpressions[0]: The ApplicationSet controller does not switch automated sync off in Applications that have it enabled.`,
		},
	},
	"labels of steps that are kept": {
		[]string{
			"  template:", "  preservedFields: {labels: [env, team]}\n  ignoreApplicationDifferences:\n    - jsonPointers: [/metadata/labels, /metadata/labels/env, /metadata/labels/team]\n      jqPathExpressions: ['.metadata.labels[\"env\"]']\n  template:",
		},
		[]string{
			`step-label-kept 26 spec.preservedFields.labels[0]: The steps select by the label env, and preservedFields keeps a live value of it.`,
			`step-label-kept 28 spec.ignoreApplicationDifferences[0].jsonPointers[0]: The steps select by labels, and the ApplicationSet controller does not update them.`,
			`step-label-kept 28 spec.ignoreApplicationDifferences[0].jsonPointers[1]: The steps select by the label env, and the ApplicationSet controller does not update it.`,
			`step-label-kept 29 spec.ignoreApplicationDifferences[0].jqPathExpressions[0]: The steps select by the label env, and the ApplicationSet controller does not update it.`,
		},
	},

	"an annotation with a wrong value": {
		[]string{"stepgate.io/require: health", "stepgate.io/require: everything"},
		[]string{
			`annotation-invalid 7 metadata.annotations["stepgate.io/require"]: The annotation stepgate.io/require is not valid, the stricter reading is used: "everything" is not one of health, completed, revision.`,
		},
	},
	"a bypass that is too long": {
		[]string{
			"stepgate.io/require: health", "stepgate.io/bypass: 2026-11-23T12:00:00Z INC-1",
		},
		[]string{
			`annotation-invalid 7 metadata.annotations["stepgate.io/bypass"]: The annotation stepgate.io/bypass is not valid, the stricter reading is used: 2026-11-23T12:00:00Z is more than 24 h ahead.`,
		},
	},
	"a misspelt annotation": {
		[]string{"stepgate.io/require", "stepgate.io/requires"},
		[]string{
			`annotation-unknown 7 metadata.annotations["stepgate.io/requires"]: stepgate has no annotation stepgate.io/requires.`,
		},
	},
	"a bypass that is over": {
		[]string{
			"stepgate.io/require: health", "stepgate.io/bypass: 2026-11-20T12:00:00Z INC-1",
		},
		[]string{
			`annotation-without-effect 7 metadata.annotations["stepgate.io/bypass"]: The bypass is over: 2026-11-20T12:00:00Z INC-1.`,
		},
	},
	"an annotation without steps": {
		[]string{
			"  strategy:\n    type: RollingSync\n    rollingSync:\n      steps:\n        - matchExpressions:\n" + step1 + "        - matchExpressions:\n" + step2 + "          maxUpdate: 1\n", "",
		},
		[]string{
			`annotation-without-effect 7 metadata.annotations["stepgate.io/require"]: The annotation stepgate.io/require has no effect: the ApplicationSet has no steps, and stepgate gates nothing.`,
		},
	},
	"an annotation that there was": {
		[]string{"stepgate.io/require: health", "stepgate.io/pause-reason: INC-1"},
		[]string{
			`annotation-invalid 7 metadata.annotations["stepgate.io/pause-reason"]: The annotation stepgate.io/pause-reason is not read any more: write stepgate.io/pause="STEPS: REASON".`,
		},
	},
	"an approval that nothing asks for": {
		[]string{"stepgate.io/require: health", "stepgate.io/approved: 2@78de5d3c1b0a9f8e7d6c5b4a39281706f5e4d3c2"},
		[]string{
			`annotation-without-effect 7 metadata.annotations["stepgate.io/approved"]: The annotation stepgate.io/approved has no effect without stepgate.io/approve.`,
		},
	},
	"good conditions": {
		[]string{
			"stepgate.io/require: health", "stepgate.io/pause: '2: INC-1'\n    stepgate.io/soak: 30m\n    stepgate.io/approve: all\n    stepgate.io/max-failures: 10%\n    stepgate.io/approved: 2@78de5d3c1b0a9f8e7d6c5b4a39281706f5e4d3c2\n    stepgate.io/pin: candidate",
		}, nil,
	},
	"conditions that wait with the newest commit": {
		[]string{"stepgate.io/require: health", "stepgate.io/soak: 30m\n    stepgate.io/approve: all"},
		[]string{
			`overtaken 7 metadata.annotations["stepgate.io/soak"]: Step 2 waits 30m with the newest commit only. If commits land more often than that, it is never deployed.`,
			`overtaken 8 metadata.annotations["stepgate.io/approve"]: A commit that is approved and has not started yet is dropped as soon as a newer one lands.`,
		},
	},
	"a pause of a step that does not exist": {
		[]string{"stepgate.io/require: health", "stepgate.io/pause: '3'"},
		[]string{
			`annotation-invalid 7 metadata.annotations["stepgate.io/pause"]: The annotation stepgate.io/pause is not valid, the stricter reading is used: there is no step 3: the ApplicationSet has the steps 1 to 2.`,
		},
	},
	"an approval that cannot be read": {
		[]string{"stepgate.io/require: health", "stepgate.io/approve: '2'\n    stepgate.io/approved: prod"},
		[]string{
			`annotation-invalid 8 metadata.annotations["stepgate.io/approved"]: The annotation stepgate.io/approved is not valid, the stricter reading is used: "prod" has no @: write STEP@REVISION.`,
			`overtaken 7 metadata.annotations["stepgate.io/approve"]: A commit that is approved and has not started yet is dropped as soon as a newer one lands.`,
		},
	},
	"an approval of a step that needs none": {
		[]string{"stepgate.io/require: health", "stepgate.io/approve: '2'\n    stepgate.io/approved: 1@v1"},
		[]string{
			`annotation-without-effect 8 metadata.annotations["stepgate.io/approved"]: The approval 1@v1 has no effect: stepgate.io/approve is "2".`,
			`overtaken 7 metadata.annotations["stepgate.io/approve"]: A commit that is approved and has not started yet is dropped as soon as a newer one lands.`,
		},
	},
	"approvals that nobody needs": {
		[]string{"stepgate.io/require: health", "stepgate.io/approved: 1@v1"},
		[]string{
			`annotation-without-effect 7 metadata.annotations["stepgate.io/approved"]: The annotation stepgate.io/approved has no effect without stepgate.io/approve.`,
		},
	},
	"a record of approvals": {
		[]string{"stepgate.io/require: health", "stepgate.io/approve: '2'\n    stepgate.io/approved-by: '[]'"},
		[]string{
			`annotation-reserved 8 metadata.annotations["stepgate.io/approved-by"]: stepgate writes the annotation stepgate.io/approved-by itself, and refuses what others write into it.`,
			`overtaken 7 metadata.annotations["stepgate.io/approve"]: A commit that is approved and has not started yet is dropped as soon as a newer one lands.`,
		},
	},
	"conditions in audit mode": {
		[]string{"stepgate.io/require: health", "stepgate.io/mode: audit\n    stepgate.io/soak: 1h"},
		[]string{
			`condition-not-enforced 8 metadata.annotations["stepgate.io/soak"]: Nothing waits because of stepgate.io/soak: the mode is audit, by the annotation stepgate.io/mode.`,
		},
	},
	"a soak time without steps": {
		[]string{
			"stepgate.io/require: health", "stepgate.io/soak: 2=1h", "  strategy:\n    type: RollingSync\n    rollingSync:\n      steps:\n        - matchExpressions:\n" + step1 + "        - matchExpressions:\n" + step2 + "          maxUpdate: 1\n", "",
		},
		[]string{
			`annotation-without-effect 7 metadata.annotations["stepgate.io/soak"]: The annotation stepgate.io/soak has no effect: the ApplicationSet has no steps, and stepgate gates nothing.`,
		},
	},
	"a soak time with one step": {
		[]string{
			"stepgate.io/require: health", "stepgate.io/soak: 1h", "        - matchExpressions:\n" + step1, "", "values: [prod]", "values: [dev, prod]",
		},
		[]string{
			`one-step 20 spec.strategy.rollingSync.steps: There is one step only, and nothing to put in order.`,
			`annotation-without-effect 7 metadata.annotations["stepgate.io/soak"]: The annotation stepgate.io/soak has no effect: with one step, nothing soaks.`,
		},
	},
	"after itself": {
		[]string{"stepgate.io/require: health", "stepgate.io/after: guestbook"},
		[]string{
			`after-circle 7 metadata.annotations["stepgate.io/after"]: It comes after itself (guestbook): each of its Applications waits until the others are done.`,
		},
	},
	"after something else": {
		[]string{"stepgate.io/require: health", "stepgate.io/after: platform/base"},
		[]string{
			`after-elsewhere 7 metadata.annotations["stepgate.io/after"]: It comes after platform/base, which is not among what was given.`,
		},
	},
	"after no name": {
		[]string{"stepgate.io/require: health", "stepgate.io/after: 'infra,'"},
		[]string{
			`after-invalid 7 metadata.annotations["stepgate.io/after"]: stepgate.io/after: "" is no name: write names such as "infra", or "platform/base" for one in another namespace.`,
		},
	},
	"a track that is no label": {
		[]string{"stepgate.io/require: health", "stepgate.io/track: the app"},
		[]string{
			`track-invalid 7 metadata.annotations["stepgate.io/track"]: The annotation stepgate.io/track is not valid, the stricter reading is used: "the app" is not the key of a label such as "app".`,
		},
	},
	"a track label that nothing has": {
		[]string{"stepgate.io/require: health", "stepgate.io/track: app"},
		[]string{
			`track-label-not-set 7 metadata.annotations["stepgate.io/track"]: No Application has the label app: there are no tracks.`,
		},
	},
	"tracks without start": {
		[]string{"stepgate.io/require: health", "stepgate.io/track: env"},
		[]string{
			`track-needs-start 7 metadata.annotations["stepgate.io/track"]: The ApplicationSet controller starts a step when all Applications of the one before are done, whatever their track.`,
		},
	},
	"Applications that an agent reports": {
		[]string{
			"      labels: {env:", "      annotations: {argocd.argoproj.io/skip-reconcile: 'true'}\n      labels: {env:",
		},
		[]string{
			`reported 29 spec.template.metadata.annotations["argocd.argoproj.io/skip-reconcile"]: The Applications are judged by what an agent reports of them.`,
		},
	},
	"Applications that Argo CD reconciles": {
		[]string{
			"      labels: {env:", "      annotations: {argocd.argoproj.io/skip-reconcile: 'false'}\n      labels: {env:",
		}, nil,
	},
	"an annotation on the Applications": {
		[]string{"      labels: {env:", "      annotations: {stepgate.io/mode: audit}\n      labels: {env:"},
		[]string{
			`annotation-on-application 29 spec.template.metadata.annotations["stepgate.io/mode"]: The annotation stepgate.io/mode has no effect on an Application.`,
		},
	},
}

func TestRules(t *testing.T) {
	for name, tc := range rows {
		t.Run(name, func(t *testing.T) {
			got := findings(t, checked(t, edited(t, tc.edits...)))
			if len(tc.want) == 0 {
				tc.want = []string{}
			}
			NewWithT(t).Expect(got).To(ConsistOf(tc.want))
		})
	}
}

// liveOnly are the rules that need a cluster or Applications; TestLive, TestInstallation, TestTracks and TestParents have
// them.
var liveOnly = []string{
	"progressive-syncs-off", "orphans-block", "excluded-unknown", "track-label-missing", "waves-without-children",
	"parent-not-there", "parent-circle", "two-parents",
}

// Every rule has a row, a help text and an identifier that nobody has to quote; every row has a rule.
func TestRulesAreComplete(t *testing.T) {
	g := NewWithT(t)
	covered := slices.Clone(liveOnly)
	for _, r := range slices.Concat(slices.Collect(maps.Values(rows)), slices.Collect(maps.Values(waveRows))) {
		for _, line := range r.want {
			covered = append(covered, regexp.MustCompile(`^\S+`).FindString(line))
		}
	}
	var ids []string
	for _, rule := range Rules() {
		g.Expect(rule.ID).To(MatchRegexp(`^[a-z]+(-[a-z]+)*$`))
		g.Expect(ids).NotTo(ContainElement(rule.ID))
		ids = append(ids, rule.ID)
		for _, text := range []string{rule.Help, rule.Remedy} {
			g.Expect(text).To(MatchRegexp(`^([A-Z]|stepgate ).*\.$`), rule.ID)
		}
		g.Expect(rule.Short).To(MatchRegexp(`^[A-Za-z].*[^.]$`), rule.ID)
		g.Expect(covered).To(ContainElement(rule.ID))
	}
	for _, id := range covered {
		g.Expect(ids).To(ContainElement(id))
	}
}
