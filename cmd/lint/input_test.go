// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/stepgate/stepgate/cmd/render"
	"github.com/stepgate/stepgate/cmd/screen"
)

const bad = `apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: other}
spec:
  generators: []
  strategy: {type: rollingSync}
  template: {}
`

func application(name, env, owner string) string {
	text := "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata:\n  name: " + name +
		"\n  namespace: argocd\n  labels: {env: " + env + "}\n"
	if owner != "" {
		text += "  ownerReferences: [{apiVersion: argoproj.io/v1alpha1, kind: ApplicationSet, name: " + owner +
			", uid: '7', controller: true}]\n"
	}
	return text
}

// cutOut leaves out parts of a text.
func cutOut(text string, parts ...string) string {
	for _, part := range parts {
		text = strings.Replace(text, part, "", 1)
	}
	return text
}

func TestInput(t *testing.T) {
	const wrong = `strategy-type %d spec.strategy.type: The strategy type "rollingSync" does not exist: it is not exactly RollingSync, and the steps are ignored.`
	wrongAt := func(line string) string { return strings.Replace(wrong, "%d", line, 1) }
	for name, tc := range map[string]struct {
		text     string
		want     []string
		sets     int
		other    int
		failures []string
	}{
		"nothing":                            {text: "# nothing\n---\n"},
		"several documents, the lines count": {text: "---\n# a comment\na: b\n--- # another\n" + bad, want: []string{wrongAt("10")}, sets: 1, other: 1},
		"Windows line ends":                  {text: strings.ReplaceAll("a: b\n---\n"+bad, "\n", "\r\n"), want: []string{wrongAt("8")}, sets: 1, other: 1},
		"a list":                             {text: "apiVersion: v1\nkind: List\nitems:\n- " + strings.ReplaceAll(strings.TrimSpace(bad), "\n", "\n  ") + "\n- {kind: Secret}\n", want: []string{wrongAt("9")}, sets: 1, other: 1},
		"a bare list":                        {text: "- " + strings.ReplaceAll(strings.TrimSpace(bad), "\n", "\n  ") + "\n- {kind: Secret}\n", want: []string{wrongAt("6")}, sets: 1, other: 1},
		"a bare list of a playbook":          {text: "- hosts: all\n  tasks: []\n", other: 1},
		"JSON, with tabs":                    {text: "{\"kind\": \"x\"}\n{\n\t\"apiVersion\": \"argoproj.io/v1alpha1\",\n\t\"kind\": \"ApplicationSet\",\n\t\"metadata\": {\"name\": \"a\"}, \"spec\": {\"generators\": [], \"template\": {},\n\t\"strategy\": {\"type\": \"rollingSync\"}}}", want: []string{wrongAt("6")}, sets: 1, other: 1},
		"another version":                    {text: strings.Replace(bad, "v1alpha1", "v1", 1), failures: []string{"guestbook.yaml:1 (document 1): an ApplicationSet of argoproj.io/v1: the API server knows only argoproj.io/v1alpha1"}},
		"another group":                      {text: strings.Replace(bad, "ApplicationSet", "Other", 1), other: 1},
		"values of a chart":                  {text: "replicas: 2\n", other: 1},
		"a text":                             {text: "hello\n", failures: []string{"guestbook.yaml:1 (document 1): it is no Kubernetes object"}},
		"broken YAML":                        {text: "a: b\n---\na: [\n---\n" + bad, want: []string{wrongAt("10")}, sets: 1, other: 1, failures: []string{"guestbook.yaml:3 (document 2): not valid YAML: did not find expected node content"}},
		"a Helm template":                    {text: "a: b\n---\n{{- if .Values.x }}\na: c\n{{- end }}\n", other: 1, failures: []string{"guestbook.yaml:3 (document 2): a Helm template, and not YAML (did not find expected node content): render it first, with helm template, and give the output"}},
		"a field twice":                      {text: strings.Replace(bad, "  generators: []", "  generators: []\n  generators: []", 1), failures: []string{`guestbook.yaml:6 (document 1): the field "generators" is here twice, and the API server takes the last one: remove the other, or see whether a dash is missing`}},
		"merged keys":                        {text: strings.Replace(bad, "generators: []", "generators: [{list: {elements: [&a {env: dev}, {<<: *a, env: prod}]}}]", 1), want: []string{wrongAt("6")}, sets: 1},
		"a kind":                             {text: strings.Replace(bad, "ApplicationSet", "Applicationset", 1), failures: []string{`guestbook.yaml:1 (document 1): the kind "Applicationset" does not exist: did you mean ApplicationSet?`}},
		"a kind in a list":                   {text: "apiVersion: v1\nkind: List\nitems:\n- " + strings.ReplaceAll(strings.Replace(strings.TrimSpace(bad), "ApplicationSet", "ApplicatonSet", 1), "\n", "\n  ") + "\n", failures: []string{`guestbook.yaml:4 (document 1): the kind "ApplicatonSet" does not exist: did you mean ApplicationSet?`}},
		"a group":                            {text: strings.Replace(bad, "argoproj.io/", "argoproj.com/", 1), failures: []string{`guestbook.yaml:1 (document 1): the apiVersion "argoproj.com/v1alpha1" of an ApplicationSet does not exist: write argoproj.io/v1alpha1`}},
		"a tab":                              {text: "a:\n\tb: c\n", failures: []string{"guestbook.yaml:2 (document 1): not valid YAML: the line begins with a tab; indent it with spaces"}},
		"a patch":                            {text: cutOut(bad, "  generators: []\n", "  template: {}\n"), want: []string{"invalid-object 4 spec: The ApplicationSet has no spec.generators and no spec.template: the API server refuses it."}, sets: 1},
		"a Kustomization":                    {text: "kind: Kustomization\nresources: [a]\n", other: 1},
		"Applications that it owns": {
			text: good + "---\n" + application("guestbook-dev", "dev", "guestbook") + "---\n" + application("guestbook-prod", "prod", "guestbook") + "---\n" + application("x", "z", "other"), sets: 1, other: 1,
		},
		"Applications that nobody owns": {
			text: good + "---\n" + application("guestbook-dev", "dev", "") + "---\n" + application("guestbook-qa", "qa", ""), sets: 1,
			want: []string{`step-without-applications 23 ` + steps + `[1]: Step 2 has no Application: it selects none of the 2 that exist.`, `in-no-step 20 ` + steps + `: guestbook-qa is in no step.`},
		},
		"Applications that nobody owns, with two ApplicationSets": {text: good + "---\n" + bad + "---\n" + application("guestbook-qa", "qa", ""), sets: 2, other: 1, want: []string{wrongAt("41")}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			r := checked(t, tc.text)
			failures := []string{}
			for _, f := range r.Failures {
				failures = append(failures, f.Error())
			}
			if tc.failures == nil {
				tc.failures = []string{}
			}
			if tc.want == nil {
				tc.want = []string{}
			}
			g.Expect(failures).To(Equal(tc.failures))
			r.Failures = nil
			g.Expect(findings(t, r)).To(ConsistOf(tc.want))
			g.Expect([]int{r.Summary.ApplicationSets, r.Summary.OtherObjects}).To(Equal([]int{tc.sets, tc.other}))
		})
	}
}

func TestFiles(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.yaml": bad, "below/b.yml": bad, "below/c.json": `{"kind":"x"}`, "README.md": "no", ".git/config.yaml": "no: [", "empty/x.txt": "no",
	} {
		g.Expect(os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700)).To(Succeed())
		g.Expect(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)).To(Succeed())
	}
	var in Input
	in.File(dir, nil)
	in.File(render.Stdin, strings.NewReader(bad))
	in.File(filepath.Join(dir, "nothing.yaml"), nil)
	in.File(filepath.Join(dir, "empty"), nil)
	in.take()
	var files []string
	for _, s := range in.Subjects {
		files = append(files, strings.TrimPrefix(s.File, dir+"/"))
	}
	g.Expect(files).To(Equal([]string{"a.yaml", "below/b.yml", "stdin"}))
	g.Expect(in.Other).To(Equal(1))
	g.Expect(in.Failures).To(Equal([]Failure{
		{File: dir + "/nothing.yaml", Message: "no such file or directory"},
		{File: dir + "/empty", Message: "the directory has no *.yaml, *.yml or *.json file"},
	}))
}

// FuzzLint gives lint any text. It may find nothing, and never fails itself.
func FuzzLint(f *testing.F) {
	for _, seed := range seeds() {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) { survives(t, data) })
}

// TestLintSurvives does a little of that in every run: texts of which parts are missing, twice, or from another text.
func TestLintSurvives(t *testing.T) {
	random, all := rand.New(rand.NewPCG(20261121, 1)), seeds()
	var words []string
	for _, seed := range all {
		words = append(words, strings.FieldsFunc(seed, func(r rune) bool { return strings.ContainsRune(" ,", r) })...)
	}
	words = append(words, "null", "[]", "{}", "-1", "1e400", "&a", "*a", "<<: *a", "{{", "{{.env.x}}", "\x00", "\ufeff",
		"!!binary", "? ", "|")
	for range 4000 {
		text := strings.SplitAfter(all[random.IntN(len(all))], " ")
		for range random.IntN(4) + 1 {
			i, j := random.IntN(len(text)), random.IntN(len(text))
			switch random.IntN(4) {
			case 0:
				text[i] = words[random.IntN(len(words))] + " "
			case 1:
				text[i], text[j] = text[j], text[i]
			case 2:
				text[i] = ""
			default:
				text[i] += text[j]
			}
		}
		survives(t, []byte(strings.Join(text, "")))
	}
}

// seeds are the texts of all tables, and lists that contain themselves.
func seeds() []string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		text := good
		for i := 0; i < len(rows[name].edits); i += 2 {
			text = strings.Replace(text, rows[name].edits[i], rows[name].edits[i+1], 1)
		}
		all = append(all, text)
	}
	const generators = "    - list:\n        elements:\n          - {env: dev, cluster: dev}\n          - {env: prod, " +
		"cluster: prod-eu}\n          - {env: prod, cluster: prod-us}\n"
	return append(all, good+"---\n"+application("guestbook-dev", "dev", "guestbook"),
		strings.Replace(good, generators,
			"    - matrix: {generators: [{list: {elements: [{env: dev}]}}, {merge: {mergeKeys: [cluster], generators: [{list: {elements: [{cluster: '{{.env}}'}]}}, {clusters: {}}]}}]}\n", 1),
		"apiVersion: v1\nkind: List\nitems:\n- &a {kind: List, apiVersion: v1, items: [*a]}\n",
		"apiVersion: v1\nkind: List\nitems: &a [*a]\n", "&a apiVersion: v1\nkind: List\nitems: [*a]\n")
}

// survives checks one text, and that every finding has a rule and a message of one line.
func survives(t *testing.T, data []byte) {
	t.Helper()
	var in Input
	in.Text("x.yaml", data)
	in.Link()
	r := in.Check(Options{Clock: clocktesting.NewFakePassiveClock(now), ProgressiveSyncs: true})
	for _, result := range r.ApplicationSets {
		for _, finding := range result.Findings {
			if ruleOf(finding.Rule).Short == "" || finding.Message == "" || strings.ContainsAny(finding.Message, "\n\x1b") {
				t.Errorf("%+v in\n%s", finding, data)
			}
		}
	}
	if _, err := r.SARIF("test"); err != nil {
		t.Error(err)
	}
	r.GitHub()
	r.Lines(screen.Screen{Width: 80})
}
