package lint

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
)

// part is one kind of generator in an entry of spec.generators. An entry with several kinds gives the Applications of
// all of them.
type part struct {
	kind     string
	index    int
	template *argo.ApplicationSetTemplate
	generate func(e *engine) ([]params, error)
}

func (p part) path() Path { return to("spec", "generators", p.index, p.kind) }

// parts takes an entry of spec.generators apart.
func parts(index int, g *argo.ApplicationSetGenerator) []part {
	var all []part
	add := func(kind string, set bool, template func() *argo.ApplicationSetTemplate,
		nested argo.ApplicationSetNestedGenerator) {
		if !set {
			return
		}
		nested.Selector = g.Selector
		all = append(all, part{kind, index, template(), func(e *engine) ([]params, error) {
			return e.generate(&nested, nil)
		}})
	}
	type nested = argo.ApplicationSetNestedGenerator
	type template = *argo.ApplicationSetTemplate
	add("list", g.List != nil, func() template { return &g.List.Template }, nested{List: g.List})
	add("clusters", g.Clusters != nil, func() template { return &g.Clusters.Template }, nested{Clusters: g.Clusters})
	add("git", g.Git != nil, func() template { return &g.Git.Template }, nested{Git: g.Git})
	add("scmProvider", g.SCMProvider != nil, func() template {
		return &g.SCMProvider.Template
	}, nested{SCMProvider: g.SCMProvider})
	add("clusterDecisionResource", g.ClusterDecisionResource != nil, func() template {
		return &g.ClusterDecisionResource.Template
	}, nested{ClusterDecisionResource: g.ClusterDecisionResource})
	add("pullRequest", g.PullRequest != nil, func() template {
		return &g.PullRequest.Template
	}, nested{PullRequest: g.PullRequest})
	add("plugin", g.Plugin != nil, func() template { return &g.Plugin.Template }, nested{Plugin: g.Plugin})
	if m := g.Matrix; m != nil {
		all = append(all, part{"matrix", index, &m.Template, func(e *engine) ([]params, error) {
			return filtered(g.Selector, func() ([]params, error) { return e.matrix(m.Generators) })
		}})
	}
	if m := g.Merge; m != nil {
		all = append(all, part{"merge", index, &m.Template, func(e *engine) ([]params, error) {
			return filtered(g.Selector, func() ([]params, error) { return e.merge(m.Generators, m.MergeKeys) })
		}})
	}
	return all
}

// groups are the Applications that are known, or those that the generators give as far as that is known.
func (c *checker) groups() []group {
	var all []group
	if c.Known {
		for _, a := range c.Applications {
			all = append(all, groupOf(a))
		}
		return all
	}
	for i := range c.Set.Spec.Generators {
		for _, p := range parts(i, &c.Set.Spec.Generators[i]) {
			all = append(all, c.generated(p)...)
		}
	}
	return all
}

// generated are the Applications of one generator.
func (c *checker) generated(p part) []group {
	e := &engine{goTemplate: c.Set.Spec.GoTemplate, options: c.Set.Spec.GoTemplateOptions, unknownKinds: map[string]bool{}}
	sets, err := p.generate(e)
	var b *brokenGenerator
	switch {
	case errors.As(err, &b):
		c.found("generator-fails", p.path(),
			fmt.Sprintf("Argo CD cannot evaluate generator %d (%s): %s.", p.index+1, p.kind, b.problem))
		sets = nil
	case err != nil || len(sets) > maxParams:
		sets = []params{{open: true, many: true}}
		c.gap(p.kind, fmt.Sprintf("generator %d (%s): it gives too many Applications to look at each", p.index+1, p.kind))
	case len(e.unknownKinds) > 0:
		kinds := slices.Sorted(maps.Keys(e.unknownKinds))
		inside := p.kind
		if !slices.Equal(kinds, []string{p.kind}) {
			inside = fmt.Sprintf("%s with %s", p.kind, and(kinds))
		}
		c.gap(strings.Join(kinds, ", "),
			fmt.Sprintf("generator %d (%s): which Applications it gives, and whether each of them is in exactly one step; "+
				"stepgate lint %s checks the live ones", p.index+1, inside, c.argument()))
	}
	t := mergedTemplate(c.Set, p.template, p.path())
	r := renderer{checker: c, engine: e, part: p, template: t, reported: map[string]bool{}}
	var all []group
	for _, set := range sets {
		all = append(all, r.group(set))
	}
	if r.unrendered > 0 && len(e.unknownKinds) == 0 {
		c.gap("templates", fmt.Sprintf(
			"generator %d (%s): the step of %s, whose labels come from a template that lint cannot render", p.index+1, p.kind,
			count(r.unrendered, "Application"),
		))
	}
	return all
}

// argument names the ApplicationSet in a command line.
func (c *checker) argument() string {
	if c.Set.Namespace == "" {
		return short(c.Set.Name)
	}
	return short("-n " + c.Set.Namespace + " " + c.Set.Name)
}
