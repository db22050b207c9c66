// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"cmp"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"

	"github.com/stepgate/stepgate/cmd/render"
	"github.com/stepgate/stepgate/policy"
)

// group is one Application, or, if many, any number of them that have in common what is known of their labels.
type group struct {
	// name is empty when it is not known.
	name string
	// generator is the number of the generator, -1 for an Application that exists.
	generator int
	labels    map[string]label
	// wave is the text of its sync wave.
	wave label
	// open says that there may be other labels.
	open bool
	many bool
}

// label is the value of a label. It is set, also when the value is not known.
type label struct {
	value string
	known bool
}

// labelOf is a label whose value was rendered. One that keeps a placeholder, or that the API server refuses, is not
// known: that is reported, and nothing that follows from it.
func labelOf(key, value string) label {
	return label{value, render.Unfilled(value) == "" && render.LabelProblem(key, value) == ""}
}

// groupOf is an Application that is known.
func groupOf(name string, labels map[string]string, generator int) group {
	g := group{name: name, generator: generator, labels: map[string]label{}}
	for key, value := range labels {
		g.labels[key] = labelOf(key, value)
	}
	return g
}

// possible are the values that a label may have, as far as steps can tell them apart.
func (g group) possible(u universe) func(key string) possible {
	return func(key string) possible {
		l, set := g.labels[key]
		switch {
		case set && l.known:
			return possible{values: []string{l.value}}
		case set:
			return possible{values: append(u.values[key][:len(u.values[key]):len(u.values[key])], other)}
		case g.open:
			return u.any(key)
		}
		return possible{absent: true}
	}
}

// exact are the labels by which the steps select, if they are all known, and the group is one Application.
func (g group) exact(steps []policy.Step) (labels map[string]string, ok bool) {
	labels = map[string]string{}
	for _, step := range steps {
		for _, e := range step {
			switch l, set := g.labels[e.Key]; {
			case set && l.known:
				labels[e.Key] = l.value
			case set || g.open:
				return nil, false
			}
		}
	}
	return labels, !g.many
}

// placement are the steps that an Application of the group may belong to, -1 for none; nil if there are too many
// combinations to tell.
func (g group) placement(steps []policy.Step, u universe) map[int]bool {
	found := map[int]bool{}
	if !u.each(g.possible(u), func(labels map[string]string) { found[policy.StepOf(steps, labels)] = true }) {
		return nil
	}
	return found
}

// template is the template of a generator, merged with the template of the ApplicationSet.
type templateOf struct {
	name   string
	labels map[string]string
	// wave is the text of the sync wave.
	wave string
	// paths say where each label comes from.
	paths map[string]Path
}

// mergedTemplate mirrors mergeGeneratorTemplate of argo-cd v3.5.7,
// applicationset/generators/generator_spec_processor.go: what the generator's template sets wins, unless it is empty.
func mergedTemplate(set *argo.ApplicationSet, own *argo.ApplicationSetTemplate, path Path) templateOf {
	t := templateOf{
		name: set.Spec.Template.Name, labels: map[string]string{}, wave: set.Spec.Template.Annotations[syncWave],
		paths: map[string]Path{},
	}
	for key, value := range set.Spec.Template.Labels {
		t.labels[key], t.paths[key] = value, to("spec", "template", "metadata", "labels", key)
	}
	if own == nil {
		return t
	}
	if own.Name != "" {
		t.name = own.Name
	}
	t.wave = cmp.Or(own.Annotations[syncWave], t.wave)
	for key, value := range own.Labels {
		if value != "" || t.labels[key] == "" {
			t.labels[key], t.paths[key] = value, path.and("template", "metadata", "labels", key)
		}
	}
	return t
}
