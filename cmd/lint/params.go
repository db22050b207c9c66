package lint

import (
	"encoding/json"
	"errors"
	"fmt"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"sigs.k8s.io/yaml"
)

// maxParams bounds the sets of parameters of one generator.
const maxParams = 5000

// params is a set of parameters that a generator gives, as far as it is known.
type params struct {
	values map[string]any
	// open says that there are other parameters, which are not known.
	open bool
	// many says that it stands for any number of sets, also for none.
	many bool
}

// errUnknown says that a thing cannot be known offline.
var errUnknown = errors.New("not known offline")

// brokenGenerator says that the ApplicationSet controller cannot evaluate a generator.
type brokenGenerator struct{ problem string }

func (e *brokenGenerator) Error() string { return e.problem }

func broken(format string, args ...any) error {
	return &brokenGenerator{problem: fmt.Sprintf(format, args...)}
}

// generate gives the sets of parameters of a generator, narrowed by its selector. outer are those of the first
// generator of a matrix. kinds collects the kinds of generators that cannot be known offline.
//
// It mirrors Transform of argo-cd v3.5.7, applicationset/generators/generator_spec_processor.go.
func (e *engine) generate(g *argo.ApplicationSetNestedGenerator, outer *params) ([]params, error) {
	return filtered(g.Selector, func() ([]params, error) { return e.generateAll(g, outer) })
}

func (e *engine) generateAll(g *argo.ApplicationSetNestedGenerator, outer *params) ([]params, error) {
	kinds := kindsOf(g)
	switch {
	case len(kinds) == 0:
		return nil, broken("it is of no kind that Argo CD knows")
	case len(kinds) > 1:
		return nil, broken("it is of several kinds (%s), and Argo CD wants one in each entry", and(kinds))
	}
	switch kinds[0] {
	case "list":
		return e.list(g.List, outer)
	case "matrix":
		nested, err := argo.ToNestedMatrixGenerator(g.Matrix)
		if err != nil || nested == nil {
			return nil, broken("its matrix cannot be read")
		}
		return e.matrix(nested.ToMatrixGenerator().Generators)
	case "merge":
		nested, err := argo.ToNestedMergeGenerator(g.Merge)
		if err != nil || nested == nil {
			return nil, broken("its merge cannot be read")
		}
		m := nested.ToMergeGenerator()
		return e.merge(m.Generators, m.MergeKeys)
	}
	e.unknown(kinds[0])
	return []params{{open: true, many: true}}, nil
}

// kindsOf names what is set in a generator.
func kindsOf(g *argo.ApplicationSetNestedGenerator) []string {
	var kinds []string
	for _, k := range []struct {
		name string
		set  bool
	}{
		{"list", g.List != nil}, {"clusters", g.Clusters != nil}, {"git", g.Git != nil},
		{"scmProvider", g.SCMProvider != nil},
		{
			"clusterDecisionResource", g.ClusterDecisionResource != nil,
		}, {"pullRequest", g.PullRequest != nil}, {"plugin", g.Plugin != nil},
		{"matrix", g.Matrix != nil}, {"merge", g.Merge != nil},
	} {
		if k.set {
			kinds = append(kinds, k.name)
		}
	}
	return kinds
}

// list mirrors GenerateParams of argo-cd v3.5.7, applicationset/generators/list.go. In a matrix, its texts are
// templates.
func (e *engine) list(g *argo.ListGenerator, outer *params) ([]params, error) {
	var all []params
	for i, raw := range g.Elements {
		var element map[string]any
		if err := json.Unmarshal(raw.Raw, &element); err != nil {
			return nil, broken("element %d is no object", i+1)
		}
		p, err := e.interpolated(element, outer)
		if err != nil {
			return nil, err
		}
		if !e.goTemplate && p.values != nil {
			if p.values, err = flatElement(p.values); err != nil {
				return nil, fmt.Errorf("element %d: %w", i+1, err)
			}
		}
		all = append(all, p)
	}
	if g.ElementsYaml == "" {
		return all, nil
	}
	text, err := e.renderIn(g.ElementsYaml, outer)
	if err != nil {
		e.unknown("elementsYaml")
		return append(all, params{open: true, many: true}), nil
	}
	var elements []map[string]any
	if err := yaml.Unmarshal([]byte(text), &elements); err != nil {
		return nil, broken("elementsYaml is no list of objects")
	}
	for _, element := range elements {
		all = append(all, params{values: element})
	}
	return all, nil
}

// flatElement is an element as templates without goTemplate see it: texts, and texts in values.
func flatElement(element map[string]any) (map[string]any, error) {
	flat := map[string]any{}
	for key, value := range element {
		values, isMap := value.(map[string]any)
		if key == "values" {
			if !isMap {
				return nil, broken("values is no object")
			}
			for k, v := range values {
				if _, ok := v.(string); !ok {
					return nil, broken("values.%s is no text, and without goTemplate Argo CD takes texts only", k)
				}
				flat["values."+k] = v
			}
			continue
		}
		if _, ok := value.(string); !ok {
			return nil, broken("%s is no text, and without goTemplate Argo CD takes texts only", key)
		}
		flat[key] = value
	}
	return flat, nil
}

// interpolated renders the texts of an element with the parameters of the first generator of a matrix.
func (e *engine) interpolated(element map[string]any, outer *params) (params, error) {
	if outer == nil || len(outer.values) == 0 && !outer.open {
		return params{values: element}, nil
	}
	p := params{values: map[string]any{}}
	for key, value := range element {
		name, err := e.renderIn(key, outer)
		if err != nil {
			return params{open: true, many: false}, ignoreUnknown(err)
		}
		rendered, err := e.renderValue(value, outer)
		switch {
		case errors.Is(err, errUnknown):
			p.open = true
		case err != nil:
			return p, err
		default:
			p.values[name] = rendered
		}
	}
	return p, nil
}

func ignoreUnknown(err error) error {
	if errors.Is(err, errUnknown) {
		return nil
	}
	return err
}

// renderValue renders every text in a value.
func (e *engine) renderValue(value any, outer *params) (any, error) {
	switch value := value.(type) {
	case string:
		return e.renderIn(value, outer)
	case []any:
		rendered := make([]any, 0, len(value))
		for _, v := range value {
			r, err := e.renderValue(v, outer)
			if err != nil {
				return nil, err
			}
			rendered = append(rendered, r)
		}
		return rendered, nil
	case map[string]any:
		rendered := map[string]any{}
		for k, v := range value {
			key, err := e.renderIn(k, outer)
			if err != nil {
				return nil, err
			}
			if rendered[key], err = e.renderValue(v, outer); err != nil {
				return nil, err
			}
		}
		return rendered, nil
	}
	return value, nil
}

// renderIn renders a text with the parameters of the first generator of a matrix, if there are any.
func (e *engine) renderIn(text string, outer *params) (string, error) {
	if outer == nil || len(outer.values) == 0 && !outer.open {
		return text, nil
	}
	return e.render(text, *outer)
}

// unknown remembers a kind of generator that cannot be known offline.
func (e *engine) unknown(kind string) {
	e.unknownKinds[kind] = true
}
