package lint

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// matchesSelector applies the selector of a generator to a set of parameters.
//
// It mirrors LabelSelectorAsSelector of argo-cd v3.5.7, applicationset/utils/selector.go: values need not be valid
// labels.
func matchesSelector(s *metav1.LabelSelector, p params) (bool, error) {
	flat := map[string]string{}
	flatten("", p.values, flat)
	unknown := false
	for key, want := range s.MatchLabels {
		value, ok := flat[key]
		switch {
		case !ok && p.open:
			unknown = true
		case !ok || value != want:
			return false, nil
		}
	}
	for _, r := range s.MatchExpressions {
		value, ok := flat[r.Key]
		if !ok && p.open {
			unknown = true
			continue
		}
		if matches, err := matchesRequirement(r, value, ok); err != nil || !matches {
			return false, err
		}
	}
	if unknown {
		return false, errUnknown
	}
	return true, nil
}

func matchesRequirement(r metav1.LabelSelectorRequirement, value string, ok bool) (bool, error) {
	switch r.Operator {
	case metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn:
		if len(r.Values) == 0 {
			return false, broken("its selector has %s without values", r.Operator)
		}
		listed := ok && slices.Contains(r.Values, value)
		return listed == (r.Operator == metav1.LabelSelectorOpIn), nil
	case metav1.LabelSelectorOpExists:
		return ok, nil
	case metav1.LabelSelectorOpDoesNotExist:
		return !ok, nil
	}
	return false, broken("its selector has the operator %q, which does not exist", short(string(r.Operator)))
}

// flatten names nested values by their path, with dots.
func flatten(prefix string, value any, flat map[string]string) {
	switch value := value.(type) {
	case map[string]any:
		for k, v := range value {
			flatten(join(prefix, k), v, flat)
		}
	case []any:
		for i, v := range value {
			flatten(join(prefix, strconv.Itoa(i)), v, flat)
		}
	default:
		flat[prefix] = fmt.Sprint(value)
	}
}

func join(prefix, name string) string {
	if prefix == "" {
		return name
	}
	return prefix + "." + name
}

// filtered applies the selector of a generator to what it gives. Where it cannot be known whether a set matches, it
// stands for one set or none.
func filtered(selector *metav1.LabelSelector, generate func() ([]params, error)) ([]params, error) {
	all, err := generate()
	if err != nil || selector == nil {
		return all, err
	}
	var kept []params
	for _, p := range all {
		switch matches, err := matchesSelector(selector, p); {
		case errors.Is(err, errUnknown):
			p.many = true
			kept = append(kept, p)
		case err != nil:
			return nil, err
		case matches:
			kept = append(kept, p)
		}
	}
	return kept, nil
}
