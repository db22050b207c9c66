// SPDX-License-Identifier: Apache-2.0

package render

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/argoproj/argo-cd/v3/applicationset/generators"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// kind is a generator with one of its kinds only.
type kind struct {
	name     string
	template *argo.ApplicationSetTemplate
	only     argo.ApplicationSetGenerator
}

// kindsOf are the kinds that are set in a generator. It finds the fields as GetRelevantGenerators of argo-cd v3.5.7 does,
// applicationset/generators/generator_spec_processor.go.
func kindsOf(g *argo.ApplicationSetGenerator) []kind {
	var all []kind
	fields := reflect.ValueOf(g).Elem()
	for i := range fields.NumField() {
		field, value := fields.Type().Field(i), fields.Field(i)
		if field.Name == "Selector" || value.Kind() != reflect.Pointer || value.IsNil() {
			continue
		}
		k := kind{only: argo.ApplicationSetGenerator{Selector: g.Selector}}
		k.name, _, _ = strings.Cut(field.Tag.Get("json"), ",")
		k.template, _ = value.Elem().FieldByName("Template").Addr().Interface().(*argo.ApplicationSetTemplate)
		reflect.ValueOf(&k.only).Elem().Field(i).Set(value)
		all = append(all, k)
	}
	return all
}

// argoGenerators are the generators of Argo CD that ask nobody. It mirrors GetGenerators of argo-cd v3.5.7,
// applicationset/generators/utils.go.
func argoGenerators() map[string]generators.Generator {
	list := generators.NewListGenerator()
	terminal := map[string]generators.Generator{"List": list}
	nested := map[string]generators.Generator{
		"List": list, "Matrix": generators.NewMatrixGenerator(terminal), "Merge": generators.NewMergeGenerator(terminal),
	}
	return map[string]generators.Generator{
		"List": list, "Matrix": generators.NewMatrixGenerator(nested), "Merge": generators.NewMergeGenerator(nested),
	}
}

// offline evaluates the generators of an ApplicationSet of which some need a cluster or a network.
type offline struct {
	set     *argo.ApplicationSet
	unknown map[string]bool
}

// inner are the generators inside a matrix or a merge; nil if it is neither. One whose text cannot be read has none.
func inner(g *argo.ApplicationSetGenerator) []argo.ApplicationSetGenerator {
	var nested []argo.ApplicationSetNestedGenerator
	switch {
	case g.Matrix != nil:
		nested = g.Matrix.Generators
	case g.Merge != nil:
		nested = g.Merge.Generators
	default:
		return nil
	}
	all := make([]argo.ApplicationSetGenerator, 0, len(nested))
	for i := range nested {
		all = append(all, unnested(&nested[i]))
	}
	return all
}

// unnested is a generator inside another one, as one of spec.generators.
func unnested(n *argo.ApplicationSetNestedGenerator) argo.ApplicationSetGenerator {
	g := argo.ApplicationSetGenerator{
		List: n.List, Clusters: n.Clusters, Git: n.Git, SCMProvider: n.SCMProvider, PullRequest: n.PullRequest,
		ClusterDecisionResource: n.ClusterDecisionResource, Plugin: n.Plugin, Selector: n.Selector,
	}
	if m, err := argo.ToNestedMatrixGenerator(n.Matrix); err == nil && m != nil {
		g.Matrix = m.ToMatrixGenerator()
	}
	if m, err := argo.ToNestedMergeGenerator(n.Merge); err == nil && m != nil {
		g.Merge = m.ToMergeGenerator()
	}
	return g
}

// known reports whether a generator asks nobody. Argo CD then evaluates it, or says what is wrong with it.
func (o offline) known(g *argo.ApplicationSetGenerator) bool {
	for _, k := range kindsOf(g) {
		if k.name != "list" && k.name != "matrix" && k.name != "merge" {
			return false
		}
	}
	for _, i := range inner(g) {
		if !o.known(&i) {
			return false
		}
	}
	return true
}

// count is the most sets of parameters that the lists of a generator give.
func (o offline) count(g *argo.ApplicationSetGenerator) int {
	n := 1
	switch {
	case g.List != nil:
		n = len(g.List.Elements)
		if g.List.ElementsYaml != "" {
			n += strings.Count(g.List.ElementsYaml, "\n") + 1
		}
	case g.Matrix != nil:
		for _, i := range inner(g) {
			n = min(n*max(o.count(&i), 1), maxApplications+1)
		}
	case g.Merge != nil:
		if all := inner(g); len(all) > 0 {
			n = o.count(&all[0])
		}
	}
	return n
}

// params are the sets of parameters of a generator, narrowed by its selector. What needs a cluster is open.
func (o offline) params(g *argo.ApplicationSetGenerator) ([]Params, error) {
	if o.known(g) {
		sets, err := generators.Transform(*g, argoGenerators(), argo.ApplicationSetTemplate{}, o.set, map[string]any{}, nil)
		var all []Params
		for _, t := range sets {
			for _, values := range t.Params {
				all = append(all, paramsOf(values))
			}
		}
		return all, err
	}
	all, err := o.unfiltered(g)
	if err != nil {
		return nil, err
	}
	return filtered(g.Selector, all)
}

func (o offline) unfiltered(g *argo.ApplicationSetGenerator) ([]Params, error) {
	kinds := kindsOf(g)
	if len(kinds) != 1 {
		return nil, errors.New("a generator inside another one has to be of one kind, and this one is of several")
	}
	switch kinds[0].name {
	case "matrix":
		return o.matrix(g)
	case "merge":
		return o.merge(g)
	}
	o.unknown[kinds[0].name] = true
	return []Params{{Open: true, Many: true}}, nil
}

// matrix lets Argo CD combine the generators, with lists in place of those that are evaluated here. With goTemplate, the
// first generator wins, unless its value is empty.
func (o offline) matrix(g *argo.ApplicationSetGenerator) ([]Params, error) {
	m, nested := *g.Matrix, inner(g)
	m.Generators = nil
	open := false
	for i := range nested {
		list, isOpen, err := o.listOf(&nested[i], open)
		if err != nil {
			return nil, fmt.Errorf("generator %d of the matrix: %w", i+1, err)
		}
		m.Generators, open = append(m.Generators, list), open || isOpen
	}
	all, err := o.params(&argo.ApplicationSetGenerator{Matrix: &m})
	if o.set.Spec.GoTemplate {
		for _, p := range all {
			dropEmpty(p.Values)
		}
	}
	return all, err
}

// dropEmpty removes what mergo takes for no value: the same parameter of another generator would win.
func dropEmpty(values map[string]any) {
	for key, value := range values {
		switch value := value.(type) {
		case map[string]any:
			dropEmpty(value)
		default:
			if value == nil || reflect.ValueOf(value).IsZero() {
				delete(values, key)
			}
		}
	}
}

// merge keeps of the first generator what no other one can override.
func (o offline) merge(g *argo.ApplicationSetGenerator) ([]Params, error) {
	nested := inner(g)
	if len(nested) < 2 {
		return nil, generators.ErrLessThanTwoGeneratorsInMerge
	}
	base, err := o.params(&nested[0])
	for i := range nested[1:] {
		o.look(&nested[1+i])
	}
	for i, p := range base {
		kept := map[string]any{}
		for _, key := range g.Merge.MergeKeys {
			if value, is := p.Values[key]; is {
				kept[key] = value
			}
		}
		base[i] = Params{Values: kept, Open: true, Many: p.Many}
	}
	return base, err
}

// look remembers the kinds in a generator that need a cluster or a network.
func (o offline) look(g *argo.ApplicationSetGenerator) {
	for _, k := range kindsOf(g) {
		if k.name != "list" && k.name != "matrix" && k.name != "merge" {
			o.unknown[k.name] = true
		}
	}
	for _, i := range inner(g) {
		o.look(&i)
	}
}

// listOf is a list in place of a generator inside a matrix, and whether it is open. After an open generator, one whose
// texts are templates is open as well: Argo CD fills them with parameters that are not known here.
func (o offline) listOf(
	g *argo.ApplicationSetGenerator, afterOpen bool,
) (list argo.ApplicationSetNestedGenerator, open bool, err error) {
	known := o.known(g)
	text, err := json.Marshal(g)
	if err != nil {
		return list, false, err
	}
	templated := strings.Contains(string(text), "{{")
	var sets []Params
	switch {
	case known && !afterOpen:
		return nestedOf(g)
	case templated && (afterOpen || !known):
		o.look(g)
		sets = []Params{{Open: true, Many: true}}
	default:
		if sets, err = o.params(g); err != nil {
			return list, false, err
		}
	}
	list.List = &argo.ListGenerator{}
	for _, p := range sets {
		if afterOpen && o.set.Spec.GoTemplate {
			p.Values = nil // the first generator may give the same parameters, and wins
		}
		element, err := json.Marshal(p.marked())
		if err != nil {
			return list, false, err
		}
		list.List.Elements = append(list.List.Elements, apiextensionsv1.JSON{Raw: element})
		open = open || p.Open
	}
	return list, open, nil
}

// nestedOf is a generator that is known, as one inside another.
func nestedOf(g *argo.ApplicationSetGenerator) (n argo.ApplicationSetNestedGenerator, open bool, err error) {
	text, err := json.Marshal(g)
	if err == nil {
		err = json.Unmarshal(text, &n)
	}
	return n, false, err
}
