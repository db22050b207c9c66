package lint

import (
	"errors"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"
)

// renderer makes Applications of the parameters of one generator.
type renderer struct {
	*checker
	engine   *engine
	part     part
	template templateOf
	// reported are the labels with a placeholder, and the templates that fail, that were reported for this generator.
	reported map[string]bool
	// unrendered counts the Applications of which a label is not known, although the parameters are.
	unrendered int
}

// group renders the name and the labels of the template with a set of parameters, and applies templatePatch.
func (r *renderer) group(p params) group {
	g := group{generator: r.part.index, labels: map[string]label{}, many: p.many}
	if name, err := r.engine.render(r.template.name, p); err == nil && !p.many {
		g.name = name
	}
	unknown := false
	for key, value := range r.template.labels {
		name, l := key, label{value, true}
		// RenderTemplateParams of argo-cd v3.5.7, applicationset/utils/utils.go, skips empty sets
		if p.open || len(p.values) > 0 {
			var known bool
			if name, known = r.render(key, key, p); !known {
				g.open, unknown = true, true
				continue
			}
			l.value, l.known = r.render(key, value, p)
		}
		if left := unfilled(l.value); l.known && left != "" {
			r.report("placeholder-not-filled", key,
				fmt.Sprintf("The label %s keeps the placeholder %s: generator %d (%s) gives no text of this name.", short(key),
					short(left), r.part.index+1, r.part.kind))
		}
		unknown = unknown || !l.known
		g.labels[name] = l
	}
	if !r.patch(&g, p) {
		g.open, unknown = true, true
	}
	if unknown && !p.open {
		r.unrendered++
	}
	return g
}

// render renders a text of a label, and reports a template that fails.
func (r *renderer) render(key, text string, p params) (rendered string, known bool) {
	rendered, err := r.engine.render(text, p)
	var b *brokenGenerator
	if errors.As(err, &b) {
		r.report("generator-fails", key,
			fmt.Sprintf("The label %s of generator %d (%s) cannot be rendered: %s.", short(key), r.part.index+1, r.part.kind,
				b.problem))
	}
	return rendered, err == nil
}

func (r *renderer) report(rule, key, message string) {
	if !r.reported[rule+key] {
		r.reported[rule+key] = true
		r.found(rule, r.template.paths[key], message)
	}
}

// patch applies the labels of templatePatch. It reports false when these cannot be known.
//
// It mirrors applyTemplatePatch of argo-cd v3.5.7, applicationset/controllers/template/patch.go, as far as labels go.
func (r *renderer) patch(g *group, p params) bool {
	if r.Set.Spec.TemplatePatch == nil {
		return true
	}
	text := *r.Set.Spec.TemplatePatch
	rendered, err := r.engine.render(text, p)
	if err != nil {
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
			g.labels[key] = label{value, true}
		default:
			return false
		}
	}
	return true
}

// mayPatchLabels reports whether a patch that cannot be rendered may set a label: it says so, or a line of it is a
// template as a whole.
func mayPatchLabels(text string) bool {
	for _, word := range []string{"labels", "toYaml", "$patch", "$retainKeys"} {
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
