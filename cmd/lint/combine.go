package lint

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
)

// matrix combines every set of the first generator with those of the second one, whose texts may use the first.
//
// It mirrors GenerateParams of argo-cd v3.5.7, applicationset/generators/matrix.go. The first generator wins.
func (e *engine) matrix(generators []argo.ApplicationSetNestedGenerator) ([]params, error) {
	if len(generators) != 2 {
		return nil, broken("a matrix has two generators, and this one has %d", len(generators))
	}
	first, err := e.generate(&generators[0], nil)
	if err != nil {
		return nil, within("the first generator of the matrix", err)
	}
	var all []params
	for _, a := range first {
		second, err := e.generate(&generators[1], &a)
		if err != nil {
			return nil, within("the second generator of the matrix", err)
		}
		for _, b := range second {
			p, err := e.combined(a, b)
			if err != nil {
				return nil, err
			}
			if all = append(all, p); len(all) > maxParams {
				return nil, errUnknown
			}
		}
	}
	return all, nil
}

func (e *engine) combined(a, b params) (params, error) {
	p := params{values: map[string]any{}, open: a.open || b.open, many: a.many || b.many}
	for key, value := range b.values {
		switch _, both := a.values[key]; {
		case a.open && !both:
			// The first generator may give it as well.
		case !e.goTemplate && !both:
			p.values[key] = fmt.Sprint(value)
		case !both:
			p.values[key] = value
		}
	}
	for key, value := range a.values {
		also, both := b.values[key]
		switch {
		case !e.goTemplate && both && fmt.Sprint(also) != fmt.Sprint(value):
			return p, broken("both generators of the matrix give %s, with different values", key)
		case !e.goTemplate:
			p.values[key] = fmt.Sprint(value)
		case both && (isNested(value) || isEmpty(value)), isEmpty(value) && b.open:
			p.open = true // they are merged
			delete(p.values, key)
		default:
			p.values[key] = value
		}
	}
	return p, nil
}

// merge overrides the sets of the first generator by those of the others that have the same merge keys.
//
// It mirrors GenerateParams of argo-cd v3.5.7, applicationset/generators/merge.go.
func (e *engine) merge(generators []argo.ApplicationSetNestedGenerator, keys []string) ([]params, error) {
	if len(generators) < 2 {
		return nil, broken("a merge has two generators or more, and this one has %d", len(generators))
	}
	if len(keys) == 0 {
		return nil, broken("a merge needs mergeKeys")
	}
	var base []params
	for i := range generators {
		sets, err := e.generate(&generators[i], nil)
		if err != nil {
			return nil, within(fmt.Sprintf("generator %d of the merge", i+1), err)
		}
		if len(sets) > maxParams {
			return nil, errUnknown
		}
		if i == 0 {
			base = sets
			if slices.ContainsFunc(base, func(p params) bool { return p.open }) {
				return []params{{open: true, many: true}}, nil
			}
		}
		if err := unique(sets, keys); err != nil {
			return nil, err
		}
		if i > 0 {
			e.override(base, sets, keys)
		}
	}
	return base, nil
}

func (e *engine) override(base, sets []params, keys []string) {
	// Sets that are not known may override everything but the merge keys.
	open := slices.ContainsFunc(sets, func(p params) bool { return p.open || p.many })
	byKey := map[string]map[string]any{}
	for _, p := range sets {
		byKey[mergeKey(p, keys)] = p.values
	}
	for i, p := range base {
		values := maps.Clone(p.values)
		if values == nil {
			values = map[string]any{}
		}
		if open {
			maps.DeleteFunc(values, func(key string, _ any) bool { return !slices.Contains(keys, key) })
			base[i].values, base[i].open = values, true
			continue
		}
		for key, value := range byKey[mergeKey(p, keys)] {
			old, had := values[key]
			if e.goTemplate && had && (isNested(old) || isNested(value) || isEmpty(value)) {
				base[i].open = true // they are merged
				delete(values, key)
				continue
			}
			values[key] = value
		}
		base[i].values = values
	}
}

func unique(sets []params, keys []string) error {
	seen := map[string]bool{}
	for _, p := range sets {
		if p.open || p.many {
			continue
		}
		key := mergeKey(p, keys)
		if seen[key] {
			return broken("two sets of parameters of one generator of the merge have the same merge keys: %s", short(key))
		}
		seen[key] = true
	}
	return nil
}

func mergeKey(p params, keys []string) string {
	values := map[string]any{}
	for _, key := range keys {
		values[key] = p.values[key]
	}
	text, err := json.Marshal(values)
	if err != nil {
		return ""
	}
	return string(text)
}

// within names the part of a generator that is broken.
func within(where string, err error) error {
	var b *brokenGenerator
	if errors.As(err, &b) {
		return broken("%s: %s", where, b.problem)
	}
	return err
}

// isNested and isEmpty tell the values that mergo does not simply override.
func isNested(value any) bool {
	switch value.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

func isEmpty(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case string:
		return value == ""
	case bool:
		return !value
	case float64:
		return value == 0
	}
	return false
}
