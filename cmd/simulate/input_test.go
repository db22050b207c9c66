// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"context"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// Every mistake has a text that says what is wrong and what to do.
func TestBadInput(t *testing.T) {
	replaced := func(old, now string) func(string) string {
		return func(text string) string { return strings.Replace(text, old, now, 1) }
	}
	apps := "---\napiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: guestbook-dev, labels: {env: " +
		"dev}}\n"
	parent := "---\napiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: platform, annotations: " +
		"{stepgate.io/waves: 'true'}}\n"
	for name, tc := range map[string]struct {
		change  func(text string) string
		set     string
		options Options
		want    string
	}{
		"no YAML":             {change: func(string) string { return "a: [" }, want: "test.yaml:1 (document 1): "},
		"a text":              {change: func(string) string { return "hello" }, want: "it is no Kubernetes object"},
		"nothing":             {change: func(string) string { return "" }, want: "the files have no ApplicationSet; give its file with -f"},
		"Applications alone":  {change: func(string) string { return apps }, want: "the files have no ApplicationSet"},
		"no name":             {change: replaced("  name: guestbook\n", ""), want: "metadata.name is missing"},
		"another name":        {set: "other", want: "the files have no ApplicationSet other, but guestbook"},
		"two ApplicationSets": {change: func(text string) string { return text + "---\n" + text }, want: "name the one to play"},
		"a wrong type":        {change: replaced("maxUpdate: 1", "maxUpdate: [1]"), want: "test.yaml:1 (document 1): "},
		"no strategy":         {change: replaced("type: RollingSync", "type: AllAtOnce"), want: "has no steps: Argo CD keeps no order"},
		"a parent without children": {
			change: func(string) string { return parent },
			want:   "the parent platform has no children to play: give their files with -f, beside its own; or play it from the cluster: stepgate simulate platform -n argocd.",
		},
		"a parent without waves": {
			change: func(string) string { return strings.Replace(parent, "stepgate.io/waves", "other", 1) + apps }, set: "platform",
			want: `the Application platform does not order its children: set its annotation stepgate.io/waves: "true"`,
		},
		"two parents, which no child names": {
			change: func(string) string { return parent + strings.Replace(parent, "platform", "other", 1) + apps }, set: "platform",
			want: "The files do not say whose children other and guestbook-dev are, and have several parents: left out",
		},
		"two parents without a name": {
			change: func(string) string { return parent + strings.Replace(parent, "platform", "other", 1) },
			want:   "the files have several orders: Application platform, Application other; name the one to play",
		},
		"a parent and steps": {
			change: func(text string) string { return parent + "---\n" + text },
			want:   "the files have several orders: guestbook, Application platform; name the one to play",
		},
		"a child without Applications": {
			change: func(text string) string {
				text = replaced("type: RollingSync", "type: AllAtOnce")(text)
				const list = "    - list:\n        elements:"
				return parent + "---\n" + replaced(list, "    - git: {repoURL: https://example.com}\n"+list)(text)
			},
			want: "ApplicationSet guestbook, a child of platform: its Applications come from a git generator",
		},
		"steps in big letters": {change: replaced("    rollingSync:", "    RollingSync:"), want: "(the API server drops spec.strategy.RollingSync; stepgate lint says what to write)"},
		"another version":      {change: replaced("argoproj.io/v1alpha1", "argoproj.io/v1"), want: "test.yaml:1 (document 1): an ApplicationSet of argoproj.io/v1: the API server knows only argoproj.io/v1alpha1"},
		"a git generator":      {change: replaced("    - list:\n        elements:", "    - git: {repoURL: https://example.com}\n    - list:\n        elements:"), want: "its Applications come from a git generator and cannot be known offline; give them with -f APPS.yaml: argocd appset generate APPSET.yaml -o yaml"},
		"a matrix of nothing":  {change: replaced("    - list:\n        elements:", "    - matrix: {generators: []}\n    - list:\n        elements:"), want: "generator 1 (matrix) cannot be evaluated: found less than two generators"},
		"a matrix of clusters": {change: replaced("    - list:\n        elements:", "    - matrix: {generators: [{clusters: {}}, {git: {repoURL: x}}]}\n    - list:\n        elements:"), want: "its Applications come from a clusters and a git generator"},
		"a bad templatePatch":  {change: replaced("  template:\n", "  templatePatch: '{metadata: {labels: {a: b}}}'\n  template:\n"), want: "the template of generator 1 (list) cannot be rendered: invalid templatePatch"},
		"a bad label":          {change: replaced("  template:\n", "  templatePatch: 'metadata: {labels: {a: b/c}}'\n  template:\n"), want: "the API server refuses the label a=b/c of Application guestbook-dev"},
		"a name not filled":    {change: replaced("goTemplate: true", "goTemplate: false"), want: "keeps the placeholder {{.name}}"},
		"a Helm template":      {change: replaced("  name: guestbook\n", "  name: {{ .Values.name }}\n"), want: "test.yaml:4 (document 1): a Helm template"},
		"clusters, no steps": {
			change: func(text string) string {
				text = replaced("    - list:\n", "    - clusters: {}\n      list:\n")(text)
				return replaced("type: RollingSync", "type: AllAtOnce")(text)
			},
			want: "has no steps: Argo CD keeps no order",
		},
		"no generators":        {change: func(text string) string { return cut(text, "  generators:", "  strategy:") }, want: "it has no generators"},
		"no elements":          {change: func(text string) string { return cut(text, "          - {name: dev", "  strategy:") }, want: "has no Applications to play"},
		"a template that errs": {change: replaced("guestbook-{{.name}}", "guestbook-{{.name | nope}}"), want: "the template of generator 1 (list) cannot be rendered: failed to parse template guestbook-{{.name | nope}}"},
		"a number, no Go template": {
			change: func(text string) string {
				return strings.Replace(strings.Replace(text, "goTemplate: true", "goTemplate: false", 1), "{name: dev,",
					"{name: 7,", 1)
			},
			want: "generator 1 (list) cannot be evaluated: a value is no text, and without goTemplate Argo CD takes texts only",
		},
		"a policy that starts no sync": {
			change: replaced("  strategy:\n", "  syncPolicy: {applicationsSync: create-only}\n  strategy:\n"),
			want:   "with applicationsSync create-only the ApplicationSet controller starts no sync",
		},
		"a name twice":      {change: replaced("{name: qa,", "{name: dev,"), want: "there are two Applications guestbook-dev"},
		"a name with space": {change: replaced("{name: qa,", "{name: q a,"), want: `the name "guestbook-q a" of an Application is not valid: a lowercase RFC 1123 subdomain must`},
		"a set's name":      {change: replaced("  name: guestbook\n", "  name: \"guest\\e[31mbook\"\n"), want: `the name "guest\x1b[31mbook" of the ApplicationSet is not valid`},
		"nobody selected":   {change: func(text string) string { return strings.ReplaceAll(text, "key: env", "key: stage") }, want: "no step of ApplicationSet guestbook selects an Application"},
		"--fail of nobody": {
			options: with(func(o *Options) { o.Failures = map[string]Failure{"guestbook-uat": FailsHealth} }),
			want:    "--fail guestbook-uat: there is no such Application; they are guestbook-dev, guestbook-qa, guestbook-prod-eu and guestbook-prod-us",
		},
		"--fail outside of the steps": {
			change:  replaced("{name: qa, env: qa}", "{name: qa, env: none}"),
			options: with(func(o *Options) { o.Failures = map[string]Failure{"guestbook-qa": FailsHealth} }),
			want:    "--fail guestbook-qa: the Application is in no step",
		},
		"--by-hand of nobody": {
			options: with(func(o *Options) { o.ByHand = []string{"guestbook-uat"} }),
			want:    "--by-hand guestbook-uat: there is no such Application in a step",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			text := guestbook(t)
			if tc.change != nil {
				text = tc.change(text)
			}
			if tc.options.Version == "" {
				tc.options = defaults()
			}
			var objects Objects
			err := read(&objects, "test.yaml", text)
			if err == nil {
				var r *Rollout
				if r, err = objects.Rollout(tc.set); err == nil {
					_, err = Play(context.Background(), r, tc.options)
				}
			}
			g.Expect(err).To(MatchError(ContainSubstring(tc.want)))
		})
	}
}

// cut leaves out what is from one text to the next.
func cut(text, from, to string) string {
	head, _, _ := strings.Cut(text, from)
	_, tail, _ := strings.Cut(text, to)
	return head + to + tail
}

func TestBadFlags(t *testing.T) {
	for name, tc := range map[string]struct {
		fail   []string
		change func(*Options)
		want   string
	}{
		"an empty name":        {fail: []string{""}, want: `"" is not APP, APP=health or APP=sync`},
		"no name":              {fail: []string{"=sync"}, want: `"=sync" is not APP`},
		"another failure":      {fail: []string{"dev=network"}, want: `"dev=network" is not APP`},
		"no failure":           {fail: []string{"dev="}, want: `"dev=" is not APP`},
		"twice":                {fail: []string{"dev", "dev=sync"}, want: "dev is given twice"},
		"an unknown Argo CD":   {change: func(o *Options) { o.Version = "2.9" }, want: `--argocd: "2.9" is not one of 3.2, 3.4, 3.5, 3.6`},
		"healthy before":       {change: func(o *Options) { o.Healthy = 0 }, want: "--healthy-after"},
		"polls without a stop": {change: func(o *Options) { o.Poll = time.Second }, want: "--poll"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseFailures(tc.fail)
			if tc.change != nil {
				o := with(tc.change)
				err = o.Validate()
			}
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(tc.want)))
		})
	}
}

// All the ways to write the same Applications are read as the same.
func TestRead(t *testing.T) {
	one := `{"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"name": "a"}}`
	other := strings.Replace(one, `"a"`, `"b"`, 1)
	for name, text := range map[string]string{
		"documents":                      "---\n" + one + "\n---\n" + other + "\n---\n",
		"kubectl get applications":       `{"apiVersion": "v1", "kind": "List", "items": [` + one + "," + other + "]}",
		"argocd appset generate -o yaml": "- " + one + "\n- " + other,
		"argocd appset generate -o json": "[" + one + ",\n" + other + "]",
		"argocd app get -o yaml":         "metadata: {name: a}\nspec: {source: {}, destination: {}}\n---\nmetadata: {name: b}\nspec: {sources: [], destination: {}}\n",
		"with other objects":             "kind: Secret\n---\nkind: Application\napiVersion: app.k8s.io/v1beta1\n---\n" + one + "\n---\n" + other,
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var objects Objects
			g.Expect(read(&objects, "x", text)).To(Succeed())
			var names []string
			for _, app := range objects.Applications {
				names = append(names, app.Name)
			}
			g.Expect(names).To(Equal([]string{"a", "b"}))
		})
	}
}

// Applications of another ApplicationSet are left out, and those of none are taken.
func TestOwners(t *testing.T) {
	g := NewWithT(t)
	app := func(name, owner string) string {
		return "---\napiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata:\n  name: " + name +
			"\n  labels: {env: dev}\n" +
			"  ownerReferences: [{apiVersion: argoproj.io/v1alpha1, kind: ApplicationSet, name: " + owner + ", uid: u, controller: true}]\n"
	}
	r := rolloutOf(t, guestbook(t)+app("mine", "guestbook")+app("other", "podinfo"))
	g.Expect(r.Rendered).To(BeFalse())
	g.Expect(r.Applications).To(HaveLen(1))
	g.Expect(r.Applications[0].Name).To(Equal("mine"))
}
