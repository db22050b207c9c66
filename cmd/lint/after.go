// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stepgate/stepgate/cmd/render"
	"github.com/stepgate/stepgate/webhook/argocd"
	"github.com/stepgate/stepgate/webhook/settings"
)

// orders are all that was given, by what comes after what.
type orders struct {
	known  []*ordered
	others []types.NamespacedName
	// partial says that others exist, which nothing is known of.
	partial bool
}

// ordered is an ApplicationSet, or an Application that none of these controls.
type ordered struct {
	checker *checker
	name    types.NamespacedName
	// members are the names of the Applications of the ApplicationSet, as far as they are known.
	members map[string]bool
	// after are all names that it, or one of its Applications, comes after.
	after []reference
}

// reference is a name in an annotation.
type reference struct {
	name types.NamespacedName
	path Path
	text string
}

// ordered looks at what comes after what, in all that was given.
func (in *Input) ordered(checkers []*checker) {
	if !slices.ContainsFunc(checkers, (*checker).follows) {
		return
	}
	all := orders{others: in.others, partial: in.Partial}
	for _, c := range checkers {
		if c.invalid == nil {
			all.known = append(all.known, c.ordered())
		}
	}
	for _, o := range all.known {
		for _, r := range o.after {
			all.check(o, r)
		}
	}
}

// follows reports whether something of it comes after others.
func (c *checker) follows() bool {
	if c.invalid != nil {
		return false
	}
	_, has := c.Set.Annotations[settings.AfterAnnotation]
	return has || slices.ContainsFunc(c.templates(), func(t placed) bool { return t.after() != "" }) ||
		slices.ContainsFunc(c.Applications, func(a Application) bool { return a.After != "" })
}

// after is the annotation of a template.
func (t placed) after() string { return t.template.Annotations[settings.AfterAnnotation] }

// ordered reads the annotations, and reports those that cannot be read.
func (c *checker) ordered() *ordered {
	o := &ordered{
		checker: c, name: types.NamespacedName{Namespace: c.Set.Namespace, Name: c.Set.Name},
		members: map[string]bool{},
	}
	if text, has := c.Set.Annotations[settings.AfterAnnotation]; has {
		o.read(text, to("metadata", "annotations", settings.AfterAnnotation))
	}
	for _, t := range c.templates() {
		path := t.path.and("metadata", "annotations", settings.AfterAnnotation)
		switch text, has := t.template.Annotations[settings.AfterAnnotation]; {
		case !has || c.Known:
		case strings.Contains(text, "{{"):
			c.gapOnce("after", "what the Applications come after: "+settings.AfterAnnotation+" of the template has parameters")
		default:
			o.read(text, path)
		}
	}
	generates := *c.Subject // also where Applications were given: those of the files may be others'
	generates.Known = false
	apart := &checker{Subject: &generates, options: c.options, rule: c.rule, broken: map[int]bool{}, all: map[int]bool{}}
	for _, g := range apart.groups() {
		if g.name != "" && !c.alone {
			o.members[g.name] = true
		}
	}
	for _, a := range c.Applications {
		o.members[a.Name] = true
		if a.After != "" {
			o.read(a.After, to("spec", "template", "metadata", "annotations", settings.AfterAnnotation))
		}
	}
	return o
}

// read reads one annotation.
func (o *ordered) read(text string, path Path) {
	c := o.checker
	namespace := namespaceOf(o.name.Namespace)
	given := argocd.ReadAnnotations(map[string]string{settings.AfterAnnotation: text})
	after, problems := c.parser(namespace, given).OfApplication(namespace, given)
	if len(problems) > 0 {
		c.foundOnce("after-invalid", path,
			fmt.Sprintf("%s: %s.", settings.AfterAnnotation, short2(cmp.Or(after.Unreadable, problems[0].Text))))
		return
	}
	for _, name := range after.Names {
		r := reference{name: name, path: path, text: strings.TrimPrefix(name.String(), namespace+"/")}
		if !slices.ContainsFunc(o.after, func(known reference) bool { return known.name == name }) {
			o.after = append(o.after, r)
		}
	}
}

// namespaceOf is the namespace of an object. A file may leave it out.
func namespaceOf(namespace string) string {
	if namespace == "" {
		return "argocd"
	}
	return namespace
}

// is reports whether a name is of the ApplicationSet or the Application, and has whether it is of one of its
// Applications. An object without a namespace may be in any.
func (o *ordered) is(name types.NamespacedName) bool {
	return o.name.Name == name.Name && o.sharesNamespace(name)
}

func (o *ordered) has(name types.NamespacedName) bool {
	return o.members[name.Name] && o.sharesNamespace(name)
}

func (o *ordered) sharesNamespace(name types.NamespacedName) bool {
	return o.name.Namespace == "" || o.name.Namespace == name.Namespace
}

// check reports a name that leads back, or that is not there.
func (all *orders) check(o *ordered, r reference) {
	c := o.checker
	way := all.way(o, r.name, map[*ordered]bool{})
	switch {
	case len(way) == 1 && c.alone:
		c.foundOnce("after-circle", r.path, fmt.Sprintf("It comes after itself (%s), and does not wait for that.",
			short(r.text)))
	case len(way) == 1:
		c.foundOnce("after-circle", r.path, fmt.Sprintf(
			"It comes after itself (%s): each of its Applications waits until the others are done.", short(r.text)))
	case way != nil:
		c.foundOnce("after-circle", r.path,
			fmt.Sprintf("It comes after %s: a circle, in which each waits until the others are done.",
				short2(strings.Join(way, ", which comes after "))))
	case !all.partial && !all.exists(r.name):
		f := c.foundOnce("after-elsewhere", r.path,
			fmt.Sprintf("It comes after %s, which is not among what was given.", short(r.text)))
		if like := render.Nearest(r.name.Name, all.names()); f != nil && like != "" && len(r.name.Name) > 3 {
			f.Remedy = fmt.Sprintf("Did you mean %s? %s", short(like), f.Remedy)
		}
	}
}

// exists reports whether a name is among what was given.
func (all *orders) exists(name types.NamespacedName) bool {
	return slices.ContainsFunc(all.known, func(o *ordered) bool { return o.is(name) || o.has(name) }) ||
		slices.ContainsFunc(all.others, func(other types.NamespacedName) bool {
			return other.Name == name.Name && (other.Namespace == "" || other.Namespace == name.Namespace)
		})
}

// way leads from a name back to an object; nil if none does.
func (all *orders) way(to *ordered, from types.NamespacedName, seen map[*ordered]bool) []string {
	here := []string{short(from.Name)}
	// To come after one of its own Applications is no circle for the others.
	if to.is(from) || len(seen) > 0 && to.has(from) {
		return here
	}
	for _, o := range all.known {
		if !o.is(from) && !o.has(from) || seen[o] || o == to {
			continue
		}
		seen[o] = true
		for _, next := range o.after {
			if rest := all.way(to, next.name, seen); rest != nil {
				return append(here, rest...)
			}
		}
	}
	return nil
}

// names are all that can be named.
func (all *orders) names() (names []string) {
	for _, o := range all.known {
		names = append(append(names, o.name.Name), slices.Sorted(maps.Keys(o.members))...)
	}
	for _, other := range all.others {
		names = append(names, other.Name)
	}
	return names
}

// foundOnce adds a finding, unless the same one is there; then it is nil.
func (c *checker) foundOnce(rule string, path Path, message string) *Finding {
	for i := range c.result.Findings {
		if f := &c.result.Findings[i]; f.Rule == rule && f.Message == message {
			return nil
		}
	}
	return c.found(rule, path, message)
}

// parser reads annotations as the installation does. Where it is not known, it allows every namespace.
func (c *checker) parser(namespace string, annotations argocd.Annotations) *settings.Parser {
	var config settings.Config
	if c.options.Installation != nil {
		config = *c.options.Installation
	} else {
		names, _, _ := argocd.After(namespace, annotations) // those that cannot be read name nothing
		for _, name := range names {
			config.AfterNamespaces = append(config.AfterNamespaces, name.Namespace)
		}
		config.VerifyNamespaces = []string{settings.AnyNamespace}
	}
	config.Expressions = c.compiler
	return settings.NewParser(config, c.options.Clock)
}

// tracks compares the label of the tracks with the Applications.
func (c *checker) tracks(groups []group) {
	key := c.settings().Track
	if key == "" {
		return
	}
	path := to("metadata", "annotations", settings.TrackAnnotation)
	var without []string
	labelled := len(groups) == 0
	for _, g := range groups {
		switch _, set := g.labels[key]; {
		case set || g.open:
			labelled = true
		default:
			without = append(without, orUnnamed(g.name))
		}
	}
	switch {
	case !labelled:
		f := c.found("track-label-not-set", path, fmt.Sprintf("No Application has the label %s: there are no tracks.",
			short(key)))
		if like := render.Nearest(key, labelNames(groups)); like != "" {
			f.Remedy = fmt.Sprintf("Did you mean %s? Otherwise set the label in spec.template.metadata.labels.", short(like))
		}
		return
	case len(without) > 0:
		c.found("track-label-missing", path, fmt.Sprintf("%s %s not the label %s, and %s in every track.", names(without),
			hasHave(len(without)), short(key), countsCount(len(without))))
	}
	if installed := c.options.Installation; (installed == nil || !installed.Start) && c.progressiveSyncs() {
		c.found("track-needs-start", path, "The ApplicationSet controller starts a step when all Applications of the one "+
			"before are done, whatever their track.")
	}
}

func hasHave(n int) string {
	if n == 1 {
		return "has"
	}
	return "have"
}

func countsCount(n int) string {
	if n == 1 {
		return "counts"
	}
	return "count"
}
