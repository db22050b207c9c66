// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/stepgate/stepgate/policy"
)

// expressions looks at the expressions of one step, each by itself and then together.
func (c *checker) expressions(step int) {
	found := len(c.result.Findings)
	for i, e := range c.steps[step] {
		c.expression(step, i, e)
	}
	if len(c.steps[step]) == 0 && !c.all[step] {
		message := fmt.Sprintf("Step %d has no matchExpressions, and selects every Application.", step+1)
		if step < len(c.steps)-1 {
			message += " No later step ever gets one."
		}
		c.found("empty-step", stepPath(step), message)
	}
	for _, f := range c.result.Findings[found:] {
		c.broken[step] = c.broken[step] || f.Rule == "in-without-values" || f.Rule == "unknown-operator" ||
			f.Rule == "invalid-key" || f.Rule == "impossible-value" && f.Severity == Error
	}
	if !c.broken[step] {
		c.contradictions(step)
	}
}

// expression looks at one expression. labelMatchedExpression of argo-cd v3.5.7,
// applicationset/progressivesync/progressive_sync.go, compares operators and values exactly.
func (c *checker) expression(step, i int, e policy.Expression) {
	path := stepPath(step, "matchExpressions", i)
	if problems := validation.IsQualifiedName(e.Key); len(problems) > 0 {
		c.found("invalid-key", path.and("key"),
			fmt.Sprintf("Step %d selects by %q, and no label can have this name.", step+1, short(e.Key)))
	}
	switch {
	case e.Operator != "In" && e.Operator != "NotIn":
		f := c.found("unknown-operator", path.and("operator"),
			fmt.Sprintf("Step %d has the operator %q, which does not exist: it selects no Application that has the label %s.",
				step+1, short(e.Operator), short(e.Key)))
		for _, operator := range []string{"In", "NotIn"} {
			if strings.EqualFold(e.Operator, operator) {
				f.Remedy = "Write " + operator + ": upper and lower case count."
			}
		}
	case len(e.Values) == 0 && e.Operator == "In":
		c.found("in-without-values", path,
			fmt.Sprintf("Step %d selects nothing: In for the label %s has no values.", step+1, short(e.Key)))
	case len(e.Values) == 0:
		c.found("not-in-without-values", path,
			fmt.Sprintf("NotIn for the label %s has no values in step %d, and leaves nothing out.", short(e.Key), step+1))
	}
	nothing := e.Operator == "In" && !slices.ContainsFunc(e.Values, func(value string) bool {
		return len(validation.IsValidLabelValue(value)) == 0
	})
	for j, value := range e.Values {
		at := path.and("values", j)
		switch {
		case slices.Contains(e.Values[:j], value):
			c.found("duplicate-value", at, fmt.Sprintf("Step %d lists the value %q of the label %s twice.", step+1,
				short(value), short(e.Key)))
		case value == "":
			c.found("empty-value", at, fmt.Sprintf("Step %d lists an empty value of the label %s.", step+1, short(e.Key)))
		case len(validation.IsValidLabelValue(value)) > 0:
			f := c.found("impossible-value", at, fmt.Sprintf("Step %d lists the value %q of the label %s, which no label can "+
				"have.", step+1, short(value), short(e.Key)))
			if nothing {
				f.Severity = Error
				f.Message += " So the step selects nothing."
			}
		}
	}
}

// contradictions reports the labels of which no value satisfies all expressions of a step. Expressions about different
// labels cannot exclude each other.
func (c *checker) contradictions(step int) {
	all := c.steps[step]
	for i, e := range all {
		if slices.ContainsFunc(all[:i], func(earlier policy.Expression) bool { return earlier.Key == e.Key }) {
			continue
		}
		same := policy.Step{}
		for _, other := range all {
			if other.Key == e.Key {
				same = append(same, other)
			}
		}
		possible := false
		newUniverse([]policy.Step{same}).each(nil, func(labels map[string]string) {
			possible = possible || policy.StepOf([]policy.Step{same}, labels) == 0
		})
		if !possible {
			c.broken[step] = true
			c.found("contradiction", stepPath(step, "matchExpressions", i),
				fmt.Sprintf("Step %d selects nothing: no value of the label %s satisfies all its expressions.", step+1,
					short(e.Key)))
		}
	}
}
