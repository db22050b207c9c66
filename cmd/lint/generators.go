// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/stepgate/stepgate/cmd/render"
)

// pathOf is the generator in spec.generators.
func pathOf(g render.Generator) Path { return to("spec", "generators", g.Index, g.Kind) }

// groups are the Applications that are known, or those that the generators give as far as that is known.
func (c *checker) groups() []group {
	var all []group
	if c.Known {
		for _, a := range c.Applications {
			all = append(all, a.group())
		}
		return all
	}
	if c.alone {
		for _, a := range c.children {
			all = append(all, a.group())
		}
		return all
	}
	for _, g := range render.Generators(c.Set) {
		all = append(all, c.generated(g)...)
	}
	c.named(all)
	return all
}

// group is an Application that exists.
func (a *Application) group() group {
	g := groupOf(a.Name, a.Labels, -1)
	g.wave = label{a.Wave, true}
	return g
}

// generated are the Applications of one generator.
func (c *checker) generated(g render.Generator) []group {
	result, err := g.Render()
	var ofTemplate render.TemplateError
	switch {
	case errors.As(err, &ofTemplate):
		c.templateFails(fmt.Sprintf("of generator %d (%s)", g.Index+1, g.Kind), ofTemplate)
	case err != nil:
		c.found("generator-fails", pathOf(g),
			fmt.Sprintf("Argo CD cannot evaluate generator %d (%s): %s.", g.Index+1, g.Kind, short2(err.Error())))
	case result.TooMany:
		c.gap(g.Kind, fmt.Sprintf("generator %d (%s): it gives too many Applications to look at each", g.Index+1, g.Kind))
		return []group{{generator: g.Index, open: true, many: true}}
	}
	if len(result.Unknown) > 0 {
		inside := g.Kind
		if !slices.Equal(result.Unknown, []string{g.Kind}) {
			inside = fmt.Sprintf("%s with %s", g.Kind, and(result.Unknown))
		}
		where := "whether each of them is in exactly one step"
		if c.rule != nil && c.rule.Waves { // there is no rule where the ApplicationSet lacks fields
			where = "their sync waves"
		}
		c.gap(strings.Join(result.Unknown, ", "), fmt.Sprintf("generator %d (%s): which Applications it gives, and %s; "+
			"stepgate lint %s checks the live ones", g.Index+1, inside, where, c.argument()))
	}
	r := renderer{
		checker: c, generator: g, template: mergedTemplate(c.Set, g.Template, pathOf(g)), reported: map[string]bool{},
	}
	var all []group
	for _, a := range result.Applications {
		all = append(all, r.application(a))
	}
	for _, p := range result.Params {
		all = append(all, r.group(p))
	}
	if err != nil {
		// What it would give is not known: nothing follows from what is missing.
		all = append(all, group{generator: g.Index, open: true, many: true})
	}
	return all
}

// templateFails reports a text that is no template, or one that fails, at the text.
func (c *checker) templateFails(where string, err error) {
	path := to("spec", "template")
	if at := textIn(c.node, err.Error()); at != nil {
		path = at
	} else if strings.Contains(err.Error(), "templatePatch") || strings.Contains(err.Error(), "template to json") {
		path = to("spec", "templatePatch")
	}
	message := fmt.Sprintf("Argo CD cannot render the template %s: %s.", where, short2(err.Error()))
	for _, f := range c.result.Findings {
		if f.Rule == "template-fails" && f.Path == path.String() {
			return // it is said already
		}
	}
	c.found("template-fails", path, message)
}

// argument names the ApplicationSet in a command line.
func (c *checker) argument() string {
	if c.Set.Namespace == "" {
		return short(c.Set.Name)
	}
	return short("-n " + c.Set.Namespace + " " + c.Set.Name)
}
