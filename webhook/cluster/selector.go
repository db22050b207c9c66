// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/stepgate/stepgate/policy"
)

// selectorFor writes "selected by one of these steps" as a Kubernetes label selector; ok is false if that cannot be
// said exactly, and then everything has to be listed. A selector cannot say "or", except for values of one key.
func selectorFor(steps []policy.Step) (selector labels.Selector, ok bool) {
	if slices.ContainsFunc(steps, func(s policy.Step) bool { return len(s) == 0 }) {
		return nil, false // it selects all
	}
	if len(steps) == 1 {
		return allOf(steps[0])
	}
	return anyOf(steps)
}

// allOf writes the expressions of one step. Argo CD's NotIn also selects Applications without the key, and so does
// Kubernetes'. An operator that Argo CD does not know selects exactly the Applications without the key.
func allOf(step policy.Step) (labels.Selector, bool) {
	selector := labels.NewSelector()
	for _, e := range step {
		operator, values := selection.DoesNotExist, []string(nil)
		switch {
		case e.Operator == "NotIn" && len(e.Values) == 0:
			continue // it selects all
		case e.Operator == "In":
			operator, values = selection.In, e.Values
		case e.Operator == "NotIn":
			operator, values = selection.NotIn, e.Values
		}
		requirement, err := labels.NewRequirement(e.Key, operator, values)
		if err != nil {
			return nil, false // no values, or a value that no label can have
		}
		selector = selector.Add(*requirement)
	}
	return selector, true
}

// anyOf writes steps that each select by values of the same key.
func anyOf(steps []policy.Step) (labels.Selector, bool) {
	var values []string
	for _, step := range steps {
		if len(step) != 1 || step[0].Operator != "In" || step[0].Key != steps[0][0].Key {
			return nil, false
		}
		values = append(values, step[0].Values...)
	}
	return allOf(policy.Step{{Key: steps[0][0].Key, Operator: "In", Values: values}})
}
