// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/stepgate/stepgate/policy"
)

// maxCombinations bounds the combinations of labels that lint looks at.
const maxCombinations = 1 << 14

// other stands for every value that no expression lists. No label can have it.
const other = "\x00"

// universe has every combination of labels that steps can tell apart: for each label the values that they list, any
// other value, and none.
type universe struct {
	keys   []string
	values map[string][]string
}

// possible are the values that a label may have. absent says that it may be missing.
type possible struct {
	values []string
	absent bool
}

// newUniverse leaves out what no label can have.
func newUniverse(steps []policy.Step) universe {
	u := universe{values: map[string][]string{}}
	for _, step := range steps {
		for _, e := range step {
			if !slices.Contains(u.keys, e.Key) {
				u.keys = append(u.keys, e.Key)
			}
			for _, value := range e.Values {
				if len(validation.IsValidLabelValue(value)) == 0 && !slices.Contains(u.values[e.Key], value) {
					u.values[e.Key] = append(u.values[e.Key], value)
				}
			}
		}
	}
	return u
}

// any is every value of a label, and none.
func (u universe) any(key string) possible {
	if len(validation.IsQualifiedName(key)) > 0 {
		return possible{absent: true}
	}
	return possible{values: append(slices.Clone(u.values[key]), other), absent: true}
}

// each visits every combination, narrowed by what is known about each label. It reports false, and visits none, when
// there are too many. The map is the same for every visit.
func (u universe) each(known func(key string) possible, visit func(labels map[string]string)) bool {
	if known == nil {
		known = u.any
	}
	domains, combinations := make([]possible, len(u.keys)), 1
	for i, key := range u.keys {
		domains[i] = known(key)
		n := len(domains[i].values)
		if domains[i].absent {
			n++
		}
		if combinations *= n; combinations > maxCombinations {
			return false
		}
	}
	u.visit(domains, map[string]string{}, visit)
	return true
}

func (u universe) visit(domains []possible, labels map[string]string, visit func(map[string]string)) {
	i := len(u.keys) - len(domains)
	if len(domains) == 0 {
		visit(labels)
		return
	}
	key := u.keys[i]
	if domains[0].absent {
		delete(labels, key)
		u.visit(domains[1:], labels, visit)
	}
	for _, value := range domains[0].values {
		labels[key] = value
		u.visit(domains[1:], labels, visit)
	}
	delete(labels, key)
}

// selecting are all steps that select the labels. The Application belongs to the first of them.
func selecting(steps []policy.Step, labels map[string]string) []int {
	var all []int
	for i := range steps {
		if policy.StepOf(steps[i:i+1], labels) == 0 {
			all = append(all, i)
		}
	}
	return all
}
