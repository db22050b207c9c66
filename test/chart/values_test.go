// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"
)

// kind is the part of a JSON schema that says what a value may be.
type kind struct {
	Type                 any
	Enum                 []any
	Items                *kind
	Properties           map[string]kind
	AdditionalProperties any
	Deprecated           bool
}

// may says whether a value may be of a type.
func (k kind) may(name string) bool {
	types, isList := k.Type.([]any)
	return k.Type == name || isList && slices.Contains(types, any(name))
}

// fillers are values with a key that values.yaml does not have: the schema has it for people who set it.
var fillers = []string{"certs.certManager.issuerRef", "webhook.namespaceSelector"}

// leaves are the values that have no values below them, by their path.
func leaves(t *testing.T) map[string]kind {
	t.Helper()
	g, all := NewWithT(t), map[string]kind{}
	text, err := os.ReadFile(filepath.Join(helm.Chart, "values.schema.json"))
	g.Expect(err).NotTo(HaveOccurred())
	var schema kind
	g.Expect(json.Unmarshal(text, &schema)).To(Succeed())
	var walk func(k kind, path string)
	walk = func(k kind, path string) {
		if len(k.Properties) == 0 || slices.Contains(fillers, path) {
			all[path] = k
			return
		}
		for key, inner := range k.Properties {
			if !inner.Deprecated {
				walk(inner, strings.TrimPrefix(path+"."+key, "."))
			}
		}
	}
	walk(schema, "")
	g.Expect(len(all)).To(BeNumerically(">", 100))
	return all
}

// templated is what Helm says of the chart with values by their path.
func templated(t *testing.T, values map[string]any, args ...string) error {
	t.Helper()
	g, tree := NewWithT(t), map[string]any{}
	for path, value := range values {
		at, keys := tree, strings.Split(path, ".")
		for _, key := range keys[:len(keys)-1] {
			if at[key] == nil {
				at[key] = map[string]any{}
			}
			at = at[key].(map[string]any)
		}
		at[keys[len(keys)-1]] = value
	}
	text, err := yaml.Marshal(tree)
	g.Expect(err).NotTo(HaveOccurred())
	file := filepath.Join(t.TempDir(), "values.yaml")
	g.Expect(os.WriteFile(file, text, 0o600)).To(Succeed())
	_, err = helm.Run(t.Context(), append([]string{
		"template", "stepgate", helm.Chart, "--namespace=stepgate", "--values=" + file,
	}, args...)...)
	return err
}

// unreadable is what Helm says of a regular expression, and of a choice between schemas.
var unreadable = regexp.MustCompile(`does not match pattern|'(one|any|all)Of' failed|minLength`)

// errorsOf are the lines of Helm's error by the path of the value that they name.
func errorsOf(g *WithT, err error) map[string]string {
	g.Expect(err).To(HaveOccurred())
	g.Expect(err.Error()).NotTo(MatchRegexp(unreadable.String()))
	lines := map[string]string{}
	for line := range strings.Lines(err.Error()) {
		path, rest, found := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "- "), ": ")
		if !found {
			continue
		}
		if pointer, ok := strings.CutPrefix(path, "at '"); ok {
			path = strings.TrimPrefix(strings.ReplaceAll(strings.TrimSuffix(pointer, "'"), "/", "."), ".")
		}
		path = regexp.MustCompile(`\[(\d+)\]`).ReplaceAllString(path, ".$1")
		lines[path] += rest
		if names, missing := strings.CutPrefix(rest, "missing propert"); missing {
			for _, name := range regexp.MustCompile(`'([^']+)'`).FindAllStringSubmatch(names, -1) {
				lines[strings.TrimPrefix(path+"."+name[1], ".")] = rest
			}
		}
	}
	return lines
}

// Each value of a type that it cannot have is named, with the type that it should have.
func TestEveryValueOfAWrongTypeIsNamed(t *testing.T) {
	g, all := NewWithT(t), leaves(t)
	wrong := map[string]any{}
	for path, k := range all {
		switch {
		case k.may("object"):
			wrong[path] = "text"
		case k.may("array"):
			wrong[path] = map[string]any{"key": "text"}
		default:
			wrong[path] = []any{map[string]any{}}
		}
	}
	lines := errorsOf(g, templated(t, wrong))
	for _, path := range slices.Sorted(maps.Keys(all)) {
		g.Expect(lines[path]).To(Or(ContainSubstring("want "), ContainSubstring("must be one of")), path)
	}
}

// Each item of a list, and each entry of a map, of a type that it cannot have is named.
func TestEveryItemOfAWrongTypeIsNamed(t *testing.T) {
	g, all := NewWithT(t), leaves(t)
	wrong, want := map[string]any{}, map[string]string{}
	for path, k := range all {
		switch {
		case k.Items != nil:
			wrong[path], want[path] = []any{7}, path+".0"
		case k.AdditionalProperties != nil && k.AdditionalProperties != false && k.AdditionalProperties != true:
			wrong[path], want[path] = map[string]any{"key": 7}, path+".key"
		}
	}
	g.Expect(len(wrong)).To(BeNumerically(">", 30))
	lines := errorsOf(g, templated(t, wrong))
	for path, item := range want {
		g.Expect(lines[item]).To(Or(ContainSubstring("want "), ContainSubstring("must be one of")), path)
	}
}

// A number is named that is too small.
func TestEveryNumberHasAMinimum(t *testing.T) {
	g, wrong := NewWithT(t), map[string]any{}
	for path, k := range leaves(t) {
		if k.may("integer") && !k.may("string") {
			wrong[path] = -1
		}
	}
	g.Expect(len(wrong)).To(BeNumerically(">", 4))
	lines := errorsOf(g, templated(t, wrong))
	for path := range wrong {
		g.Expect(lines[path]).To(ContainSubstring("minimum: got -1"), path)
	}
}

// anyText are the texts that stepgate cannot judge.
var anyText = map[string]string{
	"extraArgs": "the program refuses an argument that it does not know",
}

// Each text that cannot be right is named, with what to write instead.
func TestEveryTextThatCannotBeRightIsNamed(t *testing.T) {
	g, all := NewWithT(t), leaves(t)
	wrong, want := map[string]any{}, map[string]string{}
	for path, k := range all {
		text := any("not right, (really)\"")
		if slices.Contains([]string{"approvals.users", "approvals.groups", "webhook.clientCA.allowedNames"}, path) {
			text = "" // any other could be the name of somebody
		}
		switch {
		case anyText[path] != "" || len(k.Enum) > 0:
		case k.may("string"):
			wrong[path], want[path] = text, path
		case k.Items != nil && k.Items.may("string") && !k.Items.may("object"):
			wrong[path], want[path] = []any{text}, path+".0"
		}
	}
	bad := map[string]any{"namespace": "no namespace", "name": "no/name"}
	wrong["webhook.exemptApplications"] = []any{bad}
	want["webhook.exemptApplications"] = "webhook.exemptApplications.0.namespace"
	want["webhook.exemptApplications[0].name"] = "webhook.exemptApplications.0.name"
	wrong["imagePullSecrets"], want["imagePullSecrets"] = []any{map[string]any{"name": ""}}, "imagePullSecrets.0.name"
	g.Expect(len(wrong)).To(BeNumerically(">", 30))
	lines := errorsOf(g, templated(t, wrong))
	for path, place := range want {
		g.Expect(lines[place]).To(MatchRegexp(`^".*" is not right; (write|it is) `), path)
	}
}

// A value that is null, which takes the default away, is named; the maps that Kubernetes does not need may be.
func TestEveryValueThatIsNullIsNamed(t *testing.T) {
	g, all := NewWithT(t), leaves(t)
	optional := []string{"nodeSelector", "podSecurityContext", "securityContext", "resources", "global.imagePullSecrets",
		"global.imageRegistry"}
	none, some := map[string]any{}, map[string]any{}
	for path := range all {
		none[path] = nil
	}
	for _, path := range optional[:4] {
		some[path] = nil
	}
	lines := errorsOf(g, templated(t, none))
	for path := range all {
		if !slices.Contains(optional, path) {
			g.Expect(lines[path]).To(ContainSubstring("missing propert"), path)
		}
	}
	g.Expect(templated(t, some)).To(Succeed())
}

// A value that had another name is refused with the new one, and the new one exists.
func TestOldNamesAreRefused(t *testing.T) {
	g := NewWithT(t)
	for set, want := range map[string]string{
		"release.enabled=true":       "release: this value is now releaseWaiting, so write releaseWaiting.enabled",
		"argocd.namespaces={argocd}": "argocd.namespaces: this value is now argocd.applicationNamespaces",
	} {
		_, err := helm.Run(t.Context(), "template", "stepgate", helm.Chart, "--set="+set)
		g.Expect(err).To(MatchError(ContainSubstring(want)))
	}
	g.Expect(leaves(t)).To(And(HaveKey("releaseWaiting.enabled"), HaveKey("argocd.applicationNamespaces")))
	g.Expect(leaves(t)).NotTo(Or(HaveKey("release"), HaveKey("argocd.namespaces")))
}

// All mistakes are shown at once.
func TestAllMistakesAreShownAtOnce(t *testing.T) {
	err := templated(t, map[string]any{
		"replicaCount": 0, "config.mode": "enforce", "serviceAccount.create": false, "shutdownDelay": "10",
	})
	NewWithT(t).Expect(err).To(MatchError(And(ContainSubstring("\n- replicaCount: "),
		ContainSubstring("\n- serviceAccount.name: "), ContainSubstring("\n- shutdownDelay: "))))
}

// Each value that a page or a command names exists. Of a value that is a free-form map, such as resources, anything may
// follow.
func TestEveryValueThatAPageNamesExists(t *testing.T) {
	g, all, roots := NewWithT(t), leaves(t), []string{"release"} // an old name
	for path := range all {
		if root, _, nested := strings.Cut(path, "."); nested && !slices.Contains(roots, root) {
			roots = append(roots, root)
		}
	}
	named := regexp.MustCompile(`(?:^|[^\w./$-])((?:` + strings.Join(roots, "|") + `)(?:\.[A-Za-z]+)+)(?:[^\w./(-]|[.]?\s|$)`)
	exists := func(name string) bool {
		for path, k := range all {
			if name == path || strings.HasPrefix(path, name+".") || k.may("object") && strings.HasPrefix(name, path+".") {
				return true
			}
		}
		return false
	}
	var files []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "cmd/*/*.go", "charts/stepgate/templates/*"} {
		some, err := filepath.Glob(filepath.Join(shared.Root, pattern))
		g.Expect(err).NotTo(HaveOccurred())
		files = append(files, some...)
	}
	found := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if strings.HasSuffix(file, ".go") {
			text = []byte(strings.Join(regexp.MustCompile("\"[^\"\n]*\"").FindAllString(string(text), -1), "\n"))
		}
		if filepath.Ext(file) == "" || strings.HasSuffix(file, "validate.yaml") {
			continue // it names old values
		}
		g.Expect(err).NotTo(HaveOccurred())
		for _, match := range named.FindAllStringSubmatch(string(text), -1) {
			if name := match[1]; !slices.Contains([]string{".go", ".md", ".yaml", ".io"}, filepath.Ext(name)) {
				found++
				g.Expect(exists(name)).To(BeTrue(), "%s: there is no value %s", file, name)
			}
		}
	}
	g.Expect(found).To(BeNumerically(">", 100))
}
