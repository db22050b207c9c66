// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/stepgate/stepgate/cmd/render"
	"github.com/stepgate/stepgate/policy"
)

// counted are the Applications, which the result counts.
func (c *checker) counted() []group {
	groups := c.groups()
	c.result.AllApplications = true
	for _, g := range groups {
		if g.many {
			c.result.AllApplications = false
		} else {
			c.result.Applications++
		}
	}
	return groups
}

// members compares the Applications with the steps.
func (c *checker) members() []group {
	groups := c.counted()
	if len(groups) == 0 {
		return groups
	}
	c.labelsNotSet(groups)
	c.valuesNeverGiven(groups)
	c.placements(groups)
	c.overlaps(groups)
	return groups
}

// labelsNotSet reports the labels by which steps select, and that certainly no Application has. A step that selects
// only Applications with the label has none then.
func (c *checker) labelsNotSet(groups []group) {
	var reported []string
	for i, step := range c.steps {
		for j, e := range step {
			set := slices.ContainsFunc(groups, func(g group) bool { _, set := g.labels[e.Key]; return set || g.open })
			if set || len(validation.IsQualifiedName(e.Key)) > 0 {
				continue
			}
			c.broken[i] = c.broken[i] || e.Operator == "In"
			if slices.Contains(reported, e.Key) {
				continue
			}
			reported = append(reported, e.Key)
			message := fmt.Sprintf("Step %d selects by the label %s, which the template does not set.", i+1, short(e.Key))
			if c.Known {
				message = fmt.Sprintf("Step %d selects by the label %s, and none of the %s has it.", i+1, short(e.Key),
					count(len(groups), "Application"))
			}
			f := c.found("label-not-set", stepPath(i, "matchExpressions", j, "key"), message)
			if like := render.Nearest(e.Key, labelNames(groups)); like != "" {
				f.Remedy = fmt.Sprintf(
					"The Applications have the label %s. Select by this one, or set %s in spec.template.metadata.labels.",
					short(like), short(e.Key),
				)
			}
		}
	}
}

func labelNames(groups []group) []string {
	var all []string
	for _, g := range groups {
		for key := range g.labels {
			if !slices.Contains(all, key) {
				all = append(all, key)
			}
		}
	}
	slices.Sort(all)
	return all
}

// valuesNeverGiven reports the values of In that no generator gives. Of Applications that exist it says nothing: others
// may come.
func (c *checker) valuesNeverGiven(groups []group) {
	if c.Known {
		return
	}
	for i, step := range c.steps {
		for j, e := range step {
			given, known := valuesOf(groups, e.Key)
			if e.Operator != "In" || !known || len(given) == 0 {
				continue
			}
			for k, value := range e.Values {
				if slices.Contains(given, value) || slices.Contains(e.Values[:k], value) || value == "" ||
					len(validation.IsValidLabelValue(value)) > 0 {
					continue // it is there, or another rule says why not
				}
				f := c.found("value-never-given", stepPath(i, "matchExpressions", j, "values", k),
					fmt.Sprintf("Step %d lists the value %q of the label %s, which no generator gives.", i+1, short(value),
						short(e.Key)))
				if like := render.Nearest(value, given); like != "" && len(value) > 2 {
					f.Remedy = fmt.Sprintf("Did you mean %s? Otherwise remove the value, or add it to a generator.", short(like))
				}
			}
		}
	}
}

// valuesOf are the values that a label has, sorted, if they are all known.
func valuesOf(groups []group, key string) (values []string, known bool) {
	for _, g := range groups {
		l, set := g.labels[key]
		if set && !l.known || !set && g.open {
			return nil, false
		}
		if set && !slices.Contains(values, l.value) {
			values = append(values, l.value)
		}
	}
	slices.Sort(values)
	return values, true
}

// placements reports the steps that certainly have no Application, and the Applications that are certainly in no step.
func (c *checker) placements(groups []group) {
	u := newUniverse(c.steps)
	filled, complete := map[int]bool{}, true
	outside, inside := map[int][]group{}, map[int]bool{} // by generator
	for _, g := range groups {
		placement := g.placement(c.steps, u)
		if placement == nil {
			complete, inside[g.generator] = false, true
			c.gapOnce("steps", "the step of some Applications: the steps tell too many combinations of labels apart")
			continue
		}
		for step := range placement {
			filled[step] = true
			inside[g.generator] = inside[g.generator] || step >= 0
		}
		if len(placement) == 1 && placement[-1] {
			outside[g.generator] = append(outside[g.generator], g)
		}
	}
	c.outsiders(outside, inside)
	for i := range c.steps {
		if !complete || filled[i] || c.broken[i] {
			continue
		}
		message := fmt.Sprintf("Step %d gets no Application: no generator gives one with labels that it selects.", i+1)
		if c.Known {
			message = fmt.Sprintf("Step %d has no Application: it selects none of the %d that exist.", i+1, len(groups))
		}
		c.found("step-without-applications", stepPath(i), message)
	}
}

// outsiders reports the Applications in no step. A generator that has no other Applications is reported as a whole, if
// there are other generators.
func (c *checker) outsiders(outside map[int][]group, inside map[int]bool) {
	var who []string
	for i := -1; i < len(c.Set.Spec.Generators); i++ {
		if len(outside[i]) == 0 {
			continue
		}
		if i >= 0 && !inside[i] && (len(c.Set.Spec.Generators) > 1 || outside[i][0].many) {
			c.found("generator-in-no-step", to("spec", "generators", i),
				fmt.Sprintf("No step selects an Application of generator %d.", i+1))
			continue
		}
		unnamed := false
		for _, g := range outside[i] {
			if g.name == "" {
				unnamed = true
			} else {
				who = append(who, short(g.name))
			}
		}
		if unnamed {
			who = append(who, fmt.Sprintf("some Applications of generator %d", i+1))
		}
	}
	if len(who) > 0 {
		verb := isAre(len(who))
		if strings.HasPrefix(who[0], "some ") {
			verb = "are"
		}
		c.found("in-no-step", to("spec", "strategy", "rollingSync", "steps"),
			fmt.Sprintf("%s %s in no step.", capital(names(who)), verb))
	}
}

// overlaps reports the Applications that several steps select. An empty step selects all, and is reported as such.
func (c *checker) overlaps(groups []group) {
	var order []string
	found := map[string][]string{}
	of := map[string][]int{}
	for _, g := range groups {
		labels, exact := g.exact(c.steps)
		if !exact {
			continue
		}
		all := slices.DeleteFunc(selecting(c.steps, labels), func(step int) bool { return c.all[step] })
		if len(all) < 2 || policy.StepOf(c.steps, labels) != all[0] {
			continue
		}
		key := fmt.Sprint(all)
		if found[key] == nil {
			order = append(order, key)
		}
		of[key] = all
		found[key] = append(found[key], orUnnamed(g.name))
	}
	for _, key := range order {
		all := of[key]
		c.found("in-two-steps", stepPath(all[1]),
			fmt.Sprintf("%s %s selected by %s: step %d counts.", names(found[key]), isAre(len(found[key])), stepNames(all),
				all[0]+1))
	}
}

func orUnnamed(name string) string {
	if name == "" {
		return "an Application"
	}
	return short(name)
}

// gapOnce says once what could not be checked.
func (c *checker) gapOnce(subject, message string) {
	if !slices.Contains(c.result.NotChecked, Gap{subject, message}) {
		c.gap(subject, message)
	}
}
