// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Params is a set of parameters that a generator gives, as far as it is known.
type Params struct {
	Values map[string]any
	// Open says that there are other parameters, which are not known.
	Open bool
	// Many says that it stands for any number of sets, also for none.
	Many bool
}

// openMark and manyMark are parameters that tell Params that Argo CD's matrix has combined. No template names them.
const (
	openMark = "\x00open"
	manyMark = "\x00many"
)

// marked are the values with their marks. Without goTemplate, Argo CD takes texts only, and nested values by the name
// "values.x" as it gives them: an element of a list has them below "values" again.
func (p Params) marked() map[string]any {
	all, below := map[string]any{}, map[string]any{}
	for key, value := range p.Values {
		if name, nested := strings.CutPrefix(key, "values."); nested {
			below[name] = value
			continue
		}
		all[key] = value
	}
	if len(below) > 0 {
		all["values"] = below
	}
	if p.Open {
		all[openMark] = "true"
	}
	if p.Many {
		all[manyMark] = "true"
	}
	return all
}

// paramsOf takes the marks off.
func paramsOf(values map[string]any) Params {
	values = maps.Clone(values)
	_, open := values[openMark]
	_, many := values[manyMark]
	delete(values, openMark)
	delete(values, manyMark)
	return Params{Values: values, Open: open, Many: many}
}

// filtered applies the selector of a generator. A set of which it cannot be known whether it matches stands for one or
// none.
func filtered(selector *metav1.LabelSelector, all []Params) ([]Params, error) {
	if selector == nil {
		return all, nil
	}
	var kept []Params
	for _, p := range all {
		matches, known, err := p.matches(selector)
		if err != nil {
			return nil, err
		}
		if !known {
			p.Many = true
		}
		if matches || !known {
			kept = append(kept, p)
		}
	}
	return kept, nil
}

// matches mirrors LabelSelectorAsSelector of argo-cd v3.5.7, applicationset/utils/selector.go: values need not be valid
// labels.
func (p Params) matches(s *metav1.LabelSelector) (matches, known bool, err error) {
	flat := map[string]string{}
	flatten("", p.Values, flat)
	known = true
	requirements := slices.Clone(s.MatchExpressions)
	for key, want := range s.MatchLabels {
		requirements = append(requirements, metav1.LabelSelectorRequirement{
			Key: key, Operator: metav1.LabelSelectorOpIn, Values: []string{want},
		})
	}
	for _, r := range requirements {
		value, is := flat[r.Key]
		if !is && p.Open {
			known = false
			continue
		}
		if meets, err := meets(r, value, is); err != nil || !meets {
			return false, true, err
		}
	}
	return true, known, nil
}

func meets(r metav1.LabelSelectorRequirement, value string, is bool) (bool, error) {
	switch r.Operator {
	case metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn:
		if len(r.Values) == 0 {
			return false, fmt.Errorf("its selector has %s without values", r.Operator)
		}
		return (is && slices.Contains(r.Values, value)) == (r.Operator == metav1.LabelSelectorOpIn), nil
	case metav1.LabelSelectorOpExists:
		return is, nil
	case metav1.LabelSelectorOpDoesNotExist:
		return !is, nil
	}
	return false, fmt.Errorf("its selector has the operator %q, which does not exist", r.Operator)
}

// flatten names nested values by their path, with dots.
func flatten(prefix string, value any, flat map[string]string) {
	below := func(name string) string { return strings.TrimPrefix(prefix+"."+name, ".") }
	switch value := value.(type) {
	case map[string]any:
		for k, v := range value {
			flatten(below(k), v, flat)
		}
	case []any:
		for i, v := range value {
			flatten(below(strconv.Itoa(i)), v, flat)
		}
	default:
		flat[prefix] = fmt.Sprint(value)
	}
}
