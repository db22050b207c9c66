// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"sigs.k8s.io/yaml"

	"github.com/stepgate/stepgate/cmd/render"
)

// renderer looks at what one generator gives.
type renderer struct {
	*checker
	generator render.Generator
	template  templateOf
	// reported are the labels with a placeholder that were reported for this generator.
	reported map[string]bool
}

// application is a group of one, with what is wrong in its labels.
func (r *renderer) application(a *argo.Application) group {
	g := groupOf(a.Name, a.Labels, r.generator.Index)
	for _, key := range slices.Sorted(maps.Keys(a.Labels)) {
		g.labels[key] = r.filled(key, a.Labels[key])
	}
	r.unfilled("The name", to("spec", "template", "metadata", "name"), a.Name)
	g.wave = label{a.Annotations[syncWave], true}
	return g
}

// group renders the name and the labels of the template with parameters of which some are not known, and applies
// templatePatch.
func (r *renderer) group(p render.Params) group {
	g := group{generator: r.generator.Index, labels: map[string]label{}, many: p.Many}
	if name, known := r.render(r.template.name, p); known {
		r.unfilled("The name", to("spec", "template", "metadata", "name"), name)
		if !p.Many {
			g.name = name
		}
	}
	for _, key := range slices.Sorted(maps.Keys(r.template.labels)) {
		name, known := r.render(key, p)
		if !known {
			g.open = true
			continue
		}
		if value, known := r.render(r.template.labels[key], p); known {
			g.labels[name] = r.filled(key, value)
		} else {
			g.labels[name] = label{}
		}
	}
	if patch := r.Set.Spec.TemplatePatch; patch == nil || !strings.Contains(*patch, syncWave) {
		g.wave.value, g.wave.known = r.render(r.template.wave, p)
	}
	if !r.patch(&g, p) {
		g.open = true
	}
	return g
}

// render renders a text, and reports one that is no template.
func (r *renderer) render(text string, p render.Params) (rendered string, known bool) {
	rendered, err := render.Text(r.Set, text, p)
	if err != nil && !errors.Is(err, render.ErrUnknown) {
		r.templateFails(fmt.Sprintf("of generator %d (%s)", r.generator.Index+1, r.generator.Kind), err)
	}
	return rendered, err == nil
}

// unfilled reports a placeholder that is left in the name or in a label.
func (r *renderer) unfilled(what string, path Path, text string) {
	left := render.Unfilled(text)
	if left == "" || r.reported[what] {
		return
	}
	r.reported[what] = true
	if path == nil {
		path = to("spec", "templatePatch")
	}
	f := r.found("placeholder-not-filled", path, fmt.Sprintf("%s keeps the placeholder %s: generator %d (%s) gives no "+
		"text of this name.", what, short(left), r.generator.Index+1, r.generator.Kind))
	if !r.Set.Spec.GoTemplate && render.IsGo(left) {
		f.Message = fmt.Sprintf("%s keeps the placeholder %s: it is written for Go templates.", what, short(left))
		f.Remedy = "Set spec.goTemplate: true, or write {{name}} without a dot."
	}
}

// filled is a label of the template, rendered. It reports a placeholder that is left.
func (r *renderer) filled(key, value string) label {
	r.unfilled("The label "+short(key), r.template.paths[key], value)
	return labelOf(key, value)
}

// patch applies the labels of templatePatch. It reports false when these cannot be known.
//
// It mirrors applyTemplatePatch of argo-cd v3.5.7, applicationset/controllers/template/patch.go, as far as labels go.
func (r *renderer) patch(g *group, p render.Params) bool {
	if r.Set.Spec.TemplatePatch == nil {
		return true
	}
	text := *r.Set.Spec.TemplatePatch
	rendered, known := r.render(text, p)
	if !known {
		return !mayPatchLabels(text)
	}
	var patch struct {
		Metadata map[string]any `json:"metadata"`
	}
	if err := yaml.Unmarshal([]byte(rendered), &patch); err != nil || strings.Contains(rendered, "$patch") ||
		strings.Contains(rendered, "$retainKeys") {
		return false
	}
	labels, ok := patch.Metadata["labels"].(map[string]any)
	if !ok {
		_, given := patch.Metadata["labels"]
		return !given
	}
	for key, value := range labels {
		switch value := value.(type) {
		case nil:
			delete(g.labels, key)
		case string:
			g.labels[key] = labelOf(key, value)
		default:
			return false
		}
	}
	return true
}

// mayPatchLabels reports whether a patch that cannot be rendered may set a label: it names the metadata, or an action
// of the template that may write a field stands where a field may begin.
func mayPatchLabels(text string) bool {
	for _, word := range []string{"metadata", "$patch", "$retainKeys"} {
		if strings.Contains(text, word) {
			return true
		}
	}
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimLeft(line, " \t-")
		if action, ok := strings.CutPrefix(line, "{{"); ok && !isControl(action) {
			return true
		}
	}
	return false
}

// isControl reports whether the inside of a template action writes nothing.
func isControl(action string) bool {
	word, _, _ := strings.Cut(strings.TrimLeft(action, "- "), " ")
	word, _, _ = strings.Cut(word, "}}")
	word = strings.TrimRight(word, "- ")
	switch word {
	case "if", "else", "end", "range", "with":
		return true
	}
	return strings.HasPrefix(word, "/*") || strings.HasPrefix(word, "$")
}

// named reports names and labels that the API server or Argo CD refuses, once for each cause.
func (c *checker) named(groups []group) {
	template := to("spec", "template", "metadata")
	count := map[string]int{}
	for _, g := range groups {
		if g.name != "" && !g.many && render.Unfilled(g.name) == "" {
			count[g.name]++
		}
	}
	var refused []string
	for _, name := range slices.Sorted(maps.Keys(count)) {
		if render.NameProblem(name) != "" {
			refused = append(refused, name)
		} else if count[name] > 1 {
			c.found("duplicate-name", template.and("name"),
				fmt.Sprintf("%d Applications get the name %s.", count[name], short(name)))
		}
	}
	if len(refused) > 0 {
		who := "An Application gets the name"
		if len(refused) > 1 {
			who = fmt.Sprintf("%d Applications get names such as", len(refused))
		}
		c.found("invalid-name", template.and("name"), fmt.Sprintf("%s %q, which the API server refuses: %s.", who,
			short(refused[0]), render.NameProblem(refused[0])))
	}
	c.labelled(groups)
}

// labelled reports labels that the API server refuses.
func (c *checker) labelled(groups []group) {
	type refusal struct {
		of            []string
		text, problem string
		several       bool // other texts, too
	}
	refused := map[string]*refusal{}
	for _, g := range groups {
		for key, l := range g.labels {
			problem := render.LabelProblem(key, l.value)
			if problem == "" || render.Unfilled(l.value) != "" {
				continue
			}
			r := refused[key]
			if r == nil {
				r = &refusal{text: key + "=" + l.value, problem: problem}
				refused[key] = r
			}
			r.several = r.several || r.text != key+"="+l.value
			if who := orUnnamed(g.name); !slices.Contains(r.of, who) {
				r.of = append(r.of, who)
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(refused)) {
		r := refused[key]
		gets := "gets"
		if len(r.of) > 1 {
			gets = "get"
		}
		what := "the label"
		if r.several {
			what = "labels such as"
		}
		c.found("invalid-label", to("spec", "template", "metadata", "labels", key),
			fmt.Sprintf("%s %s %s %s, which the API server refuses: %s.", capital(names(r.of)), gets, what, short(r.text),
				r.problem))
	}
}
